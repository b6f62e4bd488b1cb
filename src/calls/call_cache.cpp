// SPDX-License-Identifier: BSD-3-Clause
#include "calls/call_cache.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/mix.hpp"
#include "calls/call_words.hpp"
#include "engine/executor.hpp"
#include "reduce/kernels.hpp"
#include "schedule/layout.hpp"

namespace stretto::calls {

// The algorithm of which the result has the same bits as that of a pass over the buffers of all
// ranks, in their order.
static constexpr std::string_view kOnePassAlgorithm = "direct";

// What calls cost that are not steps of a plan.
static constexpr std::string_view kOnePassName = "one_pass";

static Stat &add_times(Stats &stats, Collective collective, std::string_view algorithm,
                       const engine::TallyCounts &counts, std::size_t vector_bytes) {
    const double second = ns_per_tick() * 1e-9;
    Stat &stat = stats[{collective, std::string(algorithm)}];
    stat.calls += counts.calls;
    stat.bytes += counts.calls * vector_bytes;
    const double waiting = static_cast<double>(counts.waiting_ticks) * second;
    const double timed = static_cast<double>(std::max<std::uint64_t>(1, counts.timed_calls));
    stat.seconds += waiting + static_cast<double>(counts.working_ticks) * second *
                                  static_cast<double>(counts.calls) / timed;
    stat.waiting_seconds += waiting;
    return stat;
}

// Adds the costs of an entry's calls.
static void add_costs(Stats &stats, const CallKey &key, const CallEntry &entry, int rank) {
    const engine::Plan &plan = *entry.plan;
    const auto collective = collective_in(key.packed);
    const engine::TallyCounts &whole = entry.tally.one_pass;
    if (const engine::TallyCounts steps = entry.tally.without(whole); steps.calls != 0) {
        Stat &stat = add_times(stats, collective, plan.algorithm, steps, plan.vector_bytes);
        stat.messages += steps.calls * plan.messages;
        stat.bytes_copied += steps.calls * plan.bytes_copied;
        stat.bytes_reduced += steps.calls * plan.bytes_reduced;
    }
    if (whole.calls == 0)
        return;
    Stat &stat = add_times(stats, collective, kOnePassName, whole, plan.vector_bytes);
    for (const auto &execution : entry.executions)
        if (rank == engine::kLeaderRank && execution != nullptr && execution->whole != nullptr)
            stat.bytes_reduced += whole.calls * execution->whole->bytes_reduced();
}

// The address `by` bytes further on, modulo 2^64.  It need not be valid, and `memory` may be null.
static void *shifted(const void *memory, std::size_t by) {
    return reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(memory) + by);
}

std::uint64_t CallCache::descriptor(const Request &request) const {
    return pack(request) | static_cast<std::uint64_t>(policies.now().reproducible)
                               << kReproducibleShift;
}

CallEntry CallCache::make(const Request &request) {
    const std::size_t element = size_of(request.dtype);
    const std::size_t whole = vector_count(request, segment.ranks()) * element;
    const auto me = static_cast<std::size_t>(rank);
    std::size_t own = request.count * element, first = own * me;
    if (request.shares != nullptr) {
        const std::vector<std::uint64_t> &counts = request.shares->counts;
        own = counts[me] * element;
        first = std::accumulate(counts.begin(), counts.begin() + rank, std::size_t{0}) * element;
    }
    const schedule::Layout where = schedule::layout(request.collective);
    const schedule::Buffers held = rank == request.root ? where.root : where.others;
    const auto bytes = [&](schedule::Holds holds) {
        return holds == schedule::Holds::whole ? whole : holds == schedule::Holds::own ? own : 0;
    };
    CallEntry entry;
    Chosen chosen = selection.choice_for(request);
    for (HookSource *source : sources_)
        if (std::unique_ptr<CallHook> hook = source->hook_for(request, chosen))
            entry.hooks.push_back(std::move(hook));
    entry.plan = &plans.plan(request, chosen);
    entry.reduce = reduce::pass(request.dtype, request.op, policies.now().rounding());
    entry.input_first = held.input == schedule::Holds::own ? first : 0;
    entry.output_first = held.output == schedule::Holds::own ? first : 0;
    entry.input_bytes = bytes(held.input);
    entry.output_bytes = bytes(held.output);
    entry.in_place = where.in_place;
    if (schedule::reduces(request.collective))
        entry.pre_post = pre_post(request, entry);
    entry.may_be_one_pass = segment.ranks() > 1 && segment.placement().one_host() && whole != 0 &&
                            (!chosen.forced || chosen.algorithm == kOnePassAlgorithm) &&
                            (entry.pre_post == nullptr || entry.pre_post->operation == nullptr);
    entry.executions[0] = make_execution(MemoryKind::host, request, entry);
    entry.packed = descriptor(request) | (chosen.imported != nullptr ? kOfFileFlag : 0);
    entry.fingerprint = fingerprint(request, entry);
    return entry;
}

// Ranks compare this number: it covers the call and the plan.
std::uint64_t CallCache::fingerprint(const Request &request, const CallEntry &entry) const {
    const std::uint64_t call = mix(mix(segment.header().key, entry.packed), request.count);
    const std::uint64_t played = mix(call, entry.plan->identity);
    return request.shares == nullptr ? played : mix(played, request.shares->hash);
}

// The operations before and after a reduction: an average divides, a premultiplied sum multiplies.
// If there is only one rank, logical operations and operations of booleans turn its contribution
// into 0 or 1, as reducing it with another one would.
std::unique_ptr<const engine::PrePost> CallCache::pre_post(const Request &request,
                                                           const CallEntry &entry) const {
    engine::PrePost pre_post;
    pre_post.operation = request.operation;
    pre_post.dtype = request.dtype;
    pre_post.divisor = segment.ranks();
    const std::size_t element = size_of(request.dtype);
    const auto map = [&](reduce::Mapping mapping, const void *constant, std::size_t first,
                         std::size_t bytes) {
        return engine::PrePost::Mapped{reduce::map(mapping, request.dtype), mapping, constant,
                                       first, bytes / element};
    };
    if (request.op == ReduceOp::premul_sum)
        pre_post.pre = map(reduce::Mapping::multiply, request.operation->factor.data(),
                           entry.input_first, entry.input_bytes);
    if (entry.output_bytes != 0 && request.op == ReduceOp::avg)
        pre_post.post =
            map(reduce::Mapping::divide, nullptr, entry.output_first, entry.output_bytes);
    if (segment.ranks() == 1 && gives_truth(request.dtype, request.op))
        pre_post.post =
            map(reduce::Mapping::truth, nullptr, entry.output_first, entry.output_bytes);
    if (pre_post.operation == nullptr && pre_post.post.map == nullptr)
        return nullptr;
    auto kept = std::make_unique<engine::PrePost>(pre_post);
    kept->post.constant = &kept->divisor;
    return kept;
}

// The executor that performs the passes of a call; null: the CPU, on the callers' threads.
std::unique_ptr<const engine::Execution>
CallCache::make_execution(MemoryKind kind, const Request &request, const CallEntry &entry) const {
    engine::Executor *const executor = engine::executor_of(kind);
    const engine::Kernel kernel{schedule::reduces(request.collective), request.dtype, request.op,
                                policies.now().rounding(), entry.reduce};
    if (executor != nullptr && executor->supports(kind, kernel))
        return std::make_unique<engine::Execution>(engine::Execution{
            executor, kernel, kind,
            kind != MemoryKind::host && entry.may_be_one_pass ? whole_call(request) : nullptr});
    if (kind == MemoryKind::host)
        return nullptr;
    const std::string memory(stretto::words(kind));
    throw engine::Unserved(
        Status::unsupported,
        segment.names().of(rank) + " cannot call " +
            describe({pack(request), request.count}, shares, rank) + ": " +
            (executor == nullptr
                 ? "nothing in this process copies and reduces in " + memory
                 : "what copies and reduces in " + memory + " has no such operation") +
            "; copy the data to host memory first");
}

// Blocks are those that ranks own, or the vector.
std::unique_ptr<const engine::WholeCall> CallCache::whole_call(const Request &request) const {
    const std::size_t element = size_of(request.dtype);
    const auto parts =
        static_cast<std::size_t>(schedule::in_parts(request.collective) ? segment.ranks() : 1);
    std::vector<std::uint64_t> bounds(parts + 1, 0);
    for (std::size_t part = 0; part < parts; ++part)
        bounds[part + 1] =
            bounds[part] +
            element * (request.shares == nullptr ? request.count : request.shares->counts[part]);
    const bool averages = schedule::reduces(request.collective) && request.op == ReduceOp::avg;
    const int root = schedule::rooted(request.collective) ? request.root : 0;
    return std::make_unique<engine::WholeCall>(
        schedule::Contract(request.collective, segment.ranks(), static_cast<schedule::Block>(parts),
                           root),
        bounds, averages ? std::optional(request.dtype) : std::nullopt);
}

// Whether one process gives the same result as the algorithm of the call, bit by bit if this is
// asked for.
bool CallCache::may_be_one_pass(const Request &request, const CallEntry &entry) const {
    return entry.may_be_one_pass &&
           (policies.now().reproducible == select::Reproducible::off ||
            !schedule::reduces(request.collective) || entry.plan->algorithm == kOnePassAlgorithm);
}

engine::Call CallCache::call(const Request &request, const CallEntry &entry) const {
    engine::Call call;
    call.plan = entry.plan;
    call.reduce = entry.reduce;
    call.fingerprint = entry.fingerprint;
    call.descriptor = {entry.packed, request.count};
    call.pre_post = entry.pre_post.get();
    call.execution = entry.executions[static_cast<std::size_t>(request.memory)].get();
    if (call.execution != nullptr) {
        call.one_pass =
            call.execution->whole != nullptr && may_be_one_pass(request, entry) &&
            (request.input != nullptr || call.execution->whole->may_be_in_place(entry.in_place));
        call.input_part = {entry.input_first, entry.input_bytes};
        call.output_part = {entry.output_first, entry.output_bytes};
    }
    // The contribution is mapped (multiplied) into memory of the engine: other ranks read it there.
    const bool mapped = call.pre_post != nullptr && call.pre_post->pre.map != nullptr;
    call.batch = request.batch;
    if (call.batch != nullptr) {
        call.in_place = !mapped;
        return call;
    }
    const void *input = request.input;
    void *output = request.output;
    if (input == nullptr) {
        input = output;
        call.in_place = !mapped;
        switch (entry.in_place) {
        case InPlace::over: break;
        case InPlace::inside: input = shifted(output, entry.input_first); break;
        case InPlace::kept: output = shifted(output, entry.output_first); break;
        case InPlace::moved:
            if (entry.output_first == 0 || mapped)
                break; // no other rank reads the part that is overwritten
            call.in_place = false;
            call.move_to = output;
            call.move_bytes = entry.output_bytes;
            call.move_first = entry.output_first;
        }
    }
    // Where byte 0 of the whole vector would lie.
    call.input = shifted(input, -entry.input_first);
    call.output = shifted(output, -entry.output_first);
    if (const auto where = heap.offer(input, entry.input_bytes); where != 0 && !mapped)
        call.input_heap = where - entry.input_first;
    if (const auto where = heap.offer(output, entry.output_bytes);
        call.move_bytes == 0 && where != 0)
        call.output_heap = where - entry.output_first;
    return call;
}

engine::Tally CallCache::tally_of(const CallEntry &entry) const {
    engine::Tally tally;
    queue.while_still([&] { tally = entry.tally; });
    return tally;
}

void CallCache::select_plan(const Request &request, CallEntry &entry, const Chosen &chosen,
                            Planned made) {
    const engine::Plan &wanted = plans.plan(request, chosen, std::move(made));
    if (&wanted == entry.plan)
        return;
    // The costs so far belong to the algorithm before.  Calls in flight count for the next one.
    queue.while_still([&] {
        add_costs(past_, key_of(request), entry, rank);
        entry.tally = {};
    });
    entry.plan = &wanted;
    entry.fingerprint = fingerprint(request, entry);
}

// This rank refuses a call: an imported schedule cannot run it, or no executor reaches its memory.
// If all ranks have read the same file, or have such memory, all refuse alike.  If not, other ranks
// may wait for this one in the call.  So the call takes its turn, and those ranks find that this
// rank has called something else.
void CallCache::announce_refusal(const Request &request, std::uint64_t why,
                                 engine::CallOrder::Hold &order) {
    engine::Call call;
    call.plan = &plans.empty_plan();
    call.descriptor = {descriptor(request) | why, request.count};
    call.fingerprint = mix(mix(segment.header().key, call.descriptor.packed), request.count);
    engine::Tally tally;
    queue.play(call, tally, order);
}

// A program whose counts never repeat would fill the memory with plans.  A plan that was forgotten
// is made again when it is needed; other ranks do not notice.
void CallCache::forget() {
    if (pins_.load(std::memory_order_relaxed) != 0 || !queue.forget())
        return; // a call in flight needs its plan: the next call tries again
    for (const auto &[key, entry] : entries_)
        add_costs(past_, key, entry, rank);
    entries_.clear();
    plans.clear();
}

Stats CallCache::stats() {
    Stats result = past_;
    queue.while_still([&] {
        for (const auto &[key, entry] : entries_)
            add_costs(result, key, entry, rank);
    });
    return result;
}

void CallCache::reset_stats() {
    past_.clear();
    queue.while_still([&] {
        for (auto &[key, entry] : entries_)
            entry.tally = {};
    });
}

} // namespace stretto::calls
