// SPDX-License-Identifier: BSD-3-Clause
// When a queue changes its scheme, and to which.
//
//            searches take long, and an index makes them shorter
//   list ────────────────────────────────────────────────────────▶ index ──┐ they are longer than
//    ▲                                                             │  ▲    │ its items let expect:
//    └─────────────────────────────────────────────────────────────┘  └────┘ a better index
//            a list would answer nearly all searches at once
//
// The queue counts searches and looks, and asks for a review after every `calls` searches, or once
// they took the looks that make a review worthwhile.  A review ends at once if searches are short.
// Otherwise it estimates from a sample of the items that wait what a search costs in each index
// that may do: so one source, one tag, many of both and wildcards need no rules of their own.
//
// The looks before the first review are lost, and so is the work of making an index if the queue
// has no use for it afterwards.  So a queue begins to look for an index once it has lost about as
// much as making one costs, and leaves it only after as many searches without a use for it: in the
// worst case that costs a small multiple of what a queue that knew the future would pay.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "p2p/matching/match_index.hpp"
#include "p2p/matching/sample.hpp"

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
    explicit Adaptation(const MatchingOptions &options)
        : ranks_(static_cast<std::size_t>(std::max(options.ranks, 1))), attempts_(options.attempts),
          calls_(std::max(options.calls, 1u)), most_orders_(options.most_orders) {}

    // Replaces the index of a queue, if that pays; an empty index is a list.  True if it did.
    bool review(const Window &window, Items &items, MatchIndex &index);
    std::uint64_t searches_until_review() const { return wait_; }
    // Whether a review is due before that.  `looks`: of the searches since the last review;
    // `deepest`: the most items in that time.  It is due if the mean of `calls` searches will be
    // long whatever the next ones take, and if making an index costs little beside these looks.
    bool is_due(std::uint64_t looks, std::uint32_t deepest) const {
        return looks >> in_vain_ >= std::max(due_looks_, kDueFactor * std::uint64_t{deepest});
    }

private:
    // What a search costs, in looks at a list.
    struct Estimate {
        double looks = 0;    // in the mean over all items
        double overhead = 0; // beside them
    };
    struct Choice {
        Chains chains;
        Estimate estimate;
    };
    static constexpr std::uint64_t kDueFactor = 2;

    static Estimate estimate(const Chains &chains, const Window &window, Items &items);
    bool list_would_do(const Window &window);
    Choice best(const Window &window, Items &items) const;

    const std::size_t ranks_;
    const std::uint32_t attempts_, calls_, most_orders_;
    const std::uint64_t due_looks_ = std::uint64_t{calls_} * attempts_;
    std::uint64_t wait_ = calls_;
    double expected_looks_ = 0;                              // of a search in the index at hand
    std::uint32_t indexed_items_ = 0;                        // when it was selected
    std::uint64_t indexed_ = 0, empty_ = 0, list_looks_ = 0; // since the last judgement
    std::uint64_t short_searches_ = 0; // in a row, for which a list would have done
    std::uint32_t returns_ = 0;        // to a list
    std::uint32_t in_vain_ = 0;        // reviews in a row that found nothing better
};

} // namespace stretto::p2p
