// SPDX-License-Identifier: BSD-3-Clause
// What a rank notes of its calls for the report of who comes late (arrival/call_log.hpp).
#include <new>

#include "base/clock.hpp"
#include "base/mix.hpp"
#include "comm/communicator.hpp"
#include "engine/failure.hpp"

namespace stretto::comm {

using arrival::CallLog;

// One for a rank and all of its communicators.
std::shared_ptr<CallLog> Communicator::start_call_log(const ParentContext *origin) const {
    if (origin != nullptr)
        return origin->call_log;
    try {
        return CallLog::open(in_files());
    } catch (...) { // the others wait for this rank
        throw engine::post_exception(*segment_, me_.rank,
                                     engine::no_memory(segment_->names().of(me_.rank)));
    }
}

// What to add to this rank's clock at that time to get the job's.  To ask takes a lock, so it is
// asked now and then: clocks drift by some microseconds in a second.
std::int64_t Communicator::offset_at(std::uint64_t now) {
    constexpr std::uint64_t kEveryNs = 100'000'000; // ns
    if (joined_.reach.watch != nullptr && now >= notes_.look_again) {
        notes_.offset = clock_offset().value_or(arrival::kUnknown);
        notes_.look_again = now + kEveryNs;
    }
    return notes_.offset;
}

CallLog::Calls &Communicator::noted(std::uint64_t what, std::uint64_t count,
                                    std::uint64_t bytes) const {
    const trace::CallWords of_call = words(what);
    arrival::CallKind kind;
    kind.communicator = in_files().job_id;
    kind.communicator_name = me_.job;
    kind.rank = rank();
    kind.size = size();
    kind.collective = of_call.collective;
    if ((what & kOverlapsFlag) != 0)
        kind.collective.insert(0, "nonblocking ");
    if (of_call.by_pairs)
        kind.collective += "v";
    else if (of_call.has_data)
        kind.dtype = stretto::words(of_call.dtype);
    if (of_call.reduces)
        kind.op = name(of_call.op);
    kind.root = of_call.by_pairs ? -1 : of_call.root;
    kind.count = of_call.has_data ? count : 0;
    kind.bytes = of_call.has_data ? bytes : 0;
    return notes_.log->of(kind);
}

void Communicator::play_noted(const Request &request) {
    const std::uint64_t came = now_ns();
    CallLog::Calls *calls = nullptr;
    together([&] {
        CallEntry &where = site_of_call(request);
        if (where.noted == nullptr)
            where.noted = &noted(where.what, request.count, where.plan->vector_bytes);
        calls = where.noted;
        calls->begin(came, offset_at(came));
        play_at(request, where);
    });
    calls->end(now_ns());
}

engine::Queue::InFlightCall *Communicator::start(const Request &request) {
    const std::uint64_t came = notes() ? now_ns() : 0;
    return together([&] {
        CallEntry &where = site_of_call(request);
        if (!notes()) [[likely]]
            return queue_.start(call(request, where, true), where.tally);
        if (where.noted_beside == nullptr)
            where.noted_beside =
                &noted(where.what | kOverlapsFlag, request.count, where.plan->vector_bytes);
        CallLog::Calls &calls = *where.noted_beside;
        Notes::Running running{&calls, calls.begin_beside(came, offset_at(came))};
        engine::Queue::InFlightCall *const flight =
            queue_.start(call(request, where, true), where.tally);
        calls.started(running.call, now_ns());
        try {
            notes_.running.insert_or_assign(flight, running);
        } catch (const std::bad_alloc &) { // it has begun and does not end, in the report
        }
        return flight;
    });
}

void Communicator::land(engine::Queue::InFlightCall *flight) {
    const auto running = notes_.running.extract(flight);
    const std::uint64_t entered = running.empty() ? 0 : now_ns();
    queue_.finish(flight);
    if (!running.empty())
        running.mapped().calls->end_beside(running.mapped().call, entered, now_ns());
}

// Whose counts pairs of ranks know alone: of one kind, as far as others know.
void Communicator::note_exchange(Collective collective, std::uint64_t came, std::uint64_t left) {
    CallLog::Calls *&calls = notes_.exchanges[collective];
    if (calls == nullptr)
        calls = &noted(static_cast<std::uint64_t>(collective) | kByPairsFlag, 0, 0);
    calls->begin(came, offset_at(came));
    calls->end(left);
}

} // namespace stretto::comm
