// SPDX-License-Identifier: BSD-3-Clause
// From what a caller asks for to a call of the engine: its plan and site, and where its buffers
// lie.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>

#include "base/memory.hpp"
#include "base/mix.hpp"
#include "comm/communicator.hpp"
#include "engine/executor.hpp"
#include "reduce/kernels.hpp"
#include "transport/turn.hpp"

namespace stretto::comm {

// From so many ranks on a host, the ranks take turns at making a plan that takes much memory for a
// moment: 200 ranks at once took 30 GB for a call of 400 kB.
static constexpr int kManyRanks = 32;
static constexpr std::size_t kMuchMemoryBytes = std::size_t{32} << 20;

// An address `by` bytes on, modulo 2^64: it may lie before any memory, or start from none.
static void *shifted(const void *memory, std::size_t by) {
    return reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(memory) + by);
}

std::uint64_t Communicator::what(const Request &request) const {
    return pack(request) | static_cast<std::uint64_t>(terms().reproducible) << kReproducibleShift;
}

std::size_t Communicator::vector_count(const Request &request) const {
    const bool parts = request.shares == 0 && schedule::in_parts(request.collective);
    return parts ? request.count * static_cast<std::size_t>(size()) : request.count;
}

void Communicator::share(Request &request, std::span<const std::size_t> counts) {
    if (std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end()) {
        request.count = counts[0];
        return;
    }
    const Shares::Entry &entry =
        together([&]() -> const Shares::Entry & { return shares_.of(counts); });
    request.count = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    request.root = static_cast<int>(Shares::mark(entry.hash));
    request.shares = entry.id;
}

PlanInputs Communicator::recipe(const Request &request) const {
    PlanInputs recipe{request.collective, size(), me_.rank, request.root};
    if (request.shares != 0)
        recipe.counts = *shares_.last().counts;
    recipe.topology = select::topology_of(situation(request));
    engine::PlanOptions &options = recipe.options;
    options.count = vector_count(request);
    options.element = size_of(request.dtype);
    options.ring_bytes = segment_->ring_bytes();
    options.cores = segment_->header().cores;
    options.slice = segment_->header().slice_bytes;
    if (options.slice == 0)
        options.slice = select::slice_bytes(situation(request));
    options.commutes = request.op != ReduceOp::user_in_order;
    options.output_everywhere = schedule::layout(request.collective).output_everywhere();
    return recipe;
}

std::string Communicator::plan_key(const Request &request, const Chosen &chosen) const {
    const std::uint64_t content =
        chosen.imported == nullptr ? content_of(chosen.order) : chosen.imported->hash;
    std::string key = std::string(schedule::name(request.collective)) + " " + chosen.algorithm +
                      " " + std::to_string(vector_count(request)) + " " +
                      std::to_string(size_of(request.dtype)) + " " + std::to_string(request.root) +
                      " " + std::to_string(request.shares);
    if (request.op == ReduceOp::user_in_order)
        key += " in order";
    if (content != 0)
        key += " " + std::to_string(content);
    if (request.memory != MemoryKind::host)
        key.append(" in ").append(stretto::words(request.memory));
    return key;
}

// Null if none has been made.
std::shared_ptr<const engine::Plan> Communicator::known_plan(const Request &request,
                                                             const Chosen &chosen) const {
    const auto found = plans_.find(plan_key(request, chosen));
    return found == plans_.end() ? nullptr : found->second;
}

// A rank that the kernel ends for want of memory could not say why.
static void check_room(int rank, int ranks, std::size_t need) {
    if (const auto room = available_memory(); room && need > *room)
        throw Error(Status::memory,
                    "rank " + std::to_string(rank) + " has no memory to plan a call of " +
                        std::to_string(ranks) + " ranks: it may take " +
                        std::to_string(need >> 20) + " MiB for a moment, and " +
                        std::to_string(*room >> 20) +
                        " MiB are free; free memory, raise STRETTO_SLICE_BYTES, or start fewer "
                        "ranks on a host");
}

Planned Communicator::make_plan(const Request &request, const Chosen &chosen) {
    const PlanInputs by = recipe(request);
    std::size_t needed = 0;
    std::optional<transport::Turn> turn;
    const engine::MemoryCheck check = [&](std::size_t need) {
        needed = need;
        if (need < kMuchMemoryBytes || segment_->placement().ranks_here(size()) < kManyRanks)
            return;
        turn.emplace(*segment_, rank());
        check_room(rank(), size(), need);
    };
    Planned plan;
    if (chosen.imported == nullptr) {
        plan = by.plan(chosen.algorithm, chosen.order, check);
    } else {
        schedule::Schedule schedule = chosen.imported->schedule;
        schedule.name = chosen.algorithm; // the file, whatever it calls itself
        plan = by.plan(schedule, chosen.imported->hash, check);
    }
    if (needed >= kMuchMemoryBytes)
        give_back_freed_memory();
    return plan;
}

// `made`: the plan, if it has been made.
const engine::Plan &Communicator::plan(const Request &request, const Chosen &chosen, Planned made) {
    const std::string key = plan_key(request, chosen);
    std::shared_ptr<const engine::Plan> &slot = plans_[key];
    if (slot)
        return *slot;
    try {
        slot = made != nullptr ? std::move(made) : make_plan(request, chosen);
    } catch (const Error &error) {
        plans_.erase(key);
        if (chosen.imported == nullptr)
            throw;
        throw select::unfit(*chosen.imported, "cannot be played: " + std::string(error.what()),
                            "name an algorithm");
    } catch (...) {
        plans_.erase(key);
        throw;
    }
    plan_bytes_ += slot->footprint();
    if (logs_choices_ && !request.own && logged_.insert(key).second)
        log_choice(request, chosen);
    return *slot;
}

Communicator::CallEntry Communicator::make_site(const Request &request) {
    const std::size_t element = size_of(request.dtype);
    const std::size_t whole = vector_count(request) * element;
    const auto me = static_cast<std::size_t>(rank());
    std::size_t own = request.count * element, first = own * me;
    if (request.shares != 0) {
        const std::vector<std::uint64_t> &counts = *shares_.last().counts;
        own = counts[me] * element;
        first = std::accumulate(counts.begin(), counts.begin() + rank(), std::size_t{0}) * element;
    }
    const schedule::Layout where = schedule::layout(request.collective);
    const schedule::Buffers held = rank() == request.root ? where.root : where.others;
    const auto bytes = [&](schedule::Holds holds) {
        return holds == schedule::Holds::whole ? whole : holds == schedule::Holds::own ? own : 0;
    };
    CallEntry site;
    Chosen chosen = choice_for(request);
    site.tries = tries(request, chosen);
    site.watches = watches(request, chosen);
    resume_trial(key_of(request), chosen);
    resume_watch(request, chosen);
    site.plan = &plan(request, chosen);
    site.reduce = reduce::pass(request.dtype, request.op, rounding());
    site.input_first = held.input == schedule::Holds::own ? first : 0;
    site.output_first = held.output == schedule::Holds::own ? first : 0;
    site.input_bytes = bytes(held.input);
    site.output_bytes = bytes(held.output);
    site.in_place = where.in_place;
    if (schedule::reduces(request.collective))
        site.extra = extra(request, site);
    site.elsewhere = elsewhere(request, site);
    site.what = what(request) | (chosen.imported != nullptr ? kOfFileFlag : 0);
    site.fingerprint = fingerprint(request, site);
    return site;
}

// What ranks compare: that they make the same call, and play the same plan.
std::uint64_t Communicator::fingerprint(const Request &request, const CallEntry &site) const {
    const std::uint64_t call = mix(mix(segment_->header().key, site.what), request.count);
    const std::uint64_t played = mix(call, site.plan->identity);
    return request.shares == 0 ? played : mix(played, shares_.last().hash);
}

// What an average divides, a premultiplied sum multiplies, and what makes truth of the contribution
// of a rank that is alone, as reducing it with others would.
std::unique_ptr<const engine::Extra> Communicator::extra(const Request &request,
                                                         const CallEntry &site) const {
    engine::Extra extra;
    extra.operation = request.operation;
    extra.dtype = request.dtype;
    extra.divisor = size();
    const std::size_t element = size_of(request.dtype);
    const auto map = [&](reduce::Mapping mapping, const void *constant, std::size_t first,
                         std::size_t bytes) {
        return engine::Extra::Mapped{reduce::map(mapping, request.dtype), constant, first,
                                     bytes / element};
    };
    if (request.op == ReduceOp::premul_sum)
        extra.before = map(reduce::Mapping::multiply, request.operation->factor.data(),
                           site.input_first, site.input_bytes);
    if (site.output_bytes != 0 && request.op == ReduceOp::avg)
        extra.after = map(reduce::Mapping::divide, nullptr, site.output_first, site.output_bytes);
    if (size() == 1 && gives_truth(request.dtype, request.op))
        extra.after = map(reduce::Mapping::truth, nullptr, site.output_first, site.output_bytes);
    if (extra.operation == nullptr && extra.after.map == nullptr)
        return nullptr;
    auto kept = std::make_unique<engine::Extra>(extra);
    kept->after.constant = &kept->divisor;
    return kept;
}

// Who performs the passes of a call in place of its callers.
std::unique_ptr<const engine::Execution> Communicator::elsewhere(const Request &request,
                                                                 const CallEntry &site) const {
    engine::Executor *const executor = engine::executor_of(request.memory);
    const engine::Kernel kernel{schedule::reduces(request.collective), request.dtype, request.op,
                                rounding(), site.reduce};
    if (executor != nullptr && executor->supports(request.memory, kernel) &&
        (request.memory == MemoryKind::host || site.extra == nullptr))
        return std::make_unique<engine::Execution>(engine::Execution{executor, kernel});
    if (request.memory == MemoryKind::host)
        return nullptr;
    const std::string memory(stretto::words(request.memory)),
        what = describe({pack(request), request.count});
    throw engine::Unserved(
        Status::unsupported,
        segment_->names().of(rank()) + " cannot call " + what + ": " +
            (executor == nullptr ? "nothing in this process copies and reduces in " + memory
             : site.extra != nullptr
                 ? "averages, sums of multiples and user-defined operations are computed by the "
                   "CPU, which does not reach " +
                       memory
                 : "what copies and reduces in " + memory + " has no such operation") +
            "; copy the data to host memory first");
}

Communicator::Key Communicator::key_of(const Request &request) const {
    return {pack(request), request.count,
            terms_now_ | std::uint64_t{request.operation_number} << 32, request.shares};
}

Communicator::CallEntry &Communicator::site(const Request &request) {
    return sites_.get(key_of(request), [&] { return make_site(request); });
}

void Communicator::make_room(const Request &request) {
    if (plan_bytes_ > most_plan_bytes_ && !sites_.has(key_of(request))) [[unlikely]]
        forget();
}

std::string Communicator::chosen(const Request &request) {
    make_room(request);
    return site(request).plan->algorithm;
}

Communicator::CallEntry &Communicator::site_of_call(const Request &request) {
    make_room(request);
    try {
        return site(request);
    } catch (const select::Unfit &) {
        announce_refusal(request, kOfFileFlag);
        throw;
    } catch (const engine::Unserved &) {
        announce_refusal(request, 0);
        throw;
    }
}

engine::Call Communicator::call(const Request &request, const CallEntry &site, bool overlaps) {
    engine::Call call;
    call.plan = site.plan;
    call.reduce = site.reduce;
    // A rank must know of every rank's calls whether they overlap, so the two kinds do not match.
    call.overlaps = overlaps;
    call.fingerprint = overlaps ? ~site.fingerprint : site.fingerprint;
    call.said = {site.what | (overlaps ? kOverlapsFlag : 0), request.count};
    call.extra = site.extra.get();
    call.elsewhere = site.elsewhere.get();
    // Whether the contribution is mapped on the way to memory that only we know.
    const bool mapped = call.extra != nullptr && call.extra->before.map != nullptr;
    const void *input = request.input;
    void *output = request.output;
    if (input == nullptr) {
        input = output;
        call.in_place = !mapped;
        switch (site.in_place) {
        case InPlace::over: break;
        case InPlace::inside: input = shifted(output, site.input_first); break;
        case InPlace::kept: output = shifted(output, site.output_first); break;
        case InPlace::moved:
            if (site.output_first == 0 || mapped)
                break; // what is written is what nobody else reads
            call.in_place = false;
            call.move_to = output;
            call.move_bytes = site.output_bytes;
            call.move_first = site.output_first;
        }
    }
    // Where byte 0 of the whole vector would lie.
    call.input = shifted(input, -site.input_first);
    call.output = shifted(output, -site.output_first);
    if (const auto where = heap_.offer(input, site.input_bytes); where != 0 && !mapped)
        call.input_heap = where - site.input_first;
    if (const auto where = heap_.offer(output, site.output_bytes);
        call.move_bytes == 0 && where != 0)
        call.output_heap = where - site.output_first;
    return call;
}

void Communicator::play(const Request &request) {
    if (notes()) [[unlikely]]
        play_noted(request);
    else
        play_unnoted(request);
}

void Communicator::play_unnoted(const Request &request) {
    together([&] { play_at(request, site_of_call(request)); });
}

void Communicator::play_at(const Request &request, CallEntry &where) {
    if (where.tries) [[unlikely]]
        play_trial(request, where);
    else if (where.watches) [[unlikely]]
        play_watched(request, where);
    else
        queue_.play(call(request, where, false), where.tally);
}

void Communicator::prepare(const Request &request) {
    together([&] {
        make_room(request);
        site(request);
    });
}

// A program whose counts never repeat would fill the memory with plans.  What is forgotten is
// planned again when it is needed; no other rank notices.
void Communicator::forget() {
    if (!queue_.forget())
        return; // at another call, then
    for (const auto &[key, site] : sites_)
        add(past_, key, site);
    sites_.clear();
    plans_.clear();
    plan_bytes_ = 0;
}

} // namespace stretto::comm
