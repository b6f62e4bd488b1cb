// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/messenger.hpp"

#include "base/clock.hpp"
#include "transport/remote/remote_peers.hpp"
#include "transport/wait/wait_policy.hpp"

namespace stretto::p2p {

Messenger::Messenger(std::shared_ptr<transport::Segment> segment, int rank,
                     const transport::Heap &heap, engine::EngineOptions options,
                     std::function<void(std::uint64_t)> judge, const MatchingOptions &matching,
                     engine::Notices &notices)
    : segment_(std::move(segment)), rank_(rank), heap_(heap), options_(options),
      judge_(std::move(judge)), exhausted_(engine::no_memory(segment_->names().of(rank))),
      notices_(notices), peers_(static_cast<std::size_t>(segment_->ranks())),
      matcher_(make_matcher(matching)), progress_thread_(*this) {
    idle_.reserve(kMostIdleEntries);
    listed_.reserve(peers_.size());
}

Messenger::~Messenger() {
    while (ArrivedMessage *message = matcher_->drain_messages())
        delete static_cast<Arrived *>(message);
    for (Arrived *arrived : idle_)
        delete arrived;
}

void Messenger::send(const void *data, std::size_t bytes, MemoryKind memory, int dest, int tag) {
    Send transfer(data, bytes, {kUser, rank_, tag}, dest, {});
    prepare_together([&] { prepare(transfer, memory); });
    begin_together([&] {
        begin(transfer);
        advance_if_needed();
    });
    wait(transfer);
    if (transfer.error)
        throw *transfer.error;
}

std::optional<Error> Messenger::receive(void *data, std::size_t capacity, MemoryKind memory,
                                        int source, int tag, Taken &taken) {
    Receive transfer(data, capacity, {kUser, source, tag}, {});
    prepare_together([&] { prepare(transfer, memory); });
    begin_together([&] {
        begin(transfer);
        advance_if_needed();
    });
    wait(transfer);
    taken = transfer.taken;
    return transfer.error;
}

Transfer *Messenger::start_send(const void *data, std::size_t bytes, MemoryKind memory, int dest,
                                int tag, std::uint32_t context, const Purpose &purpose) {
    std::unique_ptr<Send> transfer;
    prepare_together([&] {
        transfer =
            std::make_unique<Send>(data, bytes, Envelope{context, rank_, tag}, dest, purpose);
        prepare(*transfer, memory);
    });
    begin_together([&] {
        begin(*transfer);
        leave_in_flight(*transfer);
    });
    return transfer.release();
}

Transfer *Messenger::start_receive(void *data, std::size_t capacity, MemoryKind memory, int source,
                                   int tag, std::uint32_t context, const Purpose &purpose) {
    std::unique_ptr<Receive> transfer;
    prepare_together([&] {
        transfer =
            std::make_unique<Receive>(data, capacity, Envelope{context, source, tag}, purpose);
        prepare(*transfer, memory);
    });
    begin_together([&] {
        begin(*transfer);
        leave_in_flight(*transfer);
    });
    return transfer.release();
}

// The call that began the transfer returns, and maybe no caller waits for it now.
void Messenger::leave_in_flight(Transfer &transfer) {
    advance_if_needed();
    if (!transfer.ended()) {
        transfer.unattended = true;
        progress_thread_.add_transfer();
    }
}

bool Messenger::test(Transfer &transfer) {
    constexpr std::uint64_t kLookNs = 10 * transport::kSuspiciousNs; // between two diagnoses
    if (transfer.ended())
        return true;
    receive_from_hosts();
    poll_executors();
    bool due = false;
    std::uint64_t still_ns = 0;
    {
        const std::lock_guard lock(mutex_);
        progress_thread_.enter();
        advance();
        progress_thread_.leave();
        const std::uint64_t now = now_ns();
        due = transfer.looked != 0 && now - transfer.looked > kLookNs;
        if (due || transfer.looked == 0)
            transfer.looked = now;
        if (transfer.still_since == 0 || transfer.moved != transfer.moved_before) {
            transfer.still_since = now;
            transfer.moved_before = transfer.moved;
        }
        still_ns = now - transfer.still_since;
    }
    if (!transfer.ended() && due)
        try {
            diagnose(transfer, still_ns, By::tests);
            diagnose_orders();
        } catch (...) { // the error ends all transfers, also this one
            const std::lock_guard lock(mutex_);
            abandon_all(engine::post_exception(*segment_, rank_, exhausted_));
        }
    return transfer.ended();
}

void Messenger::notify(std::span<Transfer *const> transfers, engine::Notice *notice) {
    const std::lock_guard lock(mutex_);
    notice->parts += static_cast<int>(transfers.size());
    for (Transfer *transfer : transfers)
        if (transfer->ended()) {
            notices_.part_ended(notice, transfer->error);
        } else {
            transfer->notice = notice;
            hurry(*transfer);
        }
    notices_.part_ended(notice, {}); // a request may have no transfers
}

// The progress thread does not wait for callers.
void Messenger::hurry(Transfer &transfer) {
    if (!transfer.urgent)
        progress_thread_.add_urgent();
    transfer.urgent = true;
}

void Messenger::complete(Transfer *transfer) {
    const std::optional<Error> error = transfer->error;
    free_transfer(transfer);
    if (error)
        throw *error;
}

void Messenger::cancel(Transfer &transfer) {
    const std::lock_guard lock(mutex_);
    if (!transfer.is_receive || transfer.ended())
        return;
    auto &receive = static_cast<Receive &>(transfer);
    if (receive.matched || (receive.ordering != nullptr && receive.ordering->gate != nullptr &&
                            receive.ordering->gate->holds()))
        return;
    matcher_->withdraw(receive);
    end(receive);
}

Messenger::Queues Messenger::queues() {
    const std::lock_guard lock(mutex_);
    return {matcher_->state(Matcher::Queue::posted), matcher_->state(Matcher::Queue::unexpected),
            matcher_->bytes()};
}

// Receives frames of other hosts into the mailboxes.
void Messenger::receive_from_hosts() {
    try {
        transport::make_progress(*segment_);
    } catch (...) { // no memory for a frame
        const std::lock_guard lock(mutex_);
        abandon_all(engine::post_exception(*segment_, rank_, exhausted_));
    }
}

bool Messenger::progress() {
    if (!something_to_do())
        return false;
    poll_executors();
    const std::lock_guard lock(mutex_);
    return advance();
}

bool Messenger::something_to_do() const {
    if (output_.load(std::memory_order_relaxed) || asks_.load(std::memory_order_relaxed))
        return true;
    for (int first = 0; first < segment_->ranks(); first += 64)
        if (segment_->pending(rank_)[first / 64].load(std::memory_order_relaxed) != 0)
            return true;
    return false;
}

// Receives and sends what it can without a wait; true if anything moved.
bool Messenger::advance() {
    if (failure_)
        return end_abandoned_copies();
    if (segment_->failed()) {
        abandon_all(engine::posted(*segment_, exhausted_));
        return true;
    }
    bool moved = false;
    try {
        moved = drain_all();
        moved = advance_copies() || moved;
        moved = look_at_orders() || moved;
        const bool sent = !listed_.empty() && flush_all();
        moved = sent || moved;
        // There is room for more; and no answer may stay behind.
        if (sent && advance_copies() && !listed_.empty())
            flush_all();
    } catch (...) { // no memory for a mailbox or for an answer, which another rank would wait for
        abandon_all(engine::post_exception(*segment_, rank_, exhausted_));
        moved = true;
    }
    // Threads that sleep do not know of copies that have just begun, nor that there may be more to
    // do when the caller of this function has what it wants.
    if (others_may_wait_ || (moved && !copied_.empty())) {
        others_may_wait_ = false;
        wake(rank_);
    }
    return moved;
}

// After a transfer was begun: sends answers, and wakes threads whose transfers have ended.
void Messenger::advance_if_needed() {
    if (!listed_.empty() || others_may_wait_ || segment_->failed())
        advance();
}

void Messenger::check_alive() {
    if (!failure_ && segment_->failed())
        abandon_all(engine::posted(*segment_, exhausted_));
    if (failure_)
        throw engine::interrupted(*failure_, options_.who,
                                  [] { return "before a message (0 bytes done)"; });
}

// From the store on, the caller may use its buffer and free the transfer.
void Messenger::end(Transfer &transfer) {
    if (transfer.ordering != nullptr) [[unlikely]]
        leave_order(transfer);
    if (transfer.unattended)
        progress_thread_.remove_transfer();
    others_may_wait_ = others_may_wait_ || progress_thread_.has_callers();
    if (transfer.urgent)
        progress_thread_.remove_urgent();
    engine::Notice *const notice = transfer.notice;
    const std::optional<Error> error = notice != nullptr ? transfer.error : std::nullopt;
    transfer.complete.store(true, std::memory_order_release);
    // Last: another thread may deliver it at once, and free the transfer of a request without a
    // caller.
    if (notice != nullptr)
        notices_.part_ended(notice, error);
}

// To be called where an exception is handled: posts it and ends these transfers, which are on no
// list.
void Messenger::fail_transfers(std::initializer_list<Transfer *> transfers) {
    const Error error = engine::post_exception(*segment_, rank_, exhausted_);
    for (Transfer *transfer : transfers) {
        transfer->error = error;
        end(*transfer);
    }
    throw error;
}

void Messenger::abandon() {
    std::unique_lock lock(mutex_);
    abandon_all(engine::posted(*segment_, exhausted_));
    await_copies(lock);
}

void Messenger::give_up(Transfer &transfer) {
    transfer.error =
        engine::interrupted(*failure_, options_.who, [&] { return "in " + progress_of(transfer); });
}

// Ends it, unless a copy for it has not ended.
void Messenger::abandon(Transfer &transfer) {
    if (transfer.copied)
        return;
    give_up(transfer);
    end(transfer);
}

void Messenger::abandon(Arrived &message) {
    if (message.own != nullptr)
        abandon(*message.own);
    recycle(&message);
}

// The communicator has failed: ends all transfers, whose buffers are not touched any more.  Those
// whose copies have not ended follow later: see await_copies().
void Messenger::abandon_all(const Error &error) {
    if (failure_)
        return;
    failure_ = error;
    for (const Copied &each : copied_) {
        if (each.send != nullptr)
            give_up(*each.send);
        if (each.receive != nullptr)
            give_up(*each.receive);
    }
    while (PostedReceive *receive = matcher_->drain_receives())
        abandon(static_cast<Receive &>(*receive));
    while (ArrivedMessage *message = matcher_->drain_messages())
        abandon(static_cast<Arrived &>(*message));
    for (const auto &[id, send] : unanswered_)
        if (!send->queued) // else it follows below
            abandon(*send);
    unanswered_.clear();
    for (const auto &[id, receive] : coming_)
        abandon(*receive);
    coming_.clear();
    for (Peer &each : peers_) {
        for (Send *send : each.announcements)
            abandon(*send);
        for (Send *send : each.granted)
            abandon(*send);
        each.announcements.clear();
        each.granted.clear();
        each.answers.clear();
    }
    abandon_orders();
    output_.store(false, std::memory_order_relaxed);
    listed_.clear();
    end_abandoned_copies();
    wake(rank_);
}

} // namespace stretto::p2p
