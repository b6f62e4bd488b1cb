// SPDX-License-Identifier: BSD-3-Clause
// Collectives in which each pair of ranks alone knows how much travels between them: messages in a
// context of their own, tagged with the number of the call.
#include <climits>

#include "base/clock.hpp"
#include "base/mix.hpp"
#include "comm/communicator.hpp"

namespace stretto::comm {

const engine::Plan *Communicator::turn() {
    if (turn_ == nullptr) {
        engine::PlanLists nothing;
        nothing.cell_bytes.assign(static_cast<std::size_t>(size()), 0);
        auto plan = std::make_unique<engine::Plan>(nothing);
        plan->algorithm = "messages";
        turn_ = std::move(plan);
    }
    return turn_.get();
}

// Announces the call to the others, as all collectives are: so a rank that calls something else is
// found out.  The engine has nothing to move in it.  Gives the number of the call.
std::uint64_t Communicator::take_turn(const Exchange &what) {
    Request request;
    request.collective = what.collective;
    request.dtype = what.dtype;
    request.root = what.root;
    engine::Call call;
    call.plan = turn();
    call.said = {pack(request) | kByPairsFlag, 0};
    call.fingerprint = mix(segment_->header().key, call.said.what);
    engine::Tally tally;
    queue_.play(call, tally);
    return engine_.calls() - 1;
}

Communicator::Begun Communicator::exchange(const Exchange &what) {
    return together([&] { return start_exchange(what); });
}

Communicator::Begun Communicator::start_exchange(const Exchange &what) {
    const p2p::Purpose purpose{what.name, take_turn(what)};
    {
        const std::lock_guard lock(exchanges_mutex_);
        exchanges_.insert(purpose.call);
    }
    const int tag = static_cast<int>(purpose.call & INT_MAX);
    Stat &stat = past_[{what.collective, turn_->algorithm}];
    Transfers transfers;
    transfers.reserve(what.receives.size() + what.sends.size());
    try {
        for (const Exchange::Part &part : what.receives)
            transfers.push_back(messenger_.start_receive(part.data, part.bytes, part.peer, tag,
                                                         p2p::kCollective, purpose));
        for (const Exchange::Part &part : what.sends)
            transfers.push_back(messenger_.start_send(part.data, part.bytes, part.peer, tag,
                                                      p2p::kCollective, purpose));
    } catch (...) {
        // Others wait for what this rank cannot do, and the caller wants its buffers back.
        const Error failure = engine::post_exception(*segment_, rank(), exhausted_);
        for (p2p::Transfer *transfer : transfers) {
            messenger_.wait(*transfer);
            try {
                messenger_.land(transfer);
            } catch (const Error &) { // the one that is thrown below
            }
        }
        throw failure;
    }
    ++stat.calls;
    stat.messages += what.sends.size();
    for (const Exchange::Part &part : what.sends)
        stat.bytes += part.bytes;
    return {std::move(transfers), purpose.call};
}

// Of a communicator that has failed meanwhile, it may not be complete.
void Communicator::exchanged(std::uint64_t call) {
    if (segment_->failed())
        return;
    const std::lock_guard lock(exchanges_mutex_);
    exchanges_.erase(call);
}

void Communicator::spent(Collective collective, std::uint64_t came) {
    const std::uint64_t now = now_ns();
    past_[{collective, turn_->algorithm}].seconds += static_cast<double>(now - came) * 1e-9;
    if (notes())
        note_exchange(collective, came, now);
}

} // namespace stretto::comm
