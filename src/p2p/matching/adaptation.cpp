// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/matching/adaptation.hpp"

#include <bit>
#include <utility>

namespace stretto::p2p {

namespace {

// If a list would take fewer looks than this at a number of reviews in a row, it is better.  The
// number doubles each time, so that a queue whose length swings does not change all the time.
constexpr std::uint32_t kListLooks = 4;
constexpr std::uint32_t kMostReviews = 64;
constexpr std::uint64_t kEmptyDivisor = 16;
constexpr std::uint32_t kMostDoublings = 6; // of the searches between two reviews
// What a search costs beside its looks, in looks: to find the chain, and to keep two orders.
constexpr double kSourceLooks = 7, kHashLooks = 10;
// A larger index than those of quarter bins together has to save this many looks.
constexpr double kMemoryLooks = 2;

struct Candidate {
    Scheme scheme;
    std::size_t chains;
};

double overhead(const MatchIndex &index) {
    if (!index)
        return 0;
    return index.scheme() == Scheme::hash ? kHashLooks : kSourceLooks;
}

// The looks that a list takes for an item, in the mean over all items.
double in_list(const Adaptation::Items &items) {
    return (items.count + 1) / 2.0;
}

// Likewise with the index: searches that it cannot answer take as many looks as in a list.
double mean_looks(const MatchIndex &index, const Adaptation::Window &window,
                  const Adaptation::Items &items) {
    if (!index)
        return in_list(items);
    const auto [exact, any_tag, any_source] = window.kinds;
    const std::uint64_t no_key = any_source + (index.scheme() == Scheme::hash ? any_tag : 0);
    const double all =
        static_cast<double>(std::max<std::uint64_t>(exact + any_tag + any_source, 1));
    const double without = static_cast<double>(no_key) / all;
    return (1 - without) * index.mean_looks() + without * in_list(items);
}

} // namespace

// The best index of all that may do.
Adaptation::Choice Adaptation::best(const Window &window, const Items &items) const {
    // A power of two, so that a hash is made anew only if the queue is twice as long.
    const std::size_t deepest = std::bit_ceil(std::max(items.count, window.deepest));
    const std::array candidates{
        Candidate{Scheme::bins, (ranks_ + 3) / 4},  Candidate{Scheme::bins, (ranks_ + 1) / 2},
        Candidate{Scheme::by_source, ranks_},       Candidate{Scheme::hash, (deepest + 3) / 4},
        Candidate{Scheme::hash, (deepest + 1) / 2}, Candidate{Scheme::hash, deepest},
    };
    const std::size_t small = std::max((ranks_ + 1) / 2, (deepest + 3) / 4);
    Choice best;
    double least = 0;
    for (const Candidate &candidate : candidates) {
        Choice choice{MatchIndex(candidate.scheme, candidate.chains, most_orders_)};
        if (!choice.index) // no memory
            continue;
        choice.index.add_all(items.oldest);
        choice.looks = mean_looks(choice.index, window, items);
        const double cost =
            choice.looks + overhead(choice.index) + (candidate.chains > small ? kMemoryLooks : 0);
        if (!best.index || cost < least) {
            least = cost;
            best = std::move(choice);
        }
    }
    return best;
}

// Whether it would have done for long.
bool Adaptation::list_would_do(const Window &window) {
    // A search of an empty queue costs the same in all schemes, and tells little: an index that is
    // used in every other phase of a program stays, one that is not used at all is left in the end.
    indexed_ += window.indexed;
    empty_ += window.searches - window.indexed;
    list_looks_ += window.list_looks;
    const std::uint64_t searches = indexed_ + empty_ / kEmptyDivisor;
    if (searches < calls_)
        return false;
    short_reviews_ = list_looks_ < searches * kListLooks ? short_reviews_ + 1 : 0;
    indexed_ = empty_ = list_looks_ = 0;
    if (short_reviews_ < short_needed_)
        return false;
    short_reviews_ = 0;
    return true;
}

bool Adaptation::review(const Window &window, const Items &items, MatchIndex &index) {
    wait_ = calls_;
    const double looks = static_cast<double>(window.looks) / static_cast<double>(window.searches);
    if (index && list_would_do(window)) {
        short_needed_ = std::min(2 * short_needed_, kMostReviews);
        index = MatchIndex();
        return true;
    }
    if (looks < (index ? 2 * expected_looks_ + 2 : attempts_)) {
        in_vain_ = 0;
        return false;
    }
    if (items.count < looks / 2) { // fewer than the searches met: they would tell little
        wait_ = calls_ / 8 + 1;
        return false;
    }
    const double at_hand = mean_looks(index, window, items);
    Choice choice = best(window, items);
    // The searches may take more looks than the mean over all items, or fewer; then they will in
    // another index, too.
    const double then = std::max(choice.looks / at_hand * looks, 1.0);
    const bool better =
        choice.index && then + overhead(choice.index) < looks + overhead(index) &&
        (choice.index.scheme() != index.scheme() || choice.index.chains() != index.chains());
    if (better) {
        index = std::move(choice.index);
        expected_looks_ = then;
        in_vain_ = 0;
    } else {
        wait_ = std::uint64_t{calls_} << std::min(++in_vain_, kMostDoublings);
    }
    if (index)
        index.add_all(items.oldest); // the others have used its links
    return better;
}

} // namespace stretto::p2p
