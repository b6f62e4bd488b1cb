// SPDX-License-Identifier: BSD-3-Clause
// What a sample of a queue tells of all of it.
#include "doctest.h"

#include <utility>

#include "linked.hpp"
#include "p2p/matching/sample.hpp"

using namespace stretto::p2p;
using test::Linked;

namespace {

template<class EnvelopeOf>
double mean_looks(int count, const Chains &chains, const EnvelopeOf &envelope) {
    Linked items(count, envelope);
    return Sample(items.oldest(), items.count()).mean_looks(chains);
}

} // namespace

TEST_CASE("all items of a short queue are in its sample") {
    const Chains by_source(Scheme::by_source, 10);
    CHECK(mean_looks(0, by_source, [](int) { return Envelope{}; }) == 1);
    CHECK(mean_looks(1, by_source, [](int) { return Envelope{}; }) == 1);
    // Ten chains of four items: 1, 2, 3 and 4 looks.
    CHECK(mean_looks(40, by_source, [](int i) { return Envelope{0, i % 10, 0}; }) ==
          doctest::Approx(2.5));
    CHECK(mean_looks(40, Chains(Scheme::bins, 5), [](int i) { return Envelope{0, i % 10, 0}; }) ==
          doctest::Approx(4.5));
    // Ten on the chain of wildcards, 5.5 looks each; the others pass half of them.
    CHECK(mean_looks(20, by_source, [](int i) { return Envelope{0, i < 10 ? kAny : i % 10, 0}; }) ==
          doctest::Approx((5.5 + 1 + 5) / 2));
}

TEST_CASE("the sample of a long queue tells how long chains are") {
    const int count = 8192;
    for (const int sources : {512, 2048, 8192}) {
        CAPTURE(sources);
        const Chains chains(Scheme::by_source, static_cast<std::size_t>(sources));
        const double looks = (count / sources + 1) / 2.0;
        const auto turns = [&](int i) { return Envelope{0, i % sources, i}; };
        const auto blocks = [&](int i) { return Envelope{0, i / (count / sources), i}; };
        CHECK(mean_looks(count, chains, turns) == doctest::Approx(looks).epsilon(0.2));
        CHECK(mean_looks(count, chains, blocks) == doctest::Approx(looks).epsilon(0.2));
    }
    const Chains hash(Scheme::hash, 4096);
    CHECK(mean_looks(count, hash, [](int i) { return Envelope{0, 3, i}; }) ==
          doctest::Approx(2).epsilon(0.2));
    CHECK(mean_looks(count, hash, [](int) { return Envelope{0, 3, 1}; }) ==
          doctest::Approx((count + 1) / 2.0));
}

TEST_CASE("the sample of a long queue tells what most items have") {
    Linked items(5000, [](int i) { return Envelope{7, i % 10 < 8 ? 4 : i, i}; });
    const Filling filling = Sample(items.oldest(), items.count()).filling();
    CHECK(filling.depth == 5000);
    CHECK(filling.context == 7);
    CHECK(filling.source == 4);
    CHECK(filling.of_source == doctest::Approx(0.8).epsilon(0.1));
    CHECK(filling.of_tag < 0.01);
}
