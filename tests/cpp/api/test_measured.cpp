// SPDX-License-Identifier: BSD-3-Clause
// Jobs whose profile holds what calls took: they choose by it, try nothing, and give it back; and
// what a job's own trials have found is in its profile.
#include "doctest.h"

#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/environment.hpp"
#include "support/folder.hpp"
#include "support/survivors.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

using nlohmann::json;
using test::check;
using test::contains;
using test::With;

namespace {

constexpr int kCalls = 80; // more than any trial takes
constexpr std::size_t kCount = 1000;

json profile_of(stretto_comm comm) {
    const char *text = nullptr;
    check(stretto_network_profile(comm, &text));
    return json::parse(text);
}

json tuning_candidates(stretto_comm comm, std::size_t count = kCount) {
    const char *text = nullptr;
    check(stretto_tuning_candidates(comm, "allreduce", count, STRETTO_INT64, &text));
    return json::parse(text);
}

std::string chosen(stretto_comm comm, std::size_t count = kCount) {
    const char *name = nullptr;
    check(stretto_chosen_algorithm(comm, "allreduce", count, STRETTO_INT64, &name));
    return name;
}

// Which algorithms served such calls.
std::set<std::string> served(stretto_comm comm) {
    std::set<std::string> names;
    std::vector<std::int64_t> values(kCount);
    for (int call = 0; call < kCalls; ++call) {
        check(stretto_allreduce(comm, STRETTO_IN_PLACE, values.data(), kCount, STRETTO_INT64,
                                STRETTO_SUM));
        names.insert(chosen(comm));
    }
    return names;
}

// What each rank of such a job says.
std::vector<json> of_ranks(int ranks, const std::function<json(stretto_comm)> &ask) {
    std::vector<json> answers(static_cast<std::size_t>(ranks));
    test::with_ranks(ranks, [&](stretto_comm comm) {
        answers[static_cast<std::size_t>(stretto_rank(comm))] = ask(comm);
    });
    return answers;
}

// The one answer of all ranks.
json of_all(int ranks, const std::function<json(stretto_comm)> &ask) {
    const std::vector<json> answers = of_ranks(ranks, ask);
    for (const json &each : answers)
        CHECK(each == answers[0]);
    return answers[0];
}

// A profile in which the second best took a third of the time of the best, and others more.
struct Tuned {
    explicit Tuned(int ranks) {
        {
            const With assumed("STRETTO_TUNING_FILE", "assumed");
            call = of_all(ranks, [](stretto_comm comm) { return tuning_candidates(comm); });
            profile = of_all(ranks, profile_of);
        }
        REQUIRE(call["algorithms"].size() > 1);
        best = call["algorithms"][1];
        json calls = call;
        calls.erase("bytes");
        calls.erase("algorithms");
        for (const std::string name : call["algorithms"])
            for (const double skew : {0.0, 0.5})
                calls["times"].push_back({{"bytes", call["bytes"]},
                                          {"algorithm", name},
                                          {"seconds", name == best ? 1e-4 : 3e-4},
                                          {"skew", skew},
                                          {"calls", 21},
                                          {"by", "tune"}});
        profile["calls"].push_back(calls);
        std::ofstream(path) << profile;
    }
    const test::Folder folder;
    const std::string path = folder.path() + "/profile.json";
    json call, profile;
    std::string best;
};

} // namespace

TEST_CASE("kinds of calls are those of profiles") {
    const With assumed("STRETTO_TUNING_FILE", "assumed");
    const json four = of_all(4, [](stretto_comm comm) { return tuning_candidates(comm); });
    CHECK(four["collective"] == "allreduce");
    CHECK(four["ranks"] == 4);
    CHECK(four["bytes"] == 8 * kCount);
    CHECK(four["hosts"] == (test::across_hosts() ? 2 : 1));
    CHECK(four.contains("host_of") == test::across_hosts());
    const json two = of_all(2, [](stretto_comm comm) { return tuning_candidates(comm); });
    CHECK(two["hosts"] == (test::across_hosts() ? 2 : 1));
    CHECK(!two.contains("host_of"));
    CHECK(of_all(3, [](stretto_comm comm) -> json {
              return tuning_candidates(comm)["algorithms"][0] == chosen(comm);
          }) == true);
}

TEST_CASE("a job uses the measured times of its profile, and makes no trials") {
    for (const int ranks : {3, 4}) {
        const Tuned tuned(ranks);
        const With file("STRETTO_TUNING_FILE", tuned.path.c_str());
        CHECK(of_all(ranks, served) == json{tuned.best});
        // It gives back what it was given, and no more.
        const json back = of_all(ranks, [](stretto_comm comm) {
            (void)served(comm);
            return profile_of(comm);
        });
        CHECK(back["calls"] == tuned.profile["calls"]);
        CHECK(back["links"] == tuned.profile["links"]);
        // Far from where it was measured it says nothing.
        const std::string far =
            of_all(ranks, [](stretto_comm comm) -> json { return chosen(comm, 20 * kCount); });
        const With assumed("STRETTO_TUNING_FILE", "assumed");
        CHECK(of_all(ranks, [](stretto_comm comm) -> json { return chosen(comm, 20 * kCount); }) ==
              far);
    }
}

TEST_CASE("a profile about calls alone leaves the network to be measured") {
    Tuned tuned(3);
    for (const char *key : {"links", "common"})
        tuned.profile.erase(key);
    std::ofstream(tuned.path) << tuned.profile;
    const With file("STRETTO_TUNING_FILE", tuned.path.c_str());
    const json back = of_all(3, profile_of);
    CHECK(back["calls"] == tuned.profile["calls"]);
    CHECK(back.contains("links") == test::across_hosts());
    if (test::across_hosts())
        CHECK(contains(back["links"]["between"]["how"].get<std::string>(), "round trips"));
    else
        CHECK(of_all(3, served) == json{tuned.best});
}

TEST_CASE("other ranks are other calls, of which it says nothing") {
    const Tuned tuned(4);
    const auto choice = [](stretto_comm comm) -> json { return chosen(comm); };
    json plain;
    {
        const With assumed("STRETTO_TUNING_FILE", "assumed");
        plain = of_all(3, choice);
    }
    const With file("STRETTO_TUNING_FILE", tuned.path.c_str());
    CHECK(of_all(3, choice) == plain);
    // Communicators made of others go by the same profile.
    const json children = of_all(5, [&](stretto_comm comm) -> json {
        stretto_comm first = nullptr;
        check(stretto_comm_split(comm, stretto_rank(comm) < 4 ? 0 : STRETTO_UNDEFINED, 0, &first));
        if (first == nullptr)
            return tuned.best;
        const std::string name = chosen(first);
        check(stretto_finalize(&first));
        return name;
    });
    CHECK(children == tuned.best);
}

TEST_CASE("reproducible results do not depend on measurements") {
    const Tuned tuned(4);
    const auto choices = [](stretto_comm comm) -> json {
        json names;
        for (const auto mode : {STRETTO_REPRODUCIBLE_RUN, STRETTO_REPRODUCIBLE_FULL}) {
            check(stretto_set_reproducible(comm, mode));
            names.push_back(chosen(comm));
        }
        return names;
    };
    json plain;
    {
        const With assumed("STRETTO_TUNING_FILE", "assumed");
        plain = of_all(4, choices);
    }
    const With file("STRETTO_TUNING_FILE", tuned.path.c_str());
    CHECK(of_all(4, choices) == plain);
}

TEST_CASE("results of trials are in the profile, and decide the next job's calls") {
    if (!test::across_hosts())
        return; // there are no trials
    const test::Folder folder;
    const std::string path = folder.path() + "/profile.json";
    json tried, kept;
    {
        const With assumed("STRETTO_TUNING_FILE", "assumed");
        kept = of_all(4, [&](stretto_comm comm) {
            const json before = profile_of(comm);
            CHECK(!before.contains("calls"));
            const json names = tuning_candidates(comm)["algorithms"];
            (void)served(comm);
            // Choices do not change for it.
            CHECK(tuning_candidates(comm)["algorithms"] == names);
            const json after = profile_of(comm);
            std::vector<std::string> timed;
            for (const json &each : after["calls"][0]["times"]) {
                timed.push_back(each["algorithm"]);
                CHECK(each["bytes"] == 8 * kCount);
                CHECK((each["calls"] == 2 || each["calls"] >= 6)); // of the cheapest, or confirmed
                CHECK(each["by"] == "trial");
            }
            CHECK(timed.size() > 1);
            CHECK(json(timed) == names);
            CHECK(after["calls"].size() == 1);
            CHECK(after["links"] == before["links"]);
            return after;
        });
    }
    std::ofstream(path) << kept;
    const With file("STRETTO_TUNING_FILE", path.c_str());
    CHECK(of_all(4, [](stretto_comm comm) -> json { return served(comm).size(); }) == 1);
    CHECK(of_all(4, [](stretto_comm comm) {
              (void)served(comm);
              return profile_of(comm);
          })["calls"] == kept["calls"]);
}

TEST_CASE("a profile that cannot be read is an error on every rank") {
    const With file("STRETTO_TUNING_FILE", "/nowhere/profile.json");
    const std::string job = test::fresh_job();
    test::on_threads(3, [&](int rank) {
        stretto_comm comm = nullptr;
        CHECK(stretto_init_explicit(rank, 3, job.c_str(), &comm) == STRETTO_ERR_ARGUMENT);
        CHECK_MESSAGE(contains(stretto_last_error(), "/nowhere/profile.json"), "rank ", rank, ": ",
                      std::string(stretto_last_error()));
        if (comm != nullptr)
            stretto_finalize(&comm);
    });
}
