// SPDX-License-Identifier: BSD-3-Clause
// Checks of a rank that waits long for a message: whether its peer lives, and where ranks wait.
#include <algorithm>

#include "base/call_scope.hpp"
#include "base/clock.hpp"
#include "engine/stall_report.hpp"
#include "p2p/messenger.hpp"

namespace stretto::p2p {

using transport::WaitState;

WaitState Messenger::wait_state(WaitState::Kind kind, int awaited) const {
    return {kind, awaited == kAny    ? WaitState::kAnyRank
                  : awaited == rank_ ? WaitState::kItselfRank
                                     : awaited};
}

// Publishes where this rank waits, for the stall reports of other ranks.
void Messenger::publish_wait_state(WaitState::Kind kind, int awaited) {
    segment_->lines(rank_).wait_state.store(wait_state(kind, awaited).packed(),
                                            std::memory_order_relaxed);
}

// A rank whose own device has not copied what has come, or whose stream has not come to a message,
// waits for itself: its peer may have left.
int Messenger::awaited_by(const Transfer &transfer) const {
    if (waits_for_order(transfer))
        return rank_;
    if (!transfer.is_receive) {
        const auto &send = static_cast<const Send &>(transfer);
        return send.held_back ? rank_ : send.dest;
    }
    const auto &receive = static_cast<const Receive &>(transfer);
    if (receive.copied && (receive.device == nullptr || receive.device->whole ||
                           receive.moved == receive.device->wanted))
        return rank_;
    return receive.matched ? receive.taken.source : receive.envelope.source;
}

void Messenger::diagnose(const Transfer &transfer, std::uint64_t quiet_ns, By by) {
    int awaited = kAny;
    std::string words;
    {
        const std::lock_guard lock(mutex_);
        if (transfer.ended())
            return;
        words = progress_of(transfer);
        awaited = awaited_by(transfer);
        if (waits_here(transfer))
            quiet_ns = 0;
        else if (transfer.released_ns != 0)
            quiet_ns = std::min(quiet_ns, now_ns() - transfer.released_ns);
        if (by == By::waits)
            publish_wait_state(transfer.is_receive ? WaitState::incoming : WaitState::outgoing,
                               awaited);
    }
    check_peers(awaited, words, quiet_ns, [&] { return transfer.ended(); }, by);
    if (transfer.purpose.exact() && !transfer.ended())
        judge_(transfer.purpose.call);
}

// Ends the communicator if `awaited` has died or left; if that is any, if a rank has died or all
// others have left.  Also if the wait is longer than its limit.  If no caller waits, no limit of a
// caller counts, and the program may still send to this rank itself.
void Messenger::check_peers(int awaited, const std::string &words, std::uint64_t quiet_ns,
                            const std::function<bool()> &over, By by) {
    int dead = -1, gone = -1;
    bool some_are_here = awaited == kAny && by == By::threads && !finishing_;
    for (int rank = 0; rank < segment_->ranks(); ++rank) {
        if (rank == rank_ || (awaited != kAny && rank != awaited))
            continue;
        switch (segment_->presence(rank)) {
        case transport::Presence::here: some_are_here = true; break;
        case transport::Presence::left: gone = rank; break;
        case transport::Presence::dead: dead = rank; break;
        }
    }
    const std::string here = options_.who + " in " + words;
    if (dead >= 0 || (gone >= 0 && !some_are_here)) {
        // Messages that it sent before it ended are still in the mailbox.
        for (bool moved = true; moved && !over();) {
            receive_from_hosts();
            const std::lock_guard lock(mutex_);
            moved = advance();
        }
        notices_.deliver();
        if (over())
            return;
        if (dead >= 0)
            fail(Status::peer, segment_->names().of(dead) + " has died" + segment_->place(dead) +
                                   "; " + here +
                                   "; restart the job, or look in its output for the cause");
        fail(Status::peer, (awaited == kAny ? std::string("all other ranks have")
                                            : segment_->names().of(gone) + " has") +
                               " left the communicator; " + here +
                               "; each send needs its receive, and each receive its send");
    }
    const bool limited = by != By::threads && call_scope().over(now_ns());
    if (!limited && (options_.timeout_ns == 0 || quiet_ns <= options_.timeout_ns))
        return;
    engine::ask_where(*segment_);
    if (limited)
        fail(Status::timeout, here + " " + call_scope().exceeded() + ": it waits for " +
                                  in_words(awaited) + engine::where_others_wait(*segment_, rank_));
    fail(Status::timeout, here + " waited " + in_seconds(quiet_ns) + " for " + in_words(awaited) +
                              engine::where_others_wait(*segment_, rank_) +
                              "; each send needs its receive, and each receive its send; raise "
                              "STRETTO_TIMEOUT if that is not too long (0: for ever)");
}

std::string Messenger::in_words(int awaited) const {
    return awaited == kAny    ? "any rank"
           : awaited == rank_ ? "a copy or a stream of its own"
                              : segment_->names().of(awaited);
}

// For a probe that finds no message: ends the communicator if a rank that may send it has died.  A
// rank that has left is no error here: it may have had nothing to send.
void Messenger::check_sources_live(int source, int tag) {
    for (int rank = 0; rank < segment_->ranks(); ++rank)
        if (rank != rank_ && (source == kAny || rank == source) &&
            segment_->presence(rank) == transport::Presence::dead)
            check_peers(
                rank, "iprobe(" + from(source, tag) + ")", 0,
                [&] {
                    const std::lock_guard lock(mutex_);
                    check_alive();
                    return find(source, tag).has_value();
                },
                By::tests);
}

void Messenger::fail(Status status, const std::string &message) {
    segment_->fail(status, message);
    throw segment_->failure(); // the first failure, if another rank was faster
}

std::string Messenger::from(int source, int tag) const {
    return (source == kAny ? std::string("any source") : "source " + std::to_string(source)) +
           ", " + (tag == kAny ? std::string("any tag") : "tag " + std::to_string(tag));
}

std::string Messenger::progress_of(const Transfer &transfer) const {
    return describe(transfer) + " (" + std::to_string(transfer.moved) + " bytes done)";
}

std::string Messenger::describe(const Transfer &transfer) const {
    const std::string call = transfer.purpose.exact()
                                 ? std::string(transfer.purpose.name) + " (call " +
                                       std::to_string(transfer.purpose.call) + "): "
                                 : "";
    if (transfer.is_receive) {
        const auto &receive = static_cast<const Receive &>(transfer);
        const std::string bytes = std::to_string(receive.capacity) + " bytes";
        if (transfer.purpose.exact())
            return call + bytes + " from rank " + std::to_string(receive.envelope.source);
        return "recv(up to " + bytes + ", " + from(receive.envelope.source, receive.envelope.tag) +
               ")";
    }
    const auto &send = static_cast<const Send &>(transfer);
    const std::string bytes = std::to_string(send.bytes) + " bytes to rank ";
    if (transfer.purpose.exact())
        return call + bytes + std::to_string(send.dest);
    return "send(" + bytes + std::to_string(send.dest) + ", tag " +
           std::to_string(send.envelope.tag) + ")";
}

} // namespace stretto::p2p
