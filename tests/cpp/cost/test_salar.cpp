// SPDX-License-Identifier: BSD-3-Clause
// SALaR's model against numbers that were worked out by hand from the printed formula.
#include "doctest.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "salar.hpp"
#include "support/text.hpp"

using namespace stretto;
using namespace stretto::equations;
using salar::Costs;
using salar::Job;

namespace {

doctest::Approx within(double value, double relative) {
    return doctest::Approx(value).epsilon(relative).scale(0);
}

// Binary fractions, so that all of this is exact.
const Costs kRound{.gap = 2, .gap_inside = 8, .compute = 1, .per_iteration = 0.5};

std::string wrong(const Costs &costs, const Job &job) {
    try {
        (void)salar::total(costs, job);
        return "";
    } catch (const Error &error) {
        CHECK(error.status() == Status::argument);
        return error.what();
    }
}

} // namespace

TEST_CASE("the printed formula, by hand") {
    // n = 4, p = 2, l = 16, K = 2, I = 4:
    //   inter  16 (3/4 * 2 + 2/2 + 1/(4 * 2)) + 0.5 * 4 = 16 * 2.625 + 2 = 44
    //   intra  16 * 2/1 * (8 + 1) = 288
    //   G' l   128
    const Job job{4, 2, 16, 2, 4};
    CHECK(salar::inter(kRound, job) == 44);
    CHECK(salar::intra(kRound, job) == 288);
    CHECK(salar::distribution(kRound, job) == 128);
    CHECK(salar::total(kRound, job) == 416);
    CHECK(salar::filling(kRound, job) == 11);
    CHECK(salar::pipelined(kRound, job) == 427);
    // C above G, and the network the slower side: n = 2, p = 5, l = 8, K = 1, I = 2.
    //   inter  8 (1/2 * 16 + 1 + 16/2) + 3 * 2 = 142;  intra  8 * 5/4 * (0 + 16) = 160
    //   the same with C' = 30: inter 196
    const Costs slow{.gap = 1, .gap_inside = 0, .compute = 16, .per_iteration = 3};
    CHECK(salar::inter(slow, {2, 5, 8, 1, 2}) == 142);
    CHECK(salar::total(slow, {2, 5, 8, 1, 2}) == 160);
    CHECK(salar::total({1, 0, 16, 30}, {2, 5, 8, 1, 2}) == 196);
}

TEST_CASE("one chunk: nothing overlaps") {
    const Job job{4, 2, 16, 2, 1};
    CHECK(salar::pipelined(kRound, job) ==
          salar::inter(kRound, job) + salar::intra(kRound, job) + salar::distribution(kRound, job));
}

TEST_CASE("the validation figure's parameters") {
    // n = 8, p = 28, 1 MiB.  With C >= G and K = 1 the first term is C + G for every n:
    //   0.0001835 + 0.0000841 = 0.0002676 us a byte, 280.6 us
    //   28/27 * 0.0004912 = 0.00050939 us a byte, 534.1 us;  G' l 322.6 us
    const Costs slide;
    const Job job{8, 28, 1 << 20};
    CHECK(salar::inter(slide, job) == within(280.599e-6, 1e-5));
    CHECK(salar::intra(slide, job) == within(534.137e-6, 1e-5));
    CHECK(salar::distribution(slide, job) == within(322.647e-6, 1e-5));
    CHECK(salar::total(slide, job) == within(856.784e-6, 1e-5));
    CHECK(salar::simplified(slide, 1 << 20) == within(837.706e-6, 1e-5));
    for (const int nodes : {2, 3, 16, 1000})
        CHECK(salar::inter(slide, {nodes, 28, 1 << 20}) == within(salar::inter(slide, job), 1e-12));
}

TEST_CASE("many nodes of many ranks: the simplified form") {
    for (const Costs &costs : {Costs{}, Costs{3e-10, 1e-10, 1e-11, 0}, Costs{1e-9, 1e-11, 2e-9, 0}})
        for (const double bytes : {1.0, 4096.0, 1e9}) {
            const Job job{1 << 30, 1 << 30, bytes};
            CHECK(salar::total(costs, job) == within(salar::simplified(costs, bytes), 1e-8));
        }
}

TEST_CASE("what grows, and what falls") {
    const Costs costs{.gap = 3e-10, .gap_inside = 1e-10, .compute = 2e-10, .per_iteration = 1e-5};
    const Job job{8, 4, 1e6, 2, 4};
    const auto with = [&](auto change) {
        Job other = job;
        change(other);
        return salar::total(costs, other);
    };
    const double now = salar::total(costs, job);
    CHECK(with([](Job &each) { each.bytes *= 2; }) > now);
    CHECK(with([](Job &each) { each.nodes *= 2; }) > now); // G > C, K > 1
    CHECK(with([](Job &each) { each.network_chunks *= 2; }) < now);
    CHECK(with([](Job &each) { each.ranks_per_node *= 2; }) == now); // the network is slower
    // The printed formula is never less for more chunks.
    double before = 0;
    for (int chunks = 1; chunks <= 1000; ++chunks) {
        const double total = with([&](Job &each) { each.chunks = chunks; });
        CHECK(total >= before);
        before = total;
    }
    // Of no cost more makes it faster.
    for (double Costs::*cost :
         {&Costs::gap, &Costs::gap_inside, &Costs::compute, &Costs::per_iteration}) {
        Costs dearer = costs;
        dearer.*cost *= 2;
        CHECK(salar::total(dearer, job) > now);
    }
    // Inside a node more ranks are faster, with C' out of sight.
    const Costs node{.gap = 1e-11, .gap_inside = 1e-9, .compute = 1e-10, .per_iteration = 0};
    for (int ranks = 3; ranks < 100; ++ranks)
        CHECK(salar::total(node, {8, ranks, 1e6}) < salar::total(node, {8, ranks - 1, 1e6}));
}

TEST_CASE("the best number of chunks is the best of all") {
    constexpr int kMostTried = 3000;
    for (const double per_iteration : {1e-8, 1e-6, 2e-4, 1e-2, 10.0})
        for (const Costs &costs : {Costs{}, Costs{3e-10, 1e-10, 1e-11, 0}, Costs{1e-9, 0, 0, 0}})
            for (const double bytes : {1.0, 5.5, 3e3, 1e6, 1e9}) {
                const Costs all{costs.gap, costs.gap_inside, costs.compute, per_iteration};
                Job job{8, 28, bytes};
                const int best = salar::best_chunks(all, job, kMostTried);
                REQUIRE(best >= 1);
                REQUIRE(best <= std::min<double>(kMostTried, bytes));
                job.chunks = best;
                const double least = salar::pipelined(all, job);
                const int free = salar::free_chunks(all, job, kMostTried);
                job.chunks = 1;
                const double one = salar::total(all, job);
                CAPTURE(bytes);
                CAPTURE(per_iteration);
                for (int chunks = 1; chunks <= kMostTried && chunks <= bytes; ++chunks) {
                    job.chunks = chunks;
                    if (salar::pipelined(all, job) < least * (1 - 1e-12))
                        FAIL_CHECK(chunks << " chunks are faster than " << best);
                    const bool as_good = salar::total(all, job) <= one * (1 + 1e-12);
                    if (as_good != (chunks <= free) && one * 1e-9 < per_iteration)
                        FAIL_CHECK(chunks << " chunks, " << free << " are free");
                }
            }
}

TEST_CASE("chunks that cost nothing are as many as may be") {
    CHECK(salar::best_chunks({}, {8, 28, 1e6}, 77) == 77);
    CHECK(salar::free_chunks({}, {8, 28, 1e6}, 77) == 77);
    CHECK(salar::best_chunks({}, {8, 28, 5.5}, 77) == 5); // no chunk is shorter than a byte
    // 8 MiB chunks where the node is the slower side: l does not matter.
    const double ahead = (salar::intra({}, {8, 28, 1}) - salar::inter({}, {8, 28, 1}));
    const Costs fitted{.per_iteration = ahead * (8 << 20)};
    for (const int chunks : {4, 8, 32})
        CHECK(salar::best_chunks(fitted, {8, 28, chunks * double(8 << 20) * (1 + 1e-9)}, 1000) ==
              chunks);
}

TEST_CASE("several chunks between nodes: the printed formula falls below what the bytes take") {
    // K = 8, C = 0: 7/8 G + G/8 = G a byte; each node has to receive 2 * 7/8 of them.
    const Costs only_gap{.gap = 1, .gap_inside = 0, .compute = 0, .per_iteration = 0};
    CHECK(salar::inter(only_gap, {8, 28, 64, 8}) == 64);
    CHECK(salar::bandwidth_bound(8, 1, 64) == 112);
    // K = 1 never does.
    for (int nodes = 2; nodes < 100; ++nodes)
        CHECK(salar::inter(only_gap, {nodes, 28, 64}) >= salar::bandwidth_bound(nodes, 1, 64));
    CHECK(salar::bandwidth_bound(1, 1, 64) == 0);
}

TEST_CASE("numbers that make no sense are refused") {
    const Job job{8, 28, 100, 1, 1};
    REQUIRE(wrong({}, job).empty());
    const double infinite = std::numeric_limits<double>::infinity();
    const auto with = [&](auto change) {
        Job other = job;
        change(other);
        return wrong({}, other);
    };
    CHECK(test::contains(with([](Job &each) { each.nodes = 1; }), "2 nodes or more"));
    CHECK(test::contains(with([](Job &each) { each.ranks_per_node = 1; }), "2 ranks or more"));
    CHECK(test::contains(with([](Job &each) { each.network_chunks = 0; }), "K = 0"));
    CHECK(test::contains(with([](Job &each) { each.chunks = 0; }), "I = 0"));
    CHECK(test::contains(with([](Job &each) { each.chunks = 101; }), "I = 101"));
    CHECK(test::contains(with([](Job &each) { each.bytes = 0; }), "number of bytes"));
    CHECK(test::contains(with([&](Job &each) { each.bytes = infinite; }), "number of bytes"));
    CHECK(test::contains(with([](Job &each) { each.bytes = std::nan(""); }), "number of bytes"));
    for (const double cost : {-1e-12, infinite, std::nan("")}) {
        CHECK(test::contains(wrong({cost, 0, 0, 0}, job), "G = "));
        CHECK(test::contains(wrong({0, cost, 0, 0}, job), "G' = "));
        CHECK(test::contains(wrong({0, 0, cost, 0}, job), "C = "));
        CHECK(test::contains(wrong({0, 0, 0, cost}, job), "C' = "));
        CHECK_THROWS_AS(salar::simplified({cost, 0, 0, 0}, 1), Error);
        CHECK_THROWS_AS(salar::simplified({}, cost), Error);
        CHECK_THROWS_AS(salar::bandwidth_bound(2, cost, 1), Error);
    }
    CHECK_THROWS_AS(salar::best_chunks({}, job, 0), Error);
    CHECK_THROWS_AS(salar::free_chunks({}, {1, 28, 100}, 5), Error);
    CHECK_THROWS_AS(salar::bandwidth_bound(0, 1, 1), Error);
}
