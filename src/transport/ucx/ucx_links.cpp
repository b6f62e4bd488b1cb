// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/ucx_links.hpp"

#include <cstring>
#include <utility>

#include "base/status.hpp"
#include "net/bytes.hpp"

namespace stretto::transport {

namespace {

constexpr unsigned kPacketId = 1; // of the messages' handler
// A rank that looks without success flushes after this many looks, and before it sleeps: a flush
// for each message would cost as much as the message.
constexpr unsigned kFlushAfterLooks = 16;

// Tells workers of a rank apart.
std::uint64_t mark_of(std::span<const std::byte> address) {
    const net::Bytes32 hash = net::KeyedHash("stretto ucx worker").add(address).finish();
    return net::get<std::uint64_t>(hash, 0);
}

// As with several connections over TCP.
bool may_overtake(const WireMessage &packet) {
    return packet.kind == WireMessage::padding ||
           (packet.kind == WireMessage::cell && (packet.flags & WireMessage::kBulk) != 0);
}

} // namespace

UcxLinks::UcxLinks(std::unique_ptr<ucp::OwnedWorker> worker, int rank,
                   const std::vector<std::optional<Tokens>> &tokens)
    : worker_(std::move(worker)), library_(worker_->library()), rank_(rank), links_(tokens.size()) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        Link &each = links_[i];
        each.all = this;
        each.rank = static_cast<int>(i);
        each.open = tokens[i].has_value();
        if (each.open)
            each.tokens = *tokens[i];
    }
    worker_->handle(kPacketId, &on_came, this);
}

UcxLinks::~UcxLinks() {
    ending_ = true;
    if (events_ != nullptr)
        events_->unwatch(worker_->descriptor());
    for (Link &each : links_)
        give_up(each);
    for (const Waiting &each : waiting_)
        if (each.message != nullptr)
            library_.release(worker_->get(), each.message);
    worker_.reset(); // which calls back once more for what was unfinished
}

void UcxLinks::connect() {
    (void)worker_->progress();
    if (error_ != nullptr)
        std::rethrow_exception(std::exchange(error_, nullptr));
}

void UcxLinks::meet(int rank, std::string place, std::span<const std::byte> address) {
    Link &peer = link(rank);
    close(peer);
    peer.failure.clear();
    peer.place = std::move(place);
    peer.turn = 1;
    peer.met = mark_of(address);
    try {
        peer.endpoint = worker_->connect(address, &on_failed, &peer);
    } catch (const Error &error) { // the address may be of an earlier attempt
        peer.failure = error.what();
        return;
    }
    send(peer, {kHelloKind, 0, 0, mark_of(worker_->address()), 0, 0}, nullptr);
}

bool UcxLinks::connected(int rank) const {
    const Link &peer = link(rank);
    return peer.endpoint != nullptr && peer.failure.empty() && peer.heard == peer.met;
}

void UcxLinks::join(EventSet &events) {
    events_ = &events;
    events.watch(events.add(*this), worker_->descriptor());
}

void UcxLinks::send(int to, const WireMessage &packet, const std::byte *payload, bool) {
    send(link(to), packet, payload);
}

void UcxLinks::send(Link &peer, const WireMessage &packet, const std::byte *payload) {
    if (peer.endpoint == nullptr || !peer.failure.empty())
        return;
    if (free_.empty()) {
        free_.push_back(&sendings_.emplace_back());
        free_.reserve(sendings_.size()); // on_sent() must not throw
    }
    Sending &sending = *free_.back();
    free_.pop_back(); // the library may end other sends meanwhile
    const bool ordered = !may_overtake(packet);
    sending.all = this;
    sending.header = {peer.tokens.out,
                      static_cast<std::uint32_t>(rank_),
                      ordered ? peer.turn : 0,
                      packet.position,
                      packet.flag,
                      packet.where,
                      packet.length,
                      packet.kind,
                      packet.flags,
                      0};
    // Packets that keep their order come whole: none of them waits while the payload of another is
    // fetched.
    const auto parameters = ucp::RequestParameters::calling(
        &on_sent, &sending, ordered ? ucp::RequestParameters::kEagerFlag : 0);
    const ucp::Request request =
        library_.send(peer.endpoint, kPacketId, &sending.header, sizeof(sending.header), payload,
                      packet.length, &parameters);
    if (request != nullptr && !ucp::is_error(request))
        ++unsent_;
    else
        free_.push_back(&sending);
    if (ucp::is_error(request))
        return on_failed(&peer, peer.endpoint, ucp::error_of(request));
    if (ordered)
        peer.turn = InTurn<Early>::after(peer.turn);
    if (!std::exchange(peer.unflushed, true) && !peer.flushing)
        ++unflushed_;
}

void UcxLinks::on_sent(ucp::Request request, ucp::Status, void *sending) {
    auto &own = *static_cast<Sending *>(sending);
    own.all->library_.request_free(request);
    own.all->free_.push_back(&own);
    --own.all->unsent_;
}

void UcxLinks::flush() {
    for (Link &each : links_) {
        if (each.endpoint == nullptr || !each.unflushed || each.flushing)
            continue;
        const auto parameters = ucp::RequestParameters::calling(&on_flushed, &each);
        each.unflushed = false;
        const ucp::Request request = library_.flush(each.endpoint, &parameters);
        each.flushing = request != nullptr && !ucp::is_error(request);
        if (!each.flushing)
            --unflushed_;
    }
}

void UcxLinks::on_flushed(ucp::Request request, ucp::Status, void *link) {
    auto &own = *static_cast<Link *>(link);
    own.all->library_.request_free(request);
    own.flushing = false;
    if (!own.unflushed)
        --own.all->unflushed_;
}

bool UcxLinks::arm() {
    const bool to_report = std::ranges::any_of(
        links_, [](const Link &each) { return each.open && !each.failure.empty(); });
    if (to_report || error_ != nullptr || !waiting_.empty())
        return false; // progress() has something to do at once
    if (unflushed_ != 0)
        flush();
    return worker_->arm();
}

bool UcxLinks::progress(Receiver &receiver, const EventSet::Ready &) {
    receiver_ = &receiver;
    any_ = false;
    if (!waiting_.empty())
        guarded([&] { take_waiting(); });
    if (worker_->progress())
        idle_looks_ = 0;
    else if (unflushed_ != 0 && ++idle_looks_ % kFlushAfterLooks == 0)
        flush();
    receiver_ = nullptr;
    for (Link &each : links_) {
        if (!each.open || each.failure.empty())
            continue;
        const std::string why = std::exchange(each.failure, "");
        give_up(each);
        receiver.broken(each.rank, why);
        any_ = true;
    }
    if (error_ != nullptr)
        std::rethrow_exception(std::exchange(error_, nullptr));
    return any_;
}

// The callbacks of what is unfinished come before this returns, or with later progress.
void UcxLinks::give_up(Link &link) noexcept {
    link.open = false;
    close(link);
}

void UcxLinks::close(Link &link) noexcept {
    if (link.endpoint == nullptr)
        return;
    worker_->close(std::exchange(link.endpoint, nullptr));
    if (std::exchange(link.unflushed, false) && !link.flushing)
        --unflushed_;
}

// The rest comes with progress(), which may not be called here.
void UcxLinks::on_failed(void *link, ucp::Endpoint *endpoint, ucp::Status status) {
    auto &own = *static_cast<Link *>(link);
    if (endpoint != own.endpoint)
        return; // one that is closed
    own.all->guarded([&] {
        if (own.failure.empty())
            own.failure = "rank " + std::to_string(own.rank) + " (" + own.place +
                          "): its link over UCX broke: " + own.all->library_.status_string(status);
    });
}

template<class Body>
void UcxLinks::guarded(Body &&body) noexcept {
    try {
        body();
    } catch (...) {
        if (error_ == nullptr)
            error_ = std::current_exception();
    }
}

// Called by UCX within progress(), as is on_received().
ucp::Status UcxLinks::on_came(void *argument, const void *header, std::size_t header_length,
                              void *data, std::size_t length,
                              const ucp::MessageParameters *parameters) {
    auto &all = *static_cast<UcxLinks *>(argument);
    UcxMessage message;
    if (header_length != sizeof(message)) {
        ++all.ignored_;
        return ucp::Status::ok;
    }
    std::memcpy(&message, header, sizeof(message));
    ucp::Status status = ucp::Status::ok;
    all.guarded([&] {
        status = all.take(message, data, length,
                          (parameters->set & ucp::MessageParameters::kRendezvousFlag) != 0);
    });
    return status;
}

ucp::Status UcxLinks::take(const UcxMessage &header, void *data, std::size_t length, bool is_long) {
    if (header.sender >= links_.size()) {
        ++ignored_;
        return ucp::Status::ok;
    }
    Link &from = links_[header.sender];
    if (!from.open || ending_ || !same(header.token, from.tokens.in)) {
        ++ignored_;
        return ucp::Status::ok;
    }
    if (header.kind == kHelloKind) {
        from.heard = header.position;
        from.arrivals = {};
        from.arrivals.delivered(); // later turns wait for a receiver
        return ucp::Status::ok;
    }
    if (!from.failure.empty())
        return ucp::Status::ok; // what comes after an invalid message is not looked at
    if (receiver_ == nullptr) {
        const auto *const bytes = static_cast<const std::byte *>(data);
        waiting_.push_back({header, {}, is_long ? data : nullptr});
        if (!is_long)
            waiting_.back().payload.assign(bytes, bytes + length);
        return is_long ? ucp::Status::in_progress : ucp::Status::ok;
    }
    const WireMessage packet = header.packet();
    if (packet.length != length || (header.turn == 0) != may_overtake(packet) ||
        (is_long && header.turn != 0)) {
        invalid(from);
        return ucp::Status::ok;
    }
    if (is_long)
        return take_long(from, packet, data);
    if (header.turn == 0) {
        deliver(from, packet, data);
        return ucp::Status::ok;
    }
    if (!from.arrivals.is_next(header.turn)) {
        const auto *const bytes = static_cast<const std::byte *>(data);
        from.arrivals.keep(header.turn, {packet, {bytes, bytes + length}});
        return ucp::Status::ok;
    }
    from.arrivals.delivered();
    deliver(from, packet, data);
    for (Early early; from.failure.empty() && from.arrivals.take_next(early);) {
        from.arrivals.delivered();
        deliver(from, early.packet, early.payload.data());
    }
    return ucp::Status::ok;
}

void UcxLinks::take_waiting() {
    for (Waiting &each : std::exchange(waiting_, {})) {
        const bool is_long = each.message != nullptr;
        const ucp::Status status =
            take(each.header, is_long ? each.message : each.payload.data(),
                 is_long ? each.header.length : each.payload.size(), is_long);
        if (is_long && status == ucp::Status::ok)
            library_.release(worker_->get(), each.message);
    }
}

void UcxLinks::deliver(Link &link, const WireMessage &packet, const void *payload) {
    if (packet.length != 0) {
        std::byte *const place = receiver_->place(link.rank, packet);
        if (place == nullptr)
            return invalid(link);
        std::memcpy(place, payload, packet.length);
    }
    receiver_->arrived(link.rank, packet);
    any_ = true;
}

// `in_progress`: UCX fetches the payload.  `ok`: it drops the message.
ucp::Status UcxLinks::take_long(Link &link, const WireMessage &packet, void *message) {
    std::byte *const place = receiver_->place(link.rank, packet);
    if (place == nullptr) {
        invalid(link);
        return ucp::Status::ok;
    }
    auto receiving = std::make_unique<Receiving>(Receiving{&link, packet});
    ucp::RequestParameters parameters;
    parameters.set = ucp::RequestParameters::kCallbackFlag | ucp::RequestParameters::kUserDataFlag |
                     ucp::RequestParameters::kMemoryTypeFlag;
    parameters.received = &on_received;
    parameters.user_data = receiving.get();
    const ucp::Request request =
        library_.receive(worker_->get(), message, place, packet.length, &parameters);
    if (ucp::is_error(request)) {
        on_failed(&link, link.endpoint, ucp::error_of(request));
    } else if (request != nullptr) {
        (void)receiving.release(); // on_received() has it
    } else {
        receiver_->arrived(link.rank, packet);
        any_ = true;
    }
    return ucp::Status::in_progress;
}

void UcxLinks::on_received(ucp::Request request, ucp::Status status, std::size_t, void *receiving) {
    const std::unique_ptr<Receiving> own(static_cast<Receiving *>(receiving));
    UcxLinks &all = *own->link->all;
    all.library_.request_free(request);
    if (!own->link->open || !own->link->failure.empty() || all.receiver_ == nullptr)
        return;
    if (status != ucp::Status::ok)
        return on_failed(own->link, own->link->endpoint, status);
    all.guarded([&] {
        all.receiver_->arrived(own->link->rank, own->packet);
        all.any_ = true;
    });
}

void UcxLinks::invalid(Link &link) {
    if (link.failure.empty())
        link.failure =
            "rank " + std::to_string(link.rank) + " (" + link.place + ") sent an invalid message";
}

} // namespace stretto::transport
