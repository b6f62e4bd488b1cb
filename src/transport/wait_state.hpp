// SPDX-License-Identifier: BSD-3-Clause
// Where a rank stands that has waited long, in one word of its lines: for those who are to say why
// nobody comes.
//
// Only who has waited for milliseconds says so, and takes it back when the wait is over.  So the
// word costs nothing where time matters, and a rank that does not wait, or not long, has none.
#pragma once

#include <algorithm>
#include <cstdint>

namespace stretto::transport {

struct WaitState {
    enum Kind : std::uint8_t {
        nowhere,  // waits for nothing, or not long
        step,     // in a step of a collective, for what another rank has to do
        incoming, // for a message from another rank
        outgoing, // for another rank to take a message
    };
    static constexpr int kAnyRank = -1;
    static constexpr int kItselfRank =
        0x1fffe; // a step: its own copy or reduction, which is issued

    Kind kind = nowhere;
    int awaited = kAnyRank;       // rank
    std::uint32_t at = 0, of = 0; // step, counted from 1, and how many there are

    // kind 2 bits, awaited + 1: 17, at: 22, of: 22; above them kAnsweredFlag.
    std::uint64_t packed() const {
        return static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(awaited + 1) << 2 |
               std::uint64_t{std::min(at, kMostSteps)} << 19 |
               std::uint64_t{std::min(of, kMostSteps)} << 41;
    }
    static WaitState unpacked(std::uint64_t word) {
        return {static_cast<Kind>(word & 3), static_cast<int>(word >> 2 & 0x1ffff) - 1,
                static_cast<std::uint32_t>(word >> 19 & kMostSteps),
                static_cast<std::uint32_t>(word >> 41 & kMostSteps)};
    }
    friend bool operator==(const WaitState &, const WaitState &) = default;

    // In the mirror of a rank on another host: it has been asked, and this is its answer.
    static constexpr std::uint64_t kAnsweredFlag = std::uint64_t{1} << 63;

private:
    static constexpr std::uint32_t kMostSteps = (1u << 22) - 1;
};

} // namespace stretto::transport
