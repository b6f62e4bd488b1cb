// SPDX-License-Identifier: BSD-3-Clause
// The counts of calls whose ranks have unequal parts.  Each list of counts is kept once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "calls/request.hpp"

namespace stretto::calls {

// Any thread may call all functions.
class Shares {
public:
    // Puts these counts, one for each rank, into the request; if all are equal, just the one count.
    void give(Request &request, std::span<const std::size_t> counts);

    // The part of the hash that ranks exchange; never 0.
    static std::uint32_t mark(std::uint64_t hash) {
        const auto low = static_cast<std::uint32_t>(hash);
        return low == 0 ? 1 : low;
    }
    // "3 4 5", or "" for the mark of counts that this rank has not seen.
    std::string words(std::uint32_t mark) const;

private:
    // A program whose counts never repeat would fill the memory.
    static constexpr std::size_t kMostElements = 1 << 19;

    using Pointer = std::shared_ptr<const RankCounts>;
    using Counts = std::span<const std::uint64_t>;
    struct Before {
        using is_transparent = void;
        static Counts counts(const Pointer &kept) { return kept->counts; }
        static Counts counts(Counts given) { return given; }
        bool operator()(const auto &a, const auto &b) const {
            return std::ranges::lexicographical_compare(counts(a), counts(b));
        }
    };

    Pointer of(Counts counts);

    mutable std::mutex mutex_; // guards the members below
    std::set<Pointer, Before> entries_;
    std::size_t elements_ = 0;
    std::uint32_t ids_ = 0;
};

} // namespace stretto::calls
