// SPDX-License-Identifier: BSD-3-Clause
// How best to write our own cells.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "reduce/strings.hpp"

namespace stretto::engine {

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
