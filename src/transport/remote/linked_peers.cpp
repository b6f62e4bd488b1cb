// SPDX-License-Identifier: BSD-3-Clause
#include "transport/remote/linked_peers.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "transport/wait/doorbell.hpp"

namespace stretto::transport {

namespace {

// If a reader has not reported a marked cell after this time, the writer asks it.
constexpr std::uint64_t kAskAfterNs = 10'000'000;
// Cells up to this size wait, so that several go together.
constexpr std::size_t kShortBytes = 8192;

// 2 ms, as on one host, would be the time of half a slice.  If the heartbeat is long because the
// network is slow, waits are investigated later as well: with many ranks, the questions would fill
// the network.
std::uint64_t suspicious(std::uint64_t heartbeat_ns) {
    constexpr std::uint64_t kLeastNs = 20'000'000, kLooks = 25; // investigations per heartbeat
    return std::max(kLeastNs, heartbeat_ns / kLooks);
}

} // namespace

LinkedPeers::LinkedPeers(Segment &segment, int rank, std::unique_ptr<EventSet> events,
                         std::unique_ptr<Links> links, const LinkedPeersOptions &options)
    : segment_(segment), rank_(rank), suspicious_ns_(suspicious(options.heartbeat_ns)),
      peers_(static_cast<std::size_t>(segment.ranks())),
      payloads_(peers_.size(), RemotePayloads(pool_, segment.ring_bytes())),
      events_(std::move(events)), links_(std::move(links)), bell_(segment.header().key, rank),
      transmit_thread_([this] { return round(); }, options.leave) {
    events_->wake_by(bell_.descriptor());
    segment_.populate(rank_);
    segment_.set_remote_peers(this);
    if (!links_->sent()) // what they say to connect, which others may wait for
        transmit_thread_.unsent();
}

LinkedPeers::~LinkedPeers() {
    transmit_thread_.stop();
    segment_.set_remote_peers(nullptr);
}

// Runs `body` with the lock.  If a failure is posted on its host, each rank reports it to all
// others once, before it does anything because of it.  If `body` throws, the rank that catches the
// exception posts the failure, and the next thread that has the lock reports it.
template<class Body>
void LinkedPeers::locked(Body &&body, Then then) {
    const std::lock_guard lock(mutex_);
    {
        struct Owned {
            std::atomic<std::thread::id> &owner;
            ~Owned() { owner.store({}, std::memory_order_relaxed); }
        };
        owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        const Owned owned{owner_};
        body();
        if (segment_.failed() && !reported_failure_)
            spread_failure();
        holds_.store(then == Then::hold, std::memory_order_relaxed);
        if (then != Then::hold)
            links_->push(then == Then::push ? Links::Which::ready : Links::Which::all);
    }
    if (!links_->sent())
        transmit_thread_.unsent();
}

void LinkedPeers::send(int rank, const WireMessage &packet, const std::byte *payload, bool more) {
    links_->send(rank, packet, payload, more);
    if (packet.length == 0)
        return;
    peer(rank).sent += packet.length;
    if (traffic_ != nullptr)
        traffic_->sent(rank, packet.length, peer(rank).sent);
}

void LinkedPeers::observe(Traffic &traffic) {
    locked([&] {
        traffic_ = &traffic;
        for (int rank = 0; rank < segment_.ranks(); ++rank) {
            if (const std::uint64_t bytes = peer(rank).sent)
                traffic.sent(rank, static_cast<std::uint32_t>(bytes), bytes);
            if (const std::uint64_t bytes = peer(rank).received)
                traffic.received(rank, static_cast<std::uint32_t>(bytes), bytes);
        }
    });
}

// Sends a packet without payload.
void LinkedPeers::send(int rank, WireMessage::Kind kind, std::uint64_t position,
                       std::uint64_t flag) {
    send(rank, WireMessage{kind, 0, 0, position, flag, 0}, nullptr);
}

void LinkedPeers::send_cell(int rank, const CellSend &cell) {
    const bool is_short = cell.length <= kShortBytes;
    locked(
        [&] {
            Peer &to = peer(rank);
            const bool bulk = cell.where.in() == Location::In::bulk;
            // The reader reports when it has taken this cell, while later ones are on their way, so
            // that the stream never stops for an answer.
            if (cell.mark) {
                to.mark = cell.taken;
                send(rank, WireMessage::want, cell.taken);
            }
            send(rank,
                 {WireMessage::cell, bulk ? WireMessage::kBulk : std::uint8_t{0},
                  static_cast<std::uint32_t>(cell.length), cell.position, cell.flag,
                  bulk ? static_cast<std::uint64_t>(cell.where.offset()) : 0},
                 cell.payload, is_short && cell.more);
        },
        is_short ? Then::hold : Then::push);
    if (is_short && cell.more)
        holds_parts_.store(true, std::memory_order_relaxed);
}

bool LinkedPeers::sends_from(int rank, const std::byte *payload, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    return links_->sends_from(rank, payload, bytes);
}

void LinkedPeers::push() {
    if (holds_.load(std::memory_order_relaxed))
        locked([] {});
}

void LinkedPeers::push_parts() {
    if (holds_parts_.exchange(false, std::memory_order_relaxed))
        locked([] {}, Then::push_parts);
}

// A question and an answer for every cell would cost a fifth of the time of long streams.  So cells
// before a mark wait for the mark, but not for ever: before the reader gets there, it may need data
// from this rank, which has no room for it.
void LinkedPeers::ask(int rank, std::uint64_t progress, Need need) {
    locked([&] {
        Peer &to = peer(rank);
        const std::uint64_t known = segment_.lines(rank).progress.load(std::memory_order_acquire);
        // The reader remembers one question, and answers the one before this first.
        if (to.asked == progress || (known < to.asked && to.asked < progress))
            return;
        if (need == Need::room) {
            if (std::exchange(to.needed, progress) != progress)
                to.needed_since = now_ns();
            if (progress <= to.mark && now_ns() - to.needed_since < kAskAfterNs) {
                patient_.store(true, std::memory_order_relaxed);
                return;
            }
        }
        to.asked = progress;
        send(rank, WireMessage::await, progress);
    });
}

void LinkedPeers::report_taken(const std::uint64_t *taken) {
    locked([&] {
        for (int rank = 0; rank < segment_.ranks(); ++rank) {
            payloads_[static_cast<std::size_t>(rank)].taken(taken[rank]);
            if (Peer &from = peer(rank); from.come > from.reported) {
                from.reported = taken[rank];
                send(rank, WireMessage::progress, reached());
            }
        }
    });
}

void LinkedPeers::inquire(int rank) {
    locked([&] {
        if (!std::exchange(peer(rank).inquired, true))
            send(rank, WireMessage::inquire, 0);
    });
}

// The state of this rank's calls.  Calls that begin or end meanwhile may be missing.
void LinkedPeers::answer(int rank) {
    Account &account = peer(rank).ours;
    const LineBlock &mine = segment_.lines(rank_);
    for (std::size_t i = 0; i < kEntries; ++i) {
        const Entered call = entered(mine.entries[i]).value_or(Entered{});
        account.calls[i] = {call.sequence, call.signature, call.count, call.packed,
                            call.parameters};
    }
    account.wait_state = mine.wait_state.load(std::memory_order_relaxed);
    send(rank, {WireMessage::entries, 0, sizeof(Account), reached(), 0, 0},
         reinterpret_cast<const std::byte *>(&account));
}

// These bytes are not data of the job, so they are not counted.
void LinkedPeers::warm(int rank, std::size_t bytes) {
    static const std::array<std::byte, kPaddingBytes> nothing{};
    locked([&] {
        for (std::size_t length; bytes > 0; bytes -= length) {
            length = std::min({bytes, nothing.size(), links_->most_mail_bytes()});
            links_->send(rank,
                         {WireMessage::padding, 0, static_cast<std::uint32_t>(length), 0, 0, 0},
                         nothing.data(), false);
        }
    });
}

void LinkedPeers::open_mailbox(int rank) {
    locked(
        [&] { peer(rank).out = reinterpret_cast<MailboxHead *>(segment_.mailbox(rank_, rank)); });
}

// The fence: the thread that receives a question counts it and then looks for progress, this one
// has written its progress and looks for questions.
void LinkedPeers::report_progress() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (questions_.load(std::memory_order_relaxed) == 0)
        return push();
    locked([&] {
        for (int rank = 0; rank < segment_.ranks(); ++rank)
            report_progress(rank);
    });
}

// `from` wants to know when this rank's progress is `progress`; `value` remembers it.
void LinkedPeers::expect(int from, std::uint64_t &value, std::uint64_t progress) {
    if (std::exchange(value, progress) == 0)
        questions_.fetch_add(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    report_progress(from);
}

void LinkedPeers::ring(int rank) {
    locked([&] {
        post_mail(rank);
        report_read(rank);
    });
}

// Reports this rank's progress if `rank` has asked for it.  The data that `rank` then writes may be
// received by another thread of this rank than the one that has read the data before.
void LinkedPeers::report_progress(int rank) {
    Peer &to = peer(rank);
    const std::uint64_t now = reached();
    bool due = false;
    const auto look = [&](std::uint64_t &value) {
        if (value != 0 && now >= value) {
            value = 0;
            due = true;
            questions_.fetch_sub(1, std::memory_order_relaxed);
        }
    };
    look(to.awaited);
    for (std::uint64_t &mark : to.marks)
        look(mark);
    if (due)
        send(rank, WireMessage::progress, now);
}

bool LinkedPeers::make_progress(Caller caller) {
    return make_progress(caller, 0, 0);
}

// False: data has arrived, or may have.
bool LinkedPeers::arm() {
    if (!events_->arms())
        return true;
    const std::lock_guard lock(mutex_);
    return events_->arm();
}

// Waits at most this long for something to do, without the lock.
bool LinkedPeers::make_progress(Caller caller, std::uint64_t most_ns, std::uint64_t slept_ns) {
    push();
    EventSet::Ready ready;
    if (most_ns != 0 && arm())
        events_->sleep(ready,
                       caller == Caller::announced ? EventSet::Until::event_or_bell
                                                   : EventSet::Until::event,
                       most_ns, slept_ns);
    else
        events_->look(ready);
    bool moved = false, missed = false;
    locked([&] {
        moved = links_->progress(*this, ready);
        transmit_thread_.carried();
        // This look may have consumed the event that would have woken the sleeping thread.
        if (events_->arms() && caller == Caller::awake && asleep_.load(std::memory_order_relaxed))
            missed = !events_->arm();
    });
    if (ready.woken())
        bell_.silence();
    if (missed)
        wake(rank_);
    if (moved && anybody_sleeps(segment_.header().signals))
        Doorbell(segment_, rank_).ring(caller == Caller::announced ? 1 : 0);
    return moved;
}

// One round of the transmit thread: true when nothing is left to send.
bool LinkedPeers::round() {
    constexpr std::uint64_t kMostNs = 5'000'000;
    (void)make_progress(Caller::awake, kMostNs, 0);
    const std::lock_guard lock(mutex_);
    return links_->sent();
}

bool LinkedPeers::sleep(std::uint32_t ticket, std::uint64_t timeout_ns) {
    // The rest of a message may depend on work of other ranks that its first parts enable.
    push_parts();
    const std::unique_lock sleeping(sleeping_, std::try_to_lock);
    if (!sleeping.owns_lock()) {
        push(); // the thread that sleeps here does not
        return false;
    }
    struct Asleep {
        std::atomic<bool> &flag;
        explicit Asleep(std::atomic<bool> &set) : flag(set) {
            flag.store(true, std::memory_order_relaxed);
        }
        ~Asleep() { flag.store(false, std::memory_order_relaxed); }
    } const asleep(asleep_);
    const auto rung = [&] {
        return segment_.lines(rank_).asleep.load(std::memory_order_seq_cst) != ticket;
    };
    const std::uint64_t start = now_ns();
    const bool patient = patient_.exchange(false, std::memory_order_relaxed);
    const std::uint64_t end = start + (patient ? std::min(timeout_ns, kAskAfterNs) : timeout_ns);
    // An incomplete packet is no reason to look.
    for (std::uint64_t now = start;;) {
        if (make_progress(Caller::announced, rung() ? 0 : end - now, now - start))
            break;
        now = now_ns();
        if (now >= end || rung())
            break;
    }
    return true;
}

void LinkedPeers::wake(int rank) {
    bell_.ring(rank);
}

void LinkedPeers::failed() noexcept {
    if (owner_.load(std::memory_order_relaxed) == std::this_thread::get_id())
        return; // reported when this thread is done with its present work
    try {
        locked([] {});
    } catch (...) { // they will miss this rank
    }
}

void LinkedPeers::spread_failure() {
    reported_failure_ = true;
    const Error error = segment_.failure();
    failure_ = error.what();
    const WireMessage packet{WireMessage::failure,
                             0,
                             static_cast<std::uint32_t>(failure_.size()),
                             0,
                             static_cast<std::uint64_t>(error.status()),
                             0};
    for (int rank = 0; rank < segment_.ranks(); ++rank)
        if (!segment_.here(rank))
            send(rank, packet, reinterpret_cast<const std::byte *>(failure_.data()));
    if (on_failure_)
        on_failure_(error);
}

void LinkedPeers::on_failure(std::function<void(const Error &)> reported) {
    const std::lock_guard lock(mutex_);
    on_failure_ = std::move(reported);
    if (on_failure_ && reported_failure_)
        on_failure_(segment_.failure());
}

void LinkedPeers::lose(int rank) {
    locked([&] { links_->drop(rank); });
    segment_.lines(rank).lost.store(1, std::memory_order_release);
}

void LinkedPeers::leave(std::uint64_t timeout_ns) noexcept {
    const std::uint64_t start = now_ns();
    try {
        locked([] {}); // a failure goes first
        locked([&] {
            for (int rank = 0; rank < segment_.ranks(); ++rank)
                if (!segment_.here(rank))
                    send(rank, WireMessage::leave, reached());
        });
        const auto delivered = [this] {
            const std::lock_guard lock(mutex_);
            return links_->delivered();
        };
        while (!delivered() && now_ns() - start < timeout_ns)
            if (!make_progress(Caller::awake))
                usleep(50);
    } catch (...) { // the others see the link break
    }
}

} // namespace stretto::transport
