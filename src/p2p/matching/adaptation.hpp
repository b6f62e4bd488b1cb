// SPDX-License-Identifier: BSD-3-Clause
// When a queue changes its scheme, and to which.
//
//            searches take long, and an index makes them shorter
//   list ────────────────────────────────────────────────────────▶ index ──┐ they are longer than
//    ▲                                                             │  ▲    │ its items let expect:
//    └─────────────────────────────────────────────────────────────┘  └────┘ a better index
//            a list would answer nearly all searches at once
//
// The queue counts searches and looks, and asks for a review after every `calls` searches.  A
// review ends at once if searches are short.  Otherwise it makes each index that may do from the
// items that wait, which shows what a search costs in it: so one source, one tag, many of both and
// wildcards need no rules of their own.  An index that takes more memory than the quarter bins of
// both queues together, and more than a quarter of a pointer for each item, has to save more.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "p2p/matching/match_index.hpp"

namespace stretto::p2p {

class Adaptation {
public:
    // A search of a list up to this many looks is short.
    static constexpr std::uint32_t kShortLooks = 5;

    // What the searches since the last review tell.
    struct Window {
        std::uint64_t searches = 0, looks = 0;
        std::uint64_t indexed = 0;    // searches of an index with items
        std::uint64_t list_looks = 0; // about those that a list would have taken for them
        // Searches that an index can answer, and long ones: with source and tag, with a source
        // alone, without a source.
        std::array<std::uint64_t, 3> kinds{};
        std::uint32_t deepest = 0; // items
    };
    // The oldest item of a queue, and how many there are.
    struct Items {
        Item *oldest = nullptr;
        std::uint32_t count = 0;
    };
    explicit Adaptation(const MatchingOptions &options)
        : ranks_(static_cast<std::size_t>(std::max(options.ranks, 1))), attempts_(options.attempts),
          calls_(std::max(options.calls, 1u)), most_orders_(options.most_orders) {}

    // Replaces the index of a queue, if that pays; an empty index is a list.  True if it did.
    bool review(const Window &window, const Items &items, MatchIndex &index);
    std::uint64_t searches_until_review() const { return wait_; }

private:
    struct Choice {
        MatchIndex index;
        double looks = 0; // that a search takes
    };
    bool list_would_do(const Window &window);
    Choice best(const Window &window, const Items &items) const;

    const std::size_t ranks_;
    const std::uint32_t attempts_, calls_, most_orders_;
    std::uint64_t wait_ = calls_;
    double expected_looks_ = 0;                              // of a search in the index at hand
    std::uint64_t indexed_ = 0, empty_ = 0, list_looks_ = 0; // since the last judgement
    std::uint32_t short_reviews_ = 0; // in a row, at which a list would have done
    std::uint32_t short_needed_ = 4;  // of them, to go back
    std::uint32_t in_vain_ = 0;       // reviews in a row that found nothing better
};

} // namespace stretto::p2p
