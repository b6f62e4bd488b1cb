// SPDX-License-Identifier: BSD-3-Clause
// Leaves the job, also when the communicator could not be made.
#pragma once

#include <cstdint>

#include "bootstrap/join.hpp"

namespace stretto::comm {

class Membership {
public:
    // `joined` outlives this.
    Membership(bootstrap::Joined &joined, int rank) : joined_(joined), rank_(rank) {}
    ~Membership() {
        constexpr std::uint64_t kFarewellNs = 2'000'000'000; // for packets that are on their way
        if (joined_.linked_peers != nullptr)
            joined_.linked_peers->leave(kFarewellNs);
        joined_.registration.reset();
        joined_.reach.watch.reset();
        joined_.segment->leave(rank_);
    }
    Membership(const Membership &) = delete;
    Membership &operator=(const Membership &) = delete;

private:
    bootstrap::Joined &joined_;
    const int rank_;
};

} // namespace stretto::comm
