// SPDX-License-Identifier: BSD-3-Clause
// Calls between hosts that repeat try several algorithms: right answers all the way, one decision
// on all ranks, and nothing that a caller counts.
#include "doctest.h"

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/calls.hpp"
#include "support/environment.hpp"
#include "support/statistics.hpp"
#include "support/survivors.hpp"
#include "support/world.hpp"

using test::check;

namespace {

constexpr int kCalls = 80; // more than any trial takes

std::string algorithm(stretto_comm comm, std::size_t count) {
    const char *name = nullptr;
    check(stretto_chosen_algorithm(comm, "allreduce", count, STRETTO_INT64, &name));
    return name;
}

// Element i of the sum over all ranks, of call `turn`.
std::int64_t expected(int ranks, std::size_t i, int turn) {
    return std::int64_t{ranks} * (ranks - 1) / 2 + ranks * (static_cast<std::int64_t>(i) + turn);
}

std::vector<std::int64_t> input(int rank, std::size_t count, int turn) {
    std::vector<std::int64_t> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = rank + static_cast<std::int64_t>(i) + turn;
    return values;
}

int wrong(const std::vector<std::int64_t> &sums, int ranks, int turn) {
    int found = 0;
    for (std::size_t i = 0; i < sums.size(); ++i)
        found += sums[i] != expected(ranks, i, turn);
    return found;
}

void sum(stretto_comm comm, std::vector<std::int64_t> &values) {
    check(stretto_allreduce(comm, STRETTO_IN_PLACE, values.data(), values.size(), STRETTO_INT64,
                            STRETTO_SUM));
}

// Which algorithms were chosen after calls of so many elements, in their order.
std::vector<std::string> chosen_after_calls(stretto_comm comm, std::size_t count) {
    std::vector<std::string> names;
    for (int turn = 0; turn < kCalls; ++turn) {
        std::vector<std::int64_t> values = input(stretto_rank(comm), count, turn);
        sum(comm, values);
        CHECK(wrong(values, stretto_size(comm), turn) == 0);
        names.push_back(algorithm(comm, count));
    }
    return names;
}

// Which algorithms have run calls of so many elements on trial, the cheapest among them.
std::set<std::string> tried(stretto_comm comm, std::size_t count) {
    const char *text = nullptr;
    check(stretto_network_profile(comm, &text));
    const nlohmann::json profile = nlohmann::json::parse(text);
    std::set<std::string> names;
    for (const nlohmann::json &kind : profile.value("calls", nlohmann::json::array()))
        for (const nlohmann::json &each : kind["times"])
            if (each["bytes"] == count * sizeof(std::int64_t))
                names.insert(each["algorithm"]);
    return names;
}

// All ranks have the same list: its hash is the least and the most.
bool same_everywhere(stretto_comm comm, const std::vector<std::string> &names) {
    std::int64_t hash = 0;
    for (const std::string &name : names)
        hash = static_cast<std::int64_t>(static_cast<std::uint64_t>(hash) * 31 +
                                         std::hash<std::string>()(name) % 1000003);
    std::array<std::int64_t, 2> both = {hash, -hash};
    check(stretto_allreduce(comm, STRETTO_IN_PLACE, both.data(), 2, STRETTO_INT64, STRETTO_MAX));
    return both[0] == -both[1];
}

} // namespace

TEST_CASE("ranks try the same algorithms, decide alike, and are right") {
    const test::With known("STRETTO_TUNING_FILE", "assumed"); // what is tried goes by prices
    for (const int ranks : {2, 3, 4, 6})
        test::with_ranks(ranks, [](stretto_comm comm) {
            for (const std::size_t count : {1, 1000, 20000}) {
                const std::vector<std::string> names = chosen_after_calls(comm, count);
                CHECK(same_everywhere(comm, names));
                if (stretto_size(comm) > 2 && count <= 1000 && test::across_hosts())
                    CHECK(tried(comm, count).size() > 1);
                // It is over, and stays so.
                std::vector<std::int64_t> values = input(stretto_rank(comm), count, 7);
                sum(comm, values);
                CHECK(algorithm(comm, count) == names.back());
            }
        });
}

TEST_CASE("calls that start meanwhile use the last selected algorithm") {
    test::with_ranks(4, [](stretto_comm comm) {
        for (int turn = 0; turn < kCalls; ++turn) {
            std::vector<std::int64_t> values = input(stretto_rank(comm), 500, turn), other = values;
            stretto_request request = nullptr;
            check(stretto_iallreduce(comm, STRETTO_IN_PLACE, other.data(), other.size(),
                                     STRETTO_INT64, STRETTO_SUM, &request));
            sum(comm, values);
            check(stretto_wait(&request));
            CHECK(wrong(values, 4, turn) == 0);
            CHECK(wrong(other, 4, turn) == 0);
        }
    });
}

TEST_CASE("plans that are forgotten meanwhile come back as they were") {
    for (const char *const bytes : {"1K", "0"}) {
        const test::With tiny("STRETTO_PLAN_BYTES", bytes);
        test::with_ranks(3, [](stretto_comm comm) {
            for (int turn = 0; turn < kCalls; ++turn)
                for (const std::size_t count : {3, 700}) {
                    // Ranks forget at different calls, as only some ask for this.
                    if (stretto_rank(comm) == turn % 3)
                        (void)algorithm(comm, 10000 + static_cast<std::size_t>(turn));
                    std::vector<std::int64_t> values = input(stretto_rank(comm), count, turn);
                    sum(comm, values);
                    CHECK(wrong(values, 3, turn) == 0);
                }
        });
    }
}

TEST_CASE("agreement calls are in no statistics") {
    test::with_ranks(3, [](stretto_comm comm) {
        check(stretto_stats_reset(comm));
        for (int turn = 0; turn < kCalls; ++turn) {
            std::vector<std::int64_t> values = input(stretto_rank(comm), 100, turn);
            sum(comm, values);
        }
        CHECK(test::calls_in_statistics(comm) == kCalls);
    });
}

TEST_CASE("without trials, forced, or in reproducible modes, one algorithm runs") {
    const auto one = [](int ranks, const auto &before) {
        test::with_ranks(ranks, [&](stretto_comm comm) {
            before(comm);
            const std::vector<std::string> names = chosen_after_calls(comm, 1000);
            CHECK(std::set<std::string>(names.begin(), names.end()).size() == 1);
            CHECK(tried(comm, 1000).empty());
        });
    };
    {
        const test::With off("STRETTO_AUTOTUNE", "0");
        one(4, [](stretto_comm) {});
    }
    one(4, [](stretto_comm comm) { check(stretto_force_algorithm(comm, "ring")); });
    one(4,
        [](stretto_comm comm) { check(stretto_set_reproducible(comm, STRETTO_REPRODUCIBLE_RUN)); });
}
