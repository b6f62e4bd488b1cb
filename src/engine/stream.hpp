// SPDX-License-Identifier: BSD-3-Clause
// This rank's publish streams, and the part of them that is still to be read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/plan.hpp"
#include "transport/remote/remote_peers.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::engine {

using transport::Extent;

// Progress as one number: call number and complete steps; a call has fewer than kMostSteps steps.
inline constexpr int kStepBits = 24;
inline constexpr std::uint64_t kMostSteps = std::uint64_t{1} << kStepBits;
constexpr std::uint64_t progress_of(std::uint64_t sequence, std::uint64_t steps) {
    return (sequence << kStepBits) | steps;
}
constexpr std::uint64_t call_of(std::uint64_t progress) {
    return progress >> kStepBits;
}

// Finds the part of the rings that may be written again.  Cells are released in the order of the
// stream, when all their readers report the step that took them.  Progress is not read before room
// is needed, for cells or for records of calls.  Small calls that all ranks have completed are
// released together: so they read the progress of others once in kFewCalls calls.
class Stream {
public:
    explicit Stream(transport::Segment &segment)
        : segment_(segment), ring_bytes_(segment.ring_bytes()), records_(kFewCalls) {}

    void add(const Plan &plan, const Extent &base, std::uint64_t sequence) {
        if (!plan.tiles) {
            add({&plan, base, progress_of(sequence, 0), 0, 1});
            return;
        }
        const Tiles &tiles = *plan.tiles;
        add({&plan, base, progress_of(sequence, 0), 0, tiles.count});
        add({tiles.last.get(), base + tiles.own * tiles.count,
             progress_of(sequence, std::uint64_t{tiles.count} * tiles.span), 0, 1});
    }

    // Whether bytes up to these stream positions may be written; 0: no bytes.
    bool room(const Extent &end) { return fits(end) || reclaim(end, false); }

    // Whether every reader of a cell has reported that it took it.  `before`: the progress of a
    // rank that has not begun with the plan.
    bool taken(const Plan &plan, std::uint64_t before, const Step &step) const {
        return holder(plan, before, step) < 0;
    }
    // The same, for a cell that lies in memory of the caller: readers on other hosts are asked.
    bool given_back(const Plan &plan, std::uint64_t before, const Step &step) const {
        if (taken(plan, before, step))
            return true;
        if (segment_.remote_peers() != nullptr)
            ask(plan, before, step, transport::RemotePeers::Need::buffer);
        return false;
    }

    // Whether readers that have not taken a cell were found since forget_holders().
    bool has_holders() const { return has_holders_; }
    void forget_holders() { has_holders_ = false; }

    // The first reader of a cell that has not; -1 if there is none.
    int holder(const Plan &plan, std::uint64_t before, const Step &step) const {
        for (std::uint32_t r = 0; r < step.readers; ++r) {
            const StepReader &reader = plan.readers[step.first_reader + r];
            if (segment_.lines(reader.rank).progress.load(std::memory_order_acquire) <
                before + reader.step + 1u) {
                has_holders_ = true;
                return reader.rank;
            }
        }
        return -1;
    }

    // The rank that has not taken the oldest live cell; -1 if there is none.
    int holder() {
        if (settle())
            return -1;
        const Record &oldest = record(first_);
        return holder(*oldest.plan, oldest.before,
                      oldest.plan->steps[oldest.plan->cells[oldest.cells].step]);
    }

    // Whether no cell is live: all published cells have been taken.
    bool settle() {
        (void)reclaim({}, true);
        return first_ == last_;
    }

private:
    struct Record {
        const Plan *plan;
        Extent base;
        std::uint64_t before; // progress of a rank that has not begun with it
        std::size_t cells;    // released
        std::uint32_t tiles;  // how many more times the plan is played
    };
    static constexpr std::size_t kFewCalls = 64; // their records stay in the first cache

    void add(const Record &added) {
        if (added.plan->cells.empty())
            return;
        if (last_ - first_ == records_.size()) {
            release_completed(added.base);
            if (last_ - first_ > records_.size() / 2)
                grow();
        }
        record(last_++) = added;
    }

    // Releases the calls that all ranks have completed.  `end`: where the last record ends.
    void release_completed(const Extent &end) {
        std::uint64_t least = ~std::uint64_t{0};
        for (int rank = 0; rank < segment_.ranks(); ++rank)
            least = std::min(least, segment_.lines(rank).progress.load(std::memory_order_acquire));
        while (first_ != last_ && call_of(record(first_).before) < call_of(least))
            ++first_;
        if (const Extent &kept = first_ != last_ ? record(first_).base : end;
            released_.cells < kept.cells)
            released_ = kept;
    }

    // Their number is a power of two.
    Record &record(std::uint64_t index) { return records_[index & (records_.size() - 1)]; }

    bool fits(const Extent &end) const {
        return end.cells <= released_.cells + ring_bytes_ &&
               end.bulk <= released_.bulk + ring_bytes_;
    }

    // Frees all cells that have been taken.  If that is not enough, asks other hosts for their
    // progress.
    bool reclaim(const Extent &end, bool all) {
        while (first_ != last_) {
            Record &oldest = record(first_);
            for (; oldest.cells < oldest.plan->cells.size(); ++oldest.cells) {
                const PublishedCell &cell = oldest.plan->cells[oldest.cells];
                const Step &step = oldest.plan->steps[cell.step];
                if (!taken(*oldest.plan, oldest.before, step)) {
                    const bool enough = fits(end);
                    if (transport::RemotePeers *remote_peers = segment_.remote_peers();
                        remote_peers != nullptr && (all || !enough)) {
                        remote_peers->push_parts();
                        ask(*oldest.plan, oldest.before, step, transport::RemotePeers::Need::room);
                    }
                    return enough;
                }
                released_ = oldest.base + cell.end;
            }
            if (oldest.tiles > 1) {
                --oldest.tiles;
                oldest.base = oldest.base + oldest.plan->tiles->own;
                oldest.before += oldest.plan->tiles->span;
                oldest.cells = 0;
                continue;
            }
            ++first_;
        }
        return fits(end);
    }

    // Ranks on other hosts report their progress when they are asked.
    void ask(const Plan &plan, std::uint64_t before, const Step &step,
             transport::RemotePeers::Need need) const {
        for (std::uint32_t r = 0; r < step.readers; ++r) {
            const StepReader &reader = plan.readers[step.first_reader + r];
            const std::uint64_t awaited = before + reader.step + 1u;
            if (!segment_.here(reader.rank) &&
                segment_.lines(reader.rank).progress.load(std::memory_order_acquire) < awaited)
                segment_.remote_peers()->ask(reader.rank, awaited, need);
        }
    }

    void grow() {
        std::vector<Record> larger(2 * records_.size());
        for (std::uint64_t i = first_; i != last_; ++i)
            larger[i & (larger.size() - 1)] = record(i);
        records_ = std::move(larger);
    }

    transport::Segment &segment_;
    const std::uint64_t ring_bytes_;
    Extent released_; // stream positions up to which the rings may be written again
    std::vector<Record> records_;
    std::uint64_t first_ = 0, last_ = 0;
    mutable bool has_holders_ = false;
};

} // namespace stretto::engine
