// SPDX-License-Identifier: BSD-3-Clause
// What it takes to remove an item that no search has found, as a receive that is withdrawn.
#include "doctest.h"

#include "linked.hpp"
#include "p2p/matching/match_index.hpp"

using namespace stretto::p2p;
using test::Linked;

namespace {

constexpr int kItems = 1000;

// Looks for all items together.
std::uint32_t remove_all(Linked items, const Chains &chains, bool newest_first) {
    MatchIndex index(chains, UINT32_MAX);
    index.add_all(items.oldest());
    std::uint32_t looks = 0;
    for (int i = 0; i < kItems; ++i) {
        const int which = newest_first ? kItems - 1 - i : i;
        looks += index.remove(items.at(which));
        items.unlink(which);
    }
    return looks;
}

} // namespace

TEST_CASE("items are removed from either end of a long chain at once") {
    const Chains chains(Scheme::by_source, 8);
    const auto wildcard = [](int i) { return Envelope{0, kAny, i}; };
    const auto one_source = [](int i) { return Envelope{0, 5, i}; };
    for (const bool newest_first : {false, true}) {
        CHECK(remove_all(Linked(kItems, wildcard), chains, newest_first) <= 2 * kItems);
        CHECK(remove_all(Linked(kItems, one_source), chains, newest_first) <= 2 * kItems);
    }
    // Among others, it takes as many looks as there are others between two of a chain.
    const auto every_fourth = [](int i) { return Envelope{0, i % 4 == 0 ? kAny : i % 4, i}; };
    CHECK(remove_all(Linked(kItems, every_fourth), chains, true) <= 5 * kItems);
}

TEST_CASE("what is left of a chain keeps its order, wherever an item is removed") {
    for (int removed = 0; removed < 7; ++removed) {
        CAPTURE(removed);
        Linked items(7, [](int i) { return Envelope{0, i == 3 ? 1 : 0, 0}; });
        MatchIndex index(Chains(Scheme::by_source, 2), UINT32_MAX);
        index.add_all(items.oldest());
        index.remove(items.at(removed));
        items.unlink(removed);
        for (int i = 0; i < 7; ++i) {
            if (i == removed || i == 3)
                continue;
            std::uint32_t looks = 0;
            const auto found = index.search({0, 0, 0}, [](const Item &) { return true; }, looks);
            CHECK(found.item == &items.at(i));
            MatchIndex::remove(found);
        }
    }
}
