// SPDX-License-Identifier: BSD-3-Clause
// The counts of calls whose ranks have unequal parts, each list of them kept once.
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
        std::uint32_t id = 0;   // of this rank's, never used again; 0: equal shares
        std::uint64_t hash = 0; // equal on all ranks whose counts are
        const std::vector<std::uint64_t> *counts = nullptr;
    };

    // Gives the request these counts, one for each rank, if they are unequal; else their count.
    // It must be played or started before another is given counts.
    void give(Request &request, std::span<const std::size_t> counts);
    // By the thread that calls collectives.
    const Entry &of(std::span<const std::size_t> counts);
    // The entry that of() gave last has this id.
    const Entry &last() const { return *last_; }

    // What ranks tell one another of their counts: never 0.
    static std::uint32_t mark(std::uint64_t hash) {
        const auto low = static_cast<std::uint32_t>(hash);
        return low == 0 ? 1 : low;
    }
    // "3 4 5", or "" for the mark of counts that this rank has not seen.  By any thread.
    std::string words(std::uint32_t mark) const;

private:
    // A program whose counts never repeat would fill the memory.
    static constexpr std::size_t kMostElements = 1 << 19;

    mutable std::mutex mutex_; // of what follows
    std::map<std::vector<std::uint64_t>, Entry> entries_;
    std::size_t elements_ = 0;

    const Entry *last_ = nullptr;
    std::uint32_t ids_ = 0;
};

} // namespace stretto::calls
