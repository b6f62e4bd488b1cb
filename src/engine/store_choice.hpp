// SPDX-License-Identifier: BSD-3-Clause
// Chooses the fastest way to write this rank's cells.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"

namespace stretto::engine {

// Plain stores into cells that stay in the cache, or streaming stores: whichever is faster on this
// machine at present.
//
// A plain store to a line that another core holds costs 2 to 7 ns where the cores share a cache and
// three to four times as much where they do not; a streaming store costs 2 to 5 ns in both, but
// what it wrote takes the reader 2 ns a line longer.  A virtual machine can move between the two
// within seconds, so the writer times its own copies of both kinds (which cost the same but for the
// store) and now and then tries the other kind.  The decision is local; it makes no difference to
// readers.
//
// Where plain stores are faster, the processor's string instruction is faster still.  Its own time
// cannot be used: it hands its lines to the memory system and ends before they have arrived.  So
// while it is in use, both other kinds are tried now and then.
class StoreChoice {
public:
    static constexpr std::uint32_t kLeastBytes = 2048; // bytes of a slice worth choosing for

    enum class Way { plain, streaming, strings };

    // `strings`: whether they are possible.
    Way favoured(bool strings) const {
        return streaming_ ? Way::streaming : strings ? Way::strings : Way::plain;
    }
    // Whether a copy of `bytes` may be timed.  Reading the clock twice takes up to 20 ns, so every
    // eighth short copy is enough.
    bool times(std::uint32_t bytes) { return bytes >= kLongBytes || ++short_ % 8 == 0; }
    // The way for a copy that may be timed and begins at `ticks`: now and then another one, as a
    // probe.
    Way way(std::uint64_t ticks, bool strings) {
        if (ns_per_line_[0] == 0 || ns_per_line_[1] == 0)
            return ns_per_line_[0] == 0 ? Way::plain : Way::streaming;
        if (++asked_ < kProbeEveryCopies || ticks - probed_ < probe_ticks_)
            return favoured(strings);
        asked_ = 0;
        probed_ = ticks;
        probes_streaming_ = strings ? !probes_streaming_ : !streaming_;
        return probes_streaming_ ? Way::streaming : Way::plain;
    }

    // A copy of `bytes`, not by strings, took `ticks`.
    void saw(Way way, std::uint32_t bytes, std::uint64_t ticks) {
        double &known = ns_per_line_[way == Way::streaming];
        const double now = static_cast<double>(ticks) * ns_per_tick_ * 64.0 / bytes;
        // A sample that is far off was probably interrupted; a new state shows soon enough.
        known = known == 0 ? now : known + (std::min(now, 4 * known) - known) / 4;
        if (ns_per_line_[0] != 0 && ns_per_line_[1] != 0)
            streaming_ = ns_per_line_[0] > ns_per_line_[1] + kReaderPaysNs;
    }

private:
    static constexpr std::uint32_t kLongBytes = 32768;
    static constexpr std::uint32_t kProbeEveryCopies = 32; // timed copies, at least,
    static constexpr double kProbeAfterNs = 3e5; // the other kind may take three times as long
    static constexpr double kReaderPaysNs = 2.5; // per line
    double ns_per_line_[2] = {0, 0};             // plain, streaming; 0: not known yet
    bool streaming_ = false;
    bool probes_streaming_ = false; // the last probe
    double ns_per_tick_ = ns_per_tick();
    std::uint64_t probe_ticks_ = static_cast<std::uint64_t>(kProbeAfterNs / ns_per_tick_);
    std::uint64_t probed_ = 0; // when
    std::uint32_t asked_ = 0;  // since then
    std::uint32_t short_ = 0;  // copies
};

} // namespace stretto::engine
