// SPDX-License-Identifier: BSD-3-Clause
#include "comm/exchanges.hpp"

#include <algorithm>
#include <climits>
#include <utility>

#include "base/mix.hpp"
#include "calls/call_descriptor.hpp"
#include "engine/failure.hpp"

namespace stretto::comm {

Exchanges::Exchanges(transport::Segment &segment, int rank, engine::Engine &engine,
                     engine::Queue &queue, p2p::Messenger &messenger, calls::PlanCache &plans)
    : segment_(segment), rank_(rank), engine_(engine), queue_(queue), messenger_(messenger),
      plans_(plans), exhausted_(engine::no_memory(segment.names().of(rank))) {}

// Announces the call to the other ranks, as all collectives do: so ranks that make different calls
// find out.  The engine moves no data in it.
void Exchanges::take_turn(const Exchange &exchange, engine::CallOrder::Hold &order) {
    calls::Request request;
    request.collective = exchange.collective;
    request.dtype = exchange.dtype;
    request.root = exchange.root;
    engine::Call call;
    call.plan = &plans_.empty_plan();
    call.descriptor = {pack(request) | calls::kByPairsFlag, 0};
    call.fingerprint = mix(segment_.header().key, call.descriptor.packed);
    engine::Tally tally;
    queue_.play(call, tally, order);
    order.take();
}

static int tag_of(const p2p::Purpose &purpose) {
    return static_cast<int>(purpose.call & INT_MAX);
}

Exchanges::Begun Exchanges::start(const Exchange &exchange, engine::CallOrder::Hold &order) {
    const p2p::Purpose purpose{exchange.name, engine_.calls()};
    calls::Stat &stat = this->stat(exchange.collective); // before anything is on its way
    Begun begun{exchange.gate == nullptr ? start_at_once(exchange, order, purpose)
                                         : start_in_order(exchange, order, purpose),
                purpose.call};
    ++stat.calls;
    stat.messages += exchange.sends.size();
    for (const Exchange::Part &part : exchange.sends)
        stat.bytes += part.bytes;
    return begun;
}

void Exchanges::note_open(std::uint64_t call) {
    const std::lock_guard lock(mutex_);
    open_.insert(call);
}

Exchanges::Transfers Exchanges::start_at_once(const Exchange &exchange,
                                              engine::CallOrder::Hold &order,
                                              const p2p::Purpose &purpose) {
    take_turn(exchange, order);
    note_open(purpose.call);
    const int tag = tag_of(purpose);
    Transfers transfers;
    transfers.reserve(exchange.receives.size() + exchange.sends.size());
    try {
        for (const Exchange::Part &part : exchange.receives)
            transfers.push_back(messenger_.start_receive(
                part.data, part.bytes, part.memory, part.peer, tag, p2p::kCollective, purpose));
        for (const Exchange::Part &part : exchange.sends)
            transfers.push_back(messenger_.start_send(part.data, part.bytes, part.memory, part.peer,
                                                      tag, p2p::kCollective, purpose));
    } catch (...) {
        // The other ranks would wait for this one, so the failure is posted.  The caller may reuse
        // its buffers once the messages that were started have ended.
        const Error failure = engine::post_exception(segment_, rank_, exhausted_);
        for (p2p::Transfer *transfer : transfers) {
            messenger_.wait(*transfer);
            try {
                messenger_.complete(transfer);
            } catch (const Error &) { // the failure, which is thrown below
            }
        }
        throw failure;
    }
    return transfers;
}

// The driver of a device may be asked for what the messages need only before the gate is closed,
// and the other ranks must not know of a call whose gate cannot be.
Exchanges::Transfers Exchanges::start_in_order(const Exchange &exchange,
                                               engine::CallOrder::Hold &order,
                                               const p2p::Purpose &purpose) {
    std::vector<p2p::Message> messages;
    const auto add = [&](const Exchange::Part &part, bool receives) {
        messages.push_back({receives, part.data, part.bytes, part.memory, part.peer,
                            tag_of(purpose), p2p::kCollective, purpose, part.aside});
    };
    for (const Exchange::Part &part : exchange.receives)
        add(part, true);
    for (const Exchange::Part &part : exchange.sends)
        add(part, false);
    auto prepared = messenger_.prepare_in_order(messages);
    exchange.gate->close();
    take_turn(exchange, order);
    note_open(purpose.call);
    Transfers transfers;
    transfers.reserve(messages.size());
    for (p2p::Transfer *transfer : messenger_.begin_in_order(std::move(prepared), exchange.gate))
        transfers.push_back(transfer);
    return transfers;
}

// If the communicator has failed, the exchange may be incomplete, so it stays open.
void Exchanges::ended(std::uint64_t call) {
    if (segment_.failed())
        return;
    const std::lock_guard lock(mutex_);
    open_.erase(call);
}

std::uint64_t Exchanges::completed() const {
    const std::lock_guard lock(mutex_);
    const std::uint64_t calls = engine_.completed();
    return open_.empty() ? calls : std::min(calls, *open_.begin());
}

void Exchanges::add_seconds(schedule::Collective collective, double seconds) {
    stat(collective).seconds += seconds;
}

calls::Stat &Exchanges::stat(schedule::Collective collective) {
    return stats_[{collective, plans_.empty_plan().algorithm}];
}

} // namespace stretto::comm
