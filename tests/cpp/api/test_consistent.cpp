// SPDX-License-Identifier: BSD-3-Clause
// All ranks end with the same bits, by every algorithm that says so: on real runs, with numbers
// whose sums round.
#include "doctest.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "support/hosts.hpp"
#include "support/rounding.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"

using stretto::algorithms::Algorithm;
using stretto::algorithms::Choice;
using stretto::schedule::Collective;
using test::check;

namespace {

// At the defaults, and by other values of parameters.
std::vector<std::string> forms(const Algorithm &algorithm, int ranks) {
    std::vector<std::string> found = {std::string(algorithm.name)};
    for (const auto &parameter : algorithm.parameters)
        for (const auto value :
             {parameter.least, std::min(parameter.least + 4, parameter.most_for(ranks))}) {
            const Choice choice{&algorithm, {{std::string(parameter.name), {value}}}};
            const auto problem = test::problem_of(choice, ranks);
            if (misfit(choice, problem).empty() && algorithm.consistent(problem))
                found.push_back(stretto::algorithms::make(choice, ranks).name);
        }
    return found;
}

std::uint64_t hash_of(const void *data, std::size_t bytes) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::size_t i = 0; i < bytes; ++i)
        hash = (hash ^ static_cast<const unsigned char *>(data)[i]) * 0x100000001b3u;
    return hash;
}

struct Case {
    std::string algorithm;
    stretto_op op;
    std::size_t count;
    bool in_place;
    std::vector<std::uint64_t> hashes = {}; // of the result of each rank

    bool same() const { return std::equal(hashes.begin() + 1, hashes.end(), hashes.begin()); }
};

template<class T>
void play(int ranks, std::vector<Case> &cases) {
    for (Case &each : cases)
        each.hashes.resize(static_cast<std::size_t>(ranks));
    test::with_ranks(ranks, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        for (Case &each : cases) {
            check(stretto_force_algorithm(comm, each.algorithm.c_str()));
            std::vector<typename T::Element> send(each.count), recv(each.count);
            for (std::size_t i = 0; i < each.count; ++i)
                (each.in_place ? recv : send)[i] = test::value<T>(rank, i);
            const void *const input = each.in_place ? STRETTO_IN_PLACE : send.data();
            check(stretto_allreduce(comm, input, recv.data(), each.count, T::dtype, each.op));
            each.hashes[static_cast<std::size_t>(rank)] =
                hash_of(recv.data(), each.count * sizeof(recv[0]));
        }
    });
}

} // namespace

TEST_CASE_TEMPLATE("all ranks have the same bits where that is declared", T, test::RoundedFloat16,
                   test::RoundedBfloat16, test::RoundedFloat32, test::RoundedFloat64) {
    std::vector<int> sizes = {2, 3, 5, 8, 13};
    if (test::full_tier())
        for (int ranks = 4; ranks <= 33; ++ranks)
            sizes.push_back(ranks);
    for (const int ranks : sizes) {
        std::vector<Case> cases;
        for (const Algorithm &algorithm : stretto::algorithms::all()) {
            if (algorithm.collective != Collective::allreduce || !algorithm.runs(ranks) ||
                !algorithm.consistent(test::problem_of(Choice{&algorithm, {}}, ranks)))
                continue;
            for (const std::string &form : forms(algorithm, ranks)) { // sizes say what is fused
                cases.push_back({form, STRETTO_SUM, 4'007, false});
                cases.push_back({form, STRETTO_AVG, 331, true});
            }
        }
        play<T>(ranks, cases);
        for (const Case &each : cases) {
            CAPTURE(ranks);
            CAPTURE(each.algorithm);
            CAPTURE(each.count);
            CHECK(each.same());
        }
    }
}

TEST_CASE("and where it is not, these numbers show it") {
    for (const int ranks : {3, 4, 7}) {
        std::vector<Case> cases = {{"dissemination", STRETTO_SUM, 1009, false}};
        play<test::RoundedFloat32>(ranks, cases);
        CHECK(!cases[0].same());
    }
}
