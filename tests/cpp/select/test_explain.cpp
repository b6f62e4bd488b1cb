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
         {Row{4, 0.17, 3.52, 10.27}, Row{256, 0.21, 3.58, 9.87}, Row{1 << 10, 0.28, 3.82, 11.04},
          Row{4 << 10, 0.49, 4.35, 13.64}, Row{16 << 10, 0.88, 5.98, 22.40},
          Row{64 << 10, 2.86, 12.67, 31.78}, Row{256 << 10, 11.31, 31.79, 87.78},
          Row{1 << 20, 46.69, 118, 453}, Row{4 << 20, 207, 669, 2165},
          Row{16 << 20, 1487, 3712, 9223}, Row{64 << 20, 6261, 15469, 39825}})
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
