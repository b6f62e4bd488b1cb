// SPDX-License-Identifier: BSD-3-Clause
// The ranks that share memory with this one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stretto::transport {

// The placement of ranks, as seen from one of them.  Ranks count as on one host if they can share
// memory; the names of hosts do not matter (bootstrap/join.hpp).
class Placement {
public:
    Placement() = default; // one host: all ranks are here
    Placement(std::vector<std::int32_t> host_of, std::int32_t host)
        : host_of_(std::move(host_of)), host_(host) {}

    bool one_host() const {
        return std::all_of(host_of_.begin(), host_of_.end(),
                           [this](std::int32_t host) { return host == host_; });
    }
    bool here(int rank) const {
        return host_of_.empty() || host_of_[static_cast<std::size_t>(rank)] == host_;
    }
    std::int32_t host_of(int rank) const {
        return host_of_.empty() ? 0 : host_of_[static_cast<std::size_t>(rank)];
    }
    int hosts() const {
        return host_of_.empty() ? 1 : 1 + *std::max_element(host_of_.begin(), host_of_.end());
    }
    // The number of ranks below `rank` that are, like it, here or elsewhere.
    int place(int rank) const {
        if (host_of_.empty())
            return rank;
        int before = 0;
        for (int other = 0; other < rank; ++other)
            before += here(other) == here(rank) ? 1 : 0;
        return before;
    }
    int ranks_here(int ranks) const {
        int number = 0;
        for (int rank = 0; rank < ranks; ++rank)
            number += here(rank) ? 1 : 0;
        return number;
    }

private:
    std::vector<std::int32_t> host_of_; // of each rank; empty: one host
    std::int32_t host_ = 0;             // of this rank
};

} // namespace stretto::transport
