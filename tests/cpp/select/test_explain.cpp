// SPDX-License-Identifier: BSD-3-Clause
// Predictions against what was measured, and every candidate with a price or a reason.
#include "doctest.h"

#include <cmath>
#include <map>
#include <string>

#include "select/explain.hpp"
#include "situations.hpp"

using namespace stretto;
using schedule::Collective;
using select::Explanation;
using select::Situation;
using test::allreduce;

namespace {

std::map<std::string, double> prices(const Situation &s) {
    std::map<std::string, double> result;
    for (const select::Candidate &each : select::explain(s).candidates)
        if (each.excluded.empty())
            result[each.algorithm] = each.prediction.seconds;
    return result;
}

} // namespace

// docs/performance.md, 2 cores, "near": microseconds of what is chosen.
TEST_CASE("predictions meet the published measurements within a factor of two") {
    struct Row {
        std::size_t bytes;
        double at_2, at_4, at_8;
    };
    for (const Row &row :
         {Row{4, 0.17, 3.52, 8.80}, Row{256, 0.20, 3.56, 8.99}, Row{1 << 10, 0.26, 3.86, 9.62},
          Row{4 << 10, 0.40, 4.45, 12.25}, Row{16 << 10, 0.82, 6.26, 19.29},
          Row{64 << 10, 2.71, 12.51, 28.52}, Row{256 << 10, 10.90, 33.21, 77.54},
          Row{1 << 20, 46.59, 124, 382}, Row{4 << 20, 204, 775, 1981},
          Row{16 << 20, 1407, 3593, 9909}, Row{64 << 20, 6272, 15326, 36971}})
        for (const auto &[ranks, measured] :
             {std::pair{2, row.at_2}, std::pair{4, row.at_4}, std::pair{8, row.at_8}}) {
            const Situation s = allreduce(ranks, 2, row.bytes);
            const double predicted = prices(s)[select::choose(s).algorithm] * 1e6;
            CAPTURE(ranks);
            CAPTURE(row.bytes);
            CAPTURE(predicted);
            CAPTURE(measured);
            CHECK(std::abs(std::log2(predicted / measured)) < 1);
        }
}

TEST_CASE("every candidate has a finite price or a reason") {
    for (int c = 0; c <= static_cast<int>(Collective::alltoall); ++c)
        for (const int ranks : {1, 2, 3, 7, 8, 16})
            for (const std::size_t bytes : {0, 4, 100'000}) {
                Situation s = allreduce(ranks, 4, bytes);
                s.collective = static_cast<Collective>(c);
                if (select::able(s).empty())
                    continue;
                const Explanation all = select::explain(s);
                CHECK(!all.choice.why.empty());
                bool chosen = false;
                for (const select::Candidate &each : all.candidates) {
                    CAPTURE(each.algorithm);
                    chosen =
                        chosen || (each.algorithm == all.choice.algorithm && each.excluded.empty());
                    if (each.excluded.empty()) {
                        CHECK(std::isfinite(each.prediction.seconds));
                        CHECK((each.prediction.seconds > 0) ==
                              (ranks > 1 && (bytes > 0 || s.collective == Collective::barrier)));
                    }
                }
                CHECK(chosen);
            }
}

TEST_CASE("predictions rank what differs much") {
    auto small = prices(allreduce(8, 8, 4));
    for (const char *other : {"direct", "linear", "ring", "chain", "binomial"})
        CHECK(small["one_shot"] < small[other]);
    auto large = prices(allreduce(8, 8, 16 << 20));
    for (const char *other : {"one_shot", "linear", "ring", "binomial", "recursive_doubling"})
        CHECK(large["direct"] < large[other]);
    CHECK(large["direct"] < large["direct_canonical"]);
    // One core for all: work adds up, whoever does it.
    CHECK(prices(allreduce(8, 1, 16 << 20))["direct"] > 6 * large["direct"]);
}

TEST_CASE("mode full leaves the canonical ones") {
    Situation s = allreduce(5, 2, 1 << 20);
    s.reproducible = select::Reproducible::full;
    const Explanation all = select::explain(s);
    CHECK(all.choice.algorithm == "direct_canonical");
    int excluded = 0;
    for (const select::Candidate &each : all.candidates)
        excluded += each.excluded.find("canonical tree") != std::string::npos;
    CHECK(excluded >= 8);
}
