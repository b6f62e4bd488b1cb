// SPDX-License-Identifier: BSD-3-Clause
#include "calls/plan_cache.hpp"

#include <optional>
#include <utility>

#include "base/memory.hpp"
#include "base/status.hpp"
#include "engine/plan.hpp"
#include "schedule/layout.hpp"
#include "transport/shm/turn.hpp"

namespace stretto::calls {

PlanCache::PlanCache(const Config::Calls &config, transport::Segment &segment, int rank,
                     const Selection &selection)
    : segment_(segment), rank_(rank), selection_(selection), most_bytes_(config.plan_bytes) {}

// On a host with at least this many ranks, ranks make a plan one after the other if making it takes
// much memory for a moment: 200 ranks at once took 30 GB for a call of 400 kB.
static constexpr int kManyRanks = 32;
static constexpr std::size_t kMuchMemoryBytes = std::size_t{32} << 20;

PlanInputs PlanCache::inputs(const Request &request) const {
    PlanInputs inputs{request.collective, segment_.ranks(), rank_, request.root};
    if (request.shares != nullptr)
        inputs.counts = request.shares->counts;
    inputs.topology = select::topology_of(selection_.situation(request));
    engine::PlanOptions &options = inputs.options;
    options.count = vector_count(request, segment_.ranks());
    options.element = size_of(request.dtype);
    options.ring_bytes = segment_.ring_bytes();
    options.cores = segment_.header().cores;
    options.slice = segment_.header().slice_bytes;
    if (options.slice == 0)
        options.slice = select::slice_bytes(selection_.situation(request));
    options.commutes = request.op != ReduceOp::user_in_order;
    options.output_everywhere = schedule::layout(request.collective).output_everywhere();
    return inputs;
}

std::string PlanCache::key_of(const Request &request, const Chosen &chosen) const {
    const std::uint64_t content =
        chosen.imported == nullptr ? content_of(chosen.order) : chosen.imported->hash;
    std::string key = std::string(schedule::name(request.collective)) + " " + chosen.algorithm +
                      " " + std::to_string(vector_count(request, segment_.ranks())) + " " +
                      std::to_string(size_of(request.dtype)) + " " + std::to_string(request.root) +
                      " " + std::to_string(shares_id(request));
    if (request.op == ReduceOp::user_in_order)
        key += " in order";
    if (content != 0)
        key += " " + std::to_string(content);
    return key;
}

std::shared_ptr<const engine::Plan> PlanCache::known_plan(const Request &request,
                                                          const Chosen &chosen) const {
    const auto found = plans_.find(key_of(request, chosen));
    return found == plans_.end() ? nullptr : found->second;
}

// Refuses a plan for which there is not enough memory: a process that the kernel kills for want of
// memory cannot report why.
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

Planned PlanCache::make(const Request &request, const Chosen &chosen) const {
    const PlanInputs by = inputs(request);
    std::size_t needed = 0;
    std::optional<transport::Turn> turn;
    const engine::MemoryCheck check = [&](std::size_t need) {
        needed = need;
        if (need < kMuchMemoryBytes ||
            segment_.placement().ranks_here(segment_.ranks()) < kManyRanks)
            return;
        turn.emplace(segment_, rank_);
        check_room(rank_, segment_.ranks(), need);
    };
    Planned plan;
    if (chosen.imported == nullptr) {
        plan = by.plan(chosen.algorithm, chosen.order, check);
    } else {
        schedule::Schedule schedule = chosen.imported->schedule;
        schedule.name = chosen.algorithm; // the name of the file, not the name within it
        plan = by.plan(schedule, chosen.imported->hash, check);
    }
    if (needed >= kMuchMemoryBytes)
        give_back_freed_memory();
    return plan;
}

const engine::Plan &PlanCache::plan(const Request &request, const Chosen &chosen, Planned made) {
    const std::string key = key_of(request, chosen);
    if (const auto known = plans_.find(key); known != plans_.end())
        return *known->second;
    segment_.open_rings(rank_);
    std::shared_ptr<const engine::Plan> &slot = plans_[key];
    try {
        slot = made != nullptr ? std::move(made) : make(request, chosen);
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
    bytes_ += slot->footprint();
    if (selection_.logs() && !request.internal && logged_.insert(key).second)
        selection_.log_choice(request, chosen);
    return *slot;
}

const engine::Plan &PlanCache::plan(const std::string &name, const std::function<Planned()> &make) {
    std::shared_ptr<const engine::Plan> &slot = plans_[name];
    if (slot == nullptr) {
        segment_.open_rings(rank_);
        slot = make();
        bytes_ += slot->footprint();
    }
    return *slot;
}

const engine::Plan &PlanCache::empty_plan() {
    if (empty_ == nullptr) {
        engine::PlanLists nothing;
        nothing.cell_bytes.assign(static_cast<std::size_t>(segment_.ranks()), 0);
        auto plan = std::make_unique<engine::Plan>(nothing);
        plan->algorithm = "messages";
        empty_ = std::move(plan);
    }
    return *empty_;
}

void PlanCache::clear() {
    plans_.clear();
    bytes_ = 0;
}

} // namespace stretto::calls
