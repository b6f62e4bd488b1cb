// SPDX-License-Identifier: BSD-3-Clause
// Which ranks share memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stretto::transport {

// Ranks on one host share memory, by evidence and not by name (comm/bootstrap.hpp).  Seen from one
// of them.
class Placement {
public:
    Placement() = default; // one host: everybody is here
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
    // Ranks below `rank` that are on its side: here, or elsewhere.
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
    std::int32_t host_ = 0;             // this one
};

} // namespace stretto::transport
