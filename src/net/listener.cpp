// SPDX-License-Identifier: BSD-3-Clause
#include "net/listener.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <numeric>
#include <utility>

#include "base/interrupted.hpp"
#include "base/status.hpp"
#include "net/sockets.hpp"

namespace stretto::net {

namespace {

// The pause after the kernel has run out of a resource and closing a connection of ours would not
// help.
constexpr std::uint64_t kRestNs = 100'000'000;

Descriptor open_spare() {
    return Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool watch(int poll, int operation, int descriptor, std::uint32_t events, void *who) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = who;
    return epoll_ctl(poll, operation, descriptor, &event) == 0;
}

} // namespace

struct Listener::UnauthenticatedPeer {
    Descriptor socket;
    Address address;
    std::uint64_t since; // of progress()'s clock
    Responder handshake;
    bool gone = false; // let in or turned away
};

Listener::Listener(Descriptor socket, const Key &job, const LocalIdentity &station,
                   ListenerOptions options)
    : socket_(std::move(socket)), poll_(epoll_create1(EPOLL_CLOEXEC)), spare_(open_spare()),
      job_(job), station_(station), options_(std::move(options)),
      address_(local_address(socket_.get())), events_(options_.strangers + 1) {
    if (!poll_.open() || !watch(poll_.get(), EPOLL_CTL_ADD, socket_.get(), EPOLLIN, nullptr))
        throw_errno("cannot watch the listener at " + address_.text());
}

Listener::~Listener() = default;

std::uint64_t Listener::wake_at() const {
    std::uint64_t when = UINT64_MAX;
    if (!strangers_.empty())
        when = strangers_.front()->since + options_.patience_ns;
    return rests_until_ != 0 ? std::min(when, rests_until_) : when;
}

void Listener::progress(std::uint64_t now) {
    if (rests_until_ != 0 && now >= rests_until_)
        go_on();
    const int count = uninterrupted([&] {
        return epoll_wait(poll_.get(), events_.data(), static_cast<int>(events_.size()), 0);
    });
    bool knocks = false;
    for (int i = 0; i < count; ++i) {
        auto *const stranger =
            static_cast<UnauthenticatedPeer *>(events_[static_cast<std::size_t>(i)].data.ptr);
        if (stranger != nullptr)
            hear(*stranger);
        else
            knocks = true;
    }
    drop_late(now);
    // Runs last: a peer that makes room for others must not be among the events.
    if (knocks)
        accept_all(now);
    std::erase_if(strangers_, [](const auto &each) { return each->gone; });
    if (full_ && strangers_.size() < options_.strangers)
        go_on();
}

void Listener::hear(UnauthenticatedPeer &stranger) {
    if (stranger.gone)
        return;
    const Responder &handshake = stranger.handshake;
    switch (exchange(stranger.socket.get(), stranger.handshake)) {
    case Progress::waiting: return;
    case Progress::closed: return turn_away(stranger, Refusal::closed);
    case Progress::over: break;
    }
    if (handshake.state() == Handshake::State::refused)
        return turn_away(stranger, handshake.refusal());
    Descriptor socket = std::move(stranger.socket);
    epoll_ctl(poll_.get(), EPOLL_CTL_DEL, socket.get(), nullptr);
    opened_.push_back({std::move(socket), handshake.agreement(), stranger.address});
    stranger.gone = true;
}

void Listener::turn_away(UnauthenticatedPeer &stranger, Refusal why) {
    refuse(why, stranger.handshake.other(), stranger.address);
    forget(stranger);
}

// Closing a socket is not enough: it may still be open in a forked child, and epoll would go on
// watching it.
void Listener::forget(UnauthenticatedPeer &stranger) {
    epoll_ctl(poll_.get(), EPOLL_CTL_DEL, stranger.socket.get(), nullptr);
    stranger.socket = Descriptor();
    stranger.gone = true;
}

void Listener::drop_late(std::uint64_t now) {
    for (const auto &stranger : strangers_)
        if (!stranger->gone && now >= stranger->since + options_.patience_ns)
            turn_away(*stranger, Refusal::late);
}

// Whether there is room for one more handshake; otherwise accepting pauses until there is.
bool Listener::has_room(std::uint64_t now) {
    std::erase_if(strangers_, [](const auto &each) { return each->gone; });
    if (strangers_.size() < options_.strangers)
        return true;
    UnauthenticatedPeer &oldest = *strangers_.front();
    if (now < oldest.since + options_.grace_ns) {
        full_ = true;
        rest_until(oldest.since + options_.grace_ns);
        return false;
    }
    turn_away(oldest, Refusal::crowded);
    strangers_.erase(strangers_.begin());
    return true;
}

void Listener::rest_until(std::uint64_t when) {
    rests_until_ = when;
    (void)watch(poll_.get(), EPOLL_CTL_MOD, socket_.get(), 0, nullptr);
}

void Listener::go_on() {
    rests_until_ = 0;
    full_ = false;
    (void)watch(poll_.get(), EPOLL_CTL_MOD, socket_.get(), EPOLLIN, nullptr);
}

void Listener::accept_all(std::uint64_t now) {
    // Accepts at most as many as there are places, so that running handshakes get their turn, too.
    for (std::size_t i = 0; i < options_.strangers; ++i) {
        if (!has_room(now))
            return;
        const Accepted accepted = accept_one(now);
        if (accepted == Accepted::failed)
            rest_until(now + kRestNs);
        if (accepted != Accepted::one)
            return;
    }
}

Listener::Accepted Listener::accept_one(std::uint64_t now) {
    Descriptor socket(uninterrupted(
        [&] { return accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); }));
    if (!socket.open()) {
        switch (errno) {
        case EAGAIN: return Accepted::none;
        case EMFILE:
        case ENFILE: return turn_one_away();
        case ENOBUFS:
        case ENOMEM: return Accepted::failed;
        case EBADF:
        case EINVAL:
        case ENOTSOCK:
        case EOPNOTSUPP: throw_errno("cannot accept connections at " + address_.text());
        default: return Accepted::one; // the peer or its route has gone again
        }
    }
    const Address peer = remote_address(socket.get());
    send_without_delay(socket.get());
    strangers_.push_back(std::make_unique<UnauthenticatedPeer>(UnauthenticatedPeer{
        std::move(socket), peer, now, Responder(job_, station_, random_bytes(), options_.judge)}));
    UnauthenticatedPeer &stranger = *strangers_.back();
    // The event set reports each change once, so this receives everything that has arrived and
    // sends everything that it can.
    if (!watch(poll_.get(), EPOLL_CTL_ADD, stranger.socket.get(), EPOLLIN | EPOLLOUT | EPOLLET,
               &stranger)) {
        turn_away(stranger, Refusal::descriptors);
        return Accepted::failed;
    }
    hear(stranger);
    return Accepted::one;
}

// Without a free descriptor a connection can be neither accepted nor refused: it stays in the
// queue, and the listener stays ready for ever.  So one spare descriptor is kept open, to be closed
// in that case.
Listener::Accepted Listener::turn_one_away() {
    spare_ = Descriptor();
    sockaddr_storage from{};
    socklen_t size = sizeof(from);
    auto *const raw = reinterpret_cast<sockaddr *>(&from);
    const bool turned = Descriptor(uninterrupted([&] {
                            return accept4(socket_.get(), raw, &size, SOCK_CLOEXEC);
                        })).open();
    // Only now: a process without free descriptors cannot see earlier that the queue is empty.
    const bool queue_empty = !turned && errno == EAGAIN;
    spare_ = open_spare();
    if (turned)
        refuse(Refusal::descriptors, {}, Address(raw, size));
    return turned ? Accepted::one : queue_empty ? Accepted::none : Accepted::failed;
}

void Listener::refuse(Refusal kind, const Other &other, const Address &peer) {
    std::uint64_t &count = refused_[static_cast<std::size_t>(kind)];
    if (++count == 1 && options_.report)
        options_.report(kind, "rank " + std::to_string(station_.rank) + " on " + host_name() +
                                  ", listening at " + address_.text() +
                                  ", refused a connection from " + peer.text() + ": " +
                                  told_to_responder(kind, other) + " (further ones are counted)");
}

std::optional<Opened> Listener::take() {
    if (opened_.empty())
        return std::nullopt;
    std::optional<Opened> next(std::move(opened_.front()));
    opened_.pop_front();
    return next;
}

void Listener::set_epoch(std::uint64_t epoch) {
    station_.epoch = epoch;
    for (const auto &stranger : strangers_)
        forget(*stranger);
    strangers_.clear();
    opened_.clear();
}

std::uint64_t Listener::refused() const {
    return std::accumulate(refused_.begin(), refused_.end(), std::uint64_t{0});
}

} // namespace stretto::net
