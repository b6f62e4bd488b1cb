// SPDX-License-Identifier: BSD-3-Clause
// What a user may expect of any choice, under the model by which it is made: it is never costlier
// than one of the algorithms, and has no cliffs.  (Hunold & Carpen-Amarie, "Algorithm selection of
// MPI collectives using performance guidelines", 2018, collect such guidelines.)
#include "doctest.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/assemble.hpp"
#include "select/candidates.hpp"
#include "select/select.hpp"
#include "situations.hpp"
#include "support/tier.hpp"

using namespace stretto;
using schedule::Collective;
using select::Situation;

namespace {

constexpr double kTold = 1.02; // what the choice does not tell apart

// A host for each rank; Kolmakov and Zhang's table 2, alpha taken by the ports or on the way.
Situation on_hosts(Collective collective, int ranks, std::size_t bytes, double on_the_way) {
    Situation s = test::allreduce(ranks, 1, bytes);
    s.collective = collective;
    s.hosts = ranks;
    s.profile.date = "in the paper";
    s.profile.between = {.latency = 3e-5 * on_the_way,
                         .overhead = 3e-5 * (1 - on_the_way),
                         .byte = 1e-8,
                         .reduce = 2e-10};
    return s;
}

// Of the choice, in seconds; at most `kTold` times any other.
double cost_of(Collective collective, int ranks, std::size_t bytes, double on_the_way = 0) {
    if (ranks == 1)
        return 0;
    const Situation s = on_hosts(collective, ranks, bytes, on_the_way);
    const auto [own, least] = test::costs(s);
    CHECK(own > 0);
    CHECK(own <= kTold * least);
    return own;
}

std::vector<int> numbers_of_ranks() {
    std::vector<int> numbers;
    const int most = test::sampled() ? 20 : test::full_tier() ? 130 : 40;
    for (int ranks = 2; ranks <= most; ++ranks)
        numbers.push_back(ranks);
    return numbers;
}

constexpr std::size_t kSizes[] = {4, 64, 1024, 9216, 65536, 1 << 20, 64 << 20};

} // namespace

TEST_CASE("no cliffs: the cost rises with ranks and sizes, and not by more than a step") {
    for (const std::size_t bytes : kSizes) {
        double before = 0;
        for (const int ranks : numbers_of_ranks()) {
            CAPTURE(bytes);
            CAPTURE(ranks);
            const double now = cost_of(Collective::allreduce, ranks, bytes);
            if (before > 0) {
                const double steps = algorithms::log2_ceil(ranks);
                const double steps_before = algorithms::log2_ceil(ranks - 1);
                CHECK(now >= 0.9 * before); // composite numbers of ranks have better groups
                CHECK(now <= 1.1 *
                                 std::max(steps / steps_before,
                                          (ranks - 1.0) / ranks * (ranks - 1) / (ranks - 2)) *
                                 before);
            }
            before = now;
        }
    }
}

TEST_CASE("longer vectors cost no less") {
    for (const int ranks : {2, 3, 5, 6, 7, 8, 12, 17, 33})
        for (const Collective collective : {Collective::allreduce, Collective::broadcast,
                                            Collective::reduce_scatter, Collective::allgather})
            for (double before = 0; const std::size_t bytes : kSizes) {
                CAPTURE(ranks);
                CAPTURE(bytes);
                const double now = cost_of(collective, ranks, bytes, 0.5);
                CHECK(now >= before / kTold);
                before = now;
            }
}

TEST_CASE("an allreduce costs no more than what it can be made of") {
    for (const int ranks : {2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 48})
        for (const std::size_t bytes : kSizes)
            for (const double on_the_way : {0.0, 0.7}) {
                const auto of = [&](Collective collective) {
                    return cost_of(collective, ranks, bytes, on_the_way);
                };
                CAPTURE(ranks);
                CAPTURE(bytes);
                const double whole = of(Collective::allreduce) / kTold;
                CHECK(whole <= of(Collective::reduce) + of(Collective::broadcast));
                CHECK(whole <= of(Collective::reduce_scatter) + of(Collective::allgather));
            }
}
