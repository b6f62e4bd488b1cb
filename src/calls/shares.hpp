// SPDX-License-Identifier: BSD-3-Clause
// The counts of calls whose ranks have unequal parts.  Each list of counts is kept once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "calls/request.hpp"

namespace stretto::calls {

class Shares {
public:
    struct Entry {
        std::uint32_t id = 0;   // known to this rank only, never used again; 0: equal shares
        std::uint64_t hash = 0; // of the counts, so equal on ranks with equal counts
        const std::vector<std::uint64_t> *counts = nullptr;
    };

    // Puts these counts, one for each rank, into the request; if all are equal, just the one count.
    // The request must be run or started before another one is given counts.
    void give(Request &request, std::span<const std::size_t> counts);
    // Called by the thread that calls collectives.
    const Entry &of(std::span<const std::size_t> counts);
    // The entry that of() gave last.
    const Entry &last() const { return *last_; }

    // The part of the hash that ranks exchange; never 0.
    static std::uint32_t mark(std::uint64_t hash) {
        const auto low = static_cast<std::uint32_t>(hash);
        return low == 0 ? 1 : low;
    }
    // "3 4 5", or "" for the mark of counts that this rank has not seen.  Any thread may call this.
    std::string words(std::uint32_t mark) const;

private:
    // A program whose counts never repeat would fill the memory.
    static constexpr std::size_t kMostElements = 1 << 19;

    mutable std::mutex mutex_; // guards entries_ and elements_
    std::map<std::vector<std::uint64_t>, Entry> entries_;
    std::size_t elements_ = 0;

    const Entry *last_ = nullptr;
    std::uint32_t ids_ = 0;
};

} // namespace stretto::calls
