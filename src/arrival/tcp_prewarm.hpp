// SPDX-License-Identifier: BSD-3-Clause
// To which ranks a rank sends bytes that nobody needs before it comes to its next call, and when
// (prewarm.hpp).
//
// When the rank leaves a call, it names the ranks to which it will send if the same plan runs the
// next one.  If another plan is decided while the rank computes, other ranks get such bytes, at
// once if it is time.  Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/plan.hpp"

namespace stretto::arrival {

class TcpPrewarm {
public:
    using Readers = std::span<const engine::StepReader>; // of a plan: whom it sends to
    // Ranks of a communicator that are on this rank's host have no connections; by rank.
    explicit TcpPrewarm(std::vector<bool> here) : here_(std::move(here)) {}

    // From this time of now_ns() on they get so many bytes, together.
    void begin(std::uint64_t time, Readers to, std::size_t bytes);
    // These get them instead, without those that have had them.  When that is; nothing if there is
    // nothing to warm.
    std::optional<std::uint64_t> turn_to(Readers to);
    // The rank has come.
    void end();

    struct Due {
        std::vector<int> ranks;
        std::size_t bytes = 0; // to each
    };
    // What is to be sent, once.
    Due due(std::uint64_t now);

private:
    std::vector<int> ranks_of(Readers readers) const;

    const std::vector<bool> here_;
    std::mutex mutex_;
    std::uint64_t time_ = UINT64_MAX; // that is none
    std::size_t bytes_ = 0;
    std::vector<int> ranks_, warm_; // to come; that have been sent theirs; sorted
};

} // namespace stretto::arrival
