// SPDX-License-Identifier: BSD-3-Clause
// Our own publish streams: what of them is still to be read, and how best to write them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "engine/plan.hpp"
#include "reduce/strings.hpp"
#include "transport/segment.hpp"

namespace stretto::engine {

using transport::Extent;

// How a rank tells how far it is: call number and complete steps.
constexpr std::uint64_t progress_of(std::uint64_t sequence, std::uint64_t steps) {
    return (sequence << 24) | steps;
}

// Which part of the rings may be written again.
//
// Cells are released in the order of the stream, when all their readers report the step that took
// them.  Nothing is asked before room is needed, and a call that nobody can leave before all have
// entered releases everything before it at once: small calls never ask.
class Stream {
public:
    explicit Stream(transport::Segment &segment)
        : segment_(segment), ring_bytes_(segment.ring_bytes()), records_(4) {}

    void add(const Plan &plan, const Extent &base, std::uint64_t sequence, bool overlaps) {
        if (plan.cells.empty())
            return;
        if (last_ - first_ == records_.size())
            grow();
        record(last_++) = {&plan, base, sequence, 0, overlaps};
    }

    // Everybody has entered call `sequence`, which began at `base`.  So the calls before it are
    // complete everywhere, but for those that overlap.
    void release_before(std::uint64_t sequence, const Extent &base) {
        for (; first_ != last_ && record(first_).sequence < sequence; ++first_)
            if (record(first_).overlaps)
                return;
        if (released_.cells < base.cells)
            released_ = base;
    }

    // Whether bytes up to these stream positions may be written; 0 asks nothing.
    bool room(const Extent &end) { return fits(end) || reclaim(end); }

    // Whether every reader of a cell has reported that it took it.
    bool taken(const Plan &plan, std::uint64_t sequence, const Step &step) const {
        for (std::uint32_t r = 0; r < step.readers; ++r) {
            const StepReader &reader = plan.readers[step.first_reader + r];
            if (segment_.lines(reader.rank).progress.load(std::memory_order_acquire) <
                progress_of(sequence, reader.step + 1u))
                return false;
        }
        return true;
    }

    // Whether nothing is live: all that was published has been taken.
    bool settle() {
        (void)reclaim({});
        return first_ == last_;
    }

private:
    struct Record {
        const Plan *plan;
        Extent base;
        std::uint64_t sequence;
        std::size_t cells; // released
        bool overlaps;
    };

    // Their number is a power of two.
    Record &record(std::uint64_t index) { return records_[index & (records_.size() - 1)]; }

    bool fits(const Extent &end) const {
        return end.cells <= released_.cells + ring_bytes_ &&
               end.bulk <= released_.bulk + ring_bytes_;
    }

    bool reclaim(const Extent &end) {
        while (first_ != last_) {
            Record &oldest = record(first_);
            for (; oldest.cells < oldest.plan->cells.size(); ++oldest.cells) {
                const PublishedCell &cell = oldest.plan->cells[oldest.cells];
                if (!taken(*oldest.plan, oldest.sequence, oldest.plan->steps[cell.step]))
                    return fits(end);
                released_ = oldest.base + cell.end;
            }
            ++first_;
        }
        return fits(end);
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
};

// Stores into cells that stay in the cache, or streaming ones: whichever the machine answers better
// to, now.
//
// A plain store to a line that another core holds costs 2 to 7 ns where the cores share a cache and
// three to four times as much where they do not; one by the string instruction, for processors that
// have a fast one, 1 ns and about 4; a streaming store costs 2 to 5 ns in both, but what it wrote
// takes the reader 2 ns a line longer.  A virtual machine can move between the two within seconds,
// so the writer times its own copies of both kinds (which cost the same but for the store) and now
// and then tries the other kind.  The decision is local; readers do not care.
class StoreChoice {
public:
    static constexpr std::uint32_t kLeast = 2048; // bytes of a slice worth choosing for

    bool favours_streaming() const { return streaming_; }
    // Whether a copy of `bytes` is to be timed.  Two looks at the clock take up to 20 ns: of short
    // copies, every eighth is enough.
    bool times(std::uint32_t bytes) { return bytes >= kLong || ++short_ % 8 == 0; }
    // For a copy that begins at `ticks` and whose time will be told: the other kind now and then.
    bool streaming(std::uint64_t ticks) {
        const bool due = ++asked_ >= kProbeEvery && ticks - probed_ >= probe_ticks_;
        if (!due && ns_per_line_[!streaming_] != 0)
            return streaming_;
        asked_ = 0;
        probed_ = ticks;
        return !streaming_;
    }

    // A copy of `bytes` took `ticks`.
    void saw(bool streaming, std::uint32_t bytes, std::uint64_t ticks) {
        double &known = ns_per_line_[streaming];
        const double now = static_cast<double>(ticks) * ns_per_tick_ * 64.0 / bytes;
        // A sample that is far off has been interrupted; a new state shows soon enough.
        known = known == 0 ? now : known + (std::min(now, 4 * known) - known) / 4;
        if (ns_per_line_[true] != 0 && ns_per_line_[false] != 0)
            streaming_ = ns_per_line_[false] > ns_per_line_[true] + reader_pays_;
    }

private:
    static constexpr std::uint32_t kLong = 32768;
    static constexpr std::uint32_t kProbeEvery = 32; // timed copies, at least,
    static constexpr double kProbeAfter = 3e5; // and ns: the other kind may take thrice as long
    double ns_per_line_[2] = {0, 0};           // plain, streaming; 0: not known yet
    const double reader_pays_ = reduce::string_copies() ? 0.5 : 2.5; // ns a line, for streaming
    bool streaming_ = false;
    double ns_per_tick_ = ns_per_tick();
    std::uint64_t probe_ticks_ = static_cast<std::uint64_t>(kProbeAfter / ns_per_tick_);
    std::uint64_t probed_ = 0; // when
    std::uint32_t asked_ = 0;  // since then
    std::uint32_t short_ = 0;  // copies
};

} // namespace stretto::engine
