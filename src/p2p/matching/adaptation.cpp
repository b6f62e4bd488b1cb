// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/matching/adaptation.hpp"

#include <bit>
#include <limits>
#include <utility>

namespace stretto::p2p {

namespace {

// If a list would take fewer looks than this for a number of searches in a row, it is better.  The
// number doubles each time, so that a queue whose length swings does not change all the time.
constexpr std::uint32_t kListLooks = 4;
constexpr std::uint64_t kListReviews = 4; // at least, that find so
constexpr std::uint32_t kMostListDoublings = 4;
constexpr std::uint64_t kEmptyDivisor = 16;
constexpr std::uint32_t kMostReviewDoublings = 6; // of the searches between two reviews
// What a search of an index costs beside its looks, in looks at a list: it has to find the chain,
// and to keep two orders.  A look that is not the first costs more than one at a list: the
// processor does not foresee it, and the item is elsewhere in memory.
constexpr double kSourceLooks = 5, kHashLooks = 9, kSecondLooks = 6;
// An index that is larger than quarter bins of both queues has to save so many looks for each
// pointer more that it has for an item.
constexpr double kMemoryLooks = 2;

double to_find(const Chains &chains) {
    return chains.scheme() == Scheme::hash ? kHashLooks : kSourceLooks;
}

// The looks that a list takes for an item, in the mean over all items.
double in_list(const Items &items) {
    return (items.count() + 1) / 2.0;
}

} // namespace

// Searches that the index cannot answer take as many looks as in a list.
Adaptation::Estimate Adaptation::estimate(const Chains &chains, const Window &window,
                                          Items &items) {
    if (chains.scheme() == Scheme::list)
        return {in_list(items), 0};
    const auto [exact, any_tag, any_source] = window.kinds;
    const std::uint64_t no_key = any_source + (chains.scheme() == Scheme::hash ? any_tag : 0);
    const double all =
        static_cast<double>(std::max<std::uint64_t>(exact + any_tag + any_source, 1));
    const double without = static_cast<double>(no_key) / all;
    const double looks = items.sample().mean_looks(chains);
    return {(1 - without) * looks + without * in_list(items),
            (1 - without) * (to_find(chains) + kSecondLooks * std::min(looks - 1, 1.0))};
}

// The best index of all that may do.
Adaptation::Choice Adaptation::best(const Window &window, Items &items) const {
    const std::size_t deepest = std::max({items.count(), window.deepest, 1u});
    // Quarter bins of both queues together, and a pointer for two items: these are a seventh of
    // what an item needs anyway.
    const std::size_t bins = (ranks_ + 1) / 2, most = bins + (deepest + 1) / 2;
    const std::size_t small = std::max(bins, (deepest + 3) / 4);
    // Those with the shortest chains first: often they leave nothing to gain.
    const std::array candidates{
        Chains(Scheme::by_source, ranks_),
        Chains(Scheme::bins, (ranks_ + 1) / 2),
        Chains(Scheme::bins, (ranks_ + 3) / 4),
        Chains(Scheme::hash, std::min(std::bit_ceil(deepest), most)),
        Chains(Scheme::hash, (deepest + 1) / 2),
        Chains(Scheme::hash, (deepest + 3) / 4),
    };
    Choice best;
    double least = std::numeric_limits<double>::infinity();
    for (const Chains &chains : candidates) {
        const double more = static_cast<double>(std::max(chains.count(), small) - small);
        const double fixed = to_find(chains) + kMemoryLooks * more / static_cast<double>(deepest);
        if (chains.count() > most || fixed + kSecondLooks >= least) // with one look, too
            continue;
        const Estimate estimated = estimate(chains, window, items);
        if (const double cost = fixed + kSecondLooks * estimated.looks; cost < least) {
            least = cost;
            best = {chains, estimated};
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
    short_searches_ = list_looks_ < searches * kListLooks ? short_searches_ + searches : 0;
    indexed_ = empty_ = list_looks_ = 0;
    // As many as the index has items, since making it has taken as long as these have lost by it.
    if (short_searches_ < std::max<std::uint64_t>(kListReviews * calls_, indexed_items_)
                              << returns_)
        return false;
    short_searches_ = 0;
    returns_ = std::min(returns_ + 1, kMostListDoublings);
    return true;
}

bool Adaptation::review(const Window &window, Items &items, MatchIndex &index) {
    wait_ = calls_;
    const double looks = static_cast<double>(window.looks) / static_cast<double>(window.searches);
    if (index && list_would_do(window)) {
        index = MatchIndex();
        return true;
    }
    // Of a queue that has become twice as long, a larger index is a smaller part.
    const bool has_grown = index && window.deepest / 2 >= indexed_items_;
    if (looks < (index ? 2 * expected_looks_ + 2 : attempts_) && !has_grown) {
        in_vain_ = 0;
        return false;
    }
    if (items.count() < looks / 2) { // fewer than the searches met: they would tell little
        wait_ = calls_ / 8 + 1;
        return false;
    }
    indexed_items_ = items.count();
    const Estimate at_hand = estimate(index.chains(), window, items);
    const auto [chains, estimated] = best(window, items);
    // The searches may take more looks than the mean over all items, or fewer; then they will in
    // another index, too.
    const double then = std::max(estimated.looks / at_hand.looks * looks, 1.0);
    if (then + estimated.overhead < looks + at_hand.overhead && chains != index.chains())
        if (MatchIndex better(chains, most_orders_); better) { // there is memory
            index = std::move(better);
            index.add_all(items.oldest());
            expected_looks_ = then;
            in_vain_ = 0;
            return true;
        }
    in_vain_ = std::min(in_vain_ + 1, kMostReviewDoublings);
    wait_ = std::uint64_t{calls_} << in_vain_;
    return false;
}

} // namespace stretto::p2p
