// SPDX-License-Identifier: BSD-3-Clause
// The wait state of a rank, in one word of its lines: where it waits and for which rank.  Other
// ranks read it to report why a call makes no progress.  A rank writes the word only after it has
// waited for milliseconds, and clears it when the wait is over.  So it costs nothing in short
// calls.
#pragma once

#include <algorithm>
#include <cstdint>

namespace stretto::transport {

struct WaitState {
    enum Kind : std::uint8_t {
        nowhere,  // does not wait, or not long
        step,     // in a step of a collective, for another rank
        incoming, // for a message from another rank
        outgoing, // for another rank to take a message
    };
    static constexpr int kAnyRank = -1;
    static constexpr int kItselfRank =
        0x1fffe; // waits for its own copy or reduction, which an executor performs
    static constexpr int kDriverRank =
        0x1fffd; // to begin one: the driver lets it wait for another thread of its process

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

    // In the mirror of a rank on another host: this is its answer to a question.
    static constexpr std::uint64_t kAnsweredFlag = std::uint64_t{1} << 63;

private:
    static constexpr std::uint32_t kMostSteps = (1u << 22) - 1;
};

} // namespace stretto::transport
