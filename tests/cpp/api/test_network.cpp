// SPDX-License-Identifier: BSD-3-Clause
// What a job on several hosts knows of its network: measured at the start or read by rank 0, and
// the same on all ranks, also if that goes wrong.
#include "doctest.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/environment.hpp"
#include "support/folder.hpp"
#include "support/processes.hpp"
#include "support/shared_counter.hpp"
#include "support/text.hpp"
#include "support/threads.hpp"
#include "support/world.hpp"

using nlohmann::json;
using test::check;
using test::contains;
using test::With;

namespace {

struct Hosts {
    explicit Hosts(const char *names = "a,b,a") : hosts("STRETTO_FAKE_HOSTS", names) {}
    With addr{"STRETTO_ADDR", "127.0.0.1:29451"};
    With hosts;
    With secret{"STRETTO_SECRET", "of-tests-only-0123456789abcdef-0123"};
};

std::string profile_of(stretto_comm comm) {
    const char *text = nullptr;
    check(stretto_network_profile(comm, &text));
    return text;
}

// That all ranks have, or "" if they differ.
std::string common_profile(int ranks) {
    std::mutex mutex;
    std::vector<std::string> all;
    test::with_ranks(ranks, [&](stretto_comm comm) {
        const std::lock_guard lock(mutex);
        all.push_back(profile_of(comm));
    });
    for (const std::string &each : all)
        if (each != all.front())
            return "";
    return all.front();
}

// The message of each rank whose start is refused as a wrong argument; else what it says instead.
std::vector<std::string> refusals(int ranks) {
    const std::string job = test::fresh_job();
    std::vector<std::string> told(static_cast<std::size_t>(ranks));
    test::on_threads(ranks, [&](int rank) {
        stretto_comm comm = nullptr;
        const stretto_status status = stretto_init_explicit(rank, ranks, job.c_str(), &comm);
        told[static_cast<std::size_t>(rank)] =
            status == STRETTO_ERR_ARGUMENT ? stretto_last_error() : stretto_status_name(status);
        if (comm != nullptr)
            stretto_finalize(&comm);
    });
    return told;
}

std::string read(const std::string &path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

} // namespace

TEST_CASE("all ranks have the same numbers, and they are plausible") {
    const Hosts hosts;
    const std::string text = common_profile(5);
    REQUIRE(!text.empty());
    const json profile = json::parse(text);
    CHECK(profile["stretto"] == stretto_version());
    CHECK(!profile["host"].get<std::string>().empty());
    for (const char *name : {"inside", "between"}) {
        const json &link = profile["links"][name];
        CAPTURE(text);
        CHECK(contains(link["how"].get<std::string>(), "round trips"));
        const double alpha = link["latency"].get<double>() + link["overhead"].get<double>();
        CHECK(link["latency"] >= 0);
        CHECK(alpha > 0);
        CHECK(alpha < 1);
        CHECK(link["byte"] > 1e-13);
        CHECK(link["byte"] < 1e-6);
        CHECK(link["reduce"] > 1e-13);
        CHECK(link["reduce"] < 1e-8);
    }
    CHECK(contains(profile["links"]["between"]["how"].get<std::string>(), "with rank 1"));
    CHECK(contains(profile["links"]["inside"]["how"].get<std::string>(), "with rank 2"));
}

TEST_CASE("rank 0 alone on its host") {
    const Hosts hosts("a,b,b");
    const json profile = json::parse(common_profile(3));
    CHECK(contains(profile["links"]["inside"]["how"].get<std::string>(), "alone on its host"));
    CHECK(contains(profile["links"]["between"]["how"].get<std::string>(), "round trips"));
}

TEST_CASE("rings and slices of another size, and several connections") {
    const Hosts hosts;
    const With ring("STRETTO_RING_BYTES", "16384");
    const With slice("STRETTO_SLICE_BYTES", "1024");
    const With sockets("STRETTO_SOCKETS", "3");
    CHECK(contains(common_profile(4), "round trips"));
}

TEST_CASE("on one host nothing is measured") {
    const json profile = json::parse(common_profile(3));
    CHECK(profile["links"]["between"]["how"] == "assumed");
}

TEST_CASE("assumed numbers") {
    const Hosts hosts;
    std::string off;
    {
        const With assumed("STRETTO_TUNING_FILE", "assumed");
        const json profile = json::parse(common_profile(3));
        CHECK(profile["links"]["inside"]["how"] == "assumed");
        CHECK(profile["links"]["between"]["how"] == "assumed");
        CHECK(profile["host"] == "");
    }
    const With measured("STRETTO_TUNING_FILE", "off");
    CHECK(contains(common_profile(3), "round trips"));
}

TEST_CASE("a thorough measurement of every host") {
    const Hosts hosts("a,b,c");
    const With thorough("STRETTO_TUNING_FILE", "thorough");
    const std::string text = common_profile(4); // ranks 0 and 3 on one host
    REQUIRE(!text.empty());
    const json profile = json::parse(text);
    const std::string how = profile["links"]["between"]["how"];
    CAPTURE(how);
    CHECK(contains(how, "median of 6 surveys with 2 ranks: a message "));
    CHECK(contains(profile["links"]["inside"]["how"].get<std::string>(), "with rank 3"));
    CHECK(profile["links"]["between"]["byte"] > 1e-13);
}

TEST_CASE("a file in place of measuring") {
    const Hosts hosts;
    const test::Folder folder;
    const std::string path = folder.path() + "/profile.json";
    const std::string measured = common_profile(3);
    std::ofstream(path) << measured;
    const With file("STRETTO_TUNING_FILE", path.c_str());
    CHECK(common_profile(3) == measured); // with its host and date
}

TEST_CASE("a file that is malformed, or not there, is an error on every rank") {
    const Hosts hosts;
    const test::Folder folder;
    const std::string path = folder.path() + "/profile.json";
    const With file("STRETTO_TUNING_FILE", path.c_str());
    for (const std::string &message : refusals(5)) {
        CHECK(contains(message, path));
        CHECK(contains(message, "No such file"));
    }
    std::ofstream(path) << R"({"links": {"inside": {"latency": "fast"}, "between": {}}})";
    for (const std::string &message : refusals(5)) {
        CHECK(contains(message, path));
        CHECK(contains(message, "links.inside"));
    }
}

TEST_CASE("communicators made of others have the profile of the job") {
    const Hosts hosts;
    test::with_ranks(5, [](stretto_comm comm) {
        const std::string profile = profile_of(comm);
        stretto_comm half = nullptr, copy = nullptr;
        check(stretto_comm_split(comm, stretto_rank(comm) % 2, 0, &half));
        CHECK(profile_of(half) == profile);
        check(stretto_comm_dup(half, &copy));
        CHECK(profile_of(copy) == profile);
        check(stretto_finalize(&copy));
        check(stretto_finalize(&half));
    });
}

TEST_CASE("a shrunk job keeps its profile") {
    const Hosts hosts;
    constexpr int kVictim = 4, kFine = 7;
    test::SharedCounter there;
    const auto codes = test::on_processes(5, [&](stretto_comm comm) {
        const std::string profile = profile_of(comm);
        ++*there;
        there.await(5); // else its death may be the end of somebody's start
        if (stretto_rank(comm) == kVictim)
            raise(SIGKILL);
        stretto_status status = STRETTO_OK;
        while (status == STRETTO_OK)
            status = stretto_barrier(comm);
        stretto_comm left = nullptr;
        std::uint64_t completed = 99;
        if (stretto_comm_shrink(comm, &completed, &left) != STRETTO_OK || completed != 0)
            return 1;
        const bool same = profile_of(left) == profile;
        stretto_finalize(&comm);
        return stretto_finalize(&left) == STRETTO_OK && same ? kFine : 2;
    });
    for (int rank = 0; rank < kVictim; ++rank)
        CHECK(codes[static_cast<std::size_t>(rank)] == kFine);
}

TEST_CASE("measurements are in no statistics and no call numbers") {
    const Hosts hosts;
    const test::Folder folder;
    const With trace("STRETTO_TRACE", folder.path().c_str());
    test::with_ranks(3, [](stretto_comm comm) {
        std::size_t lines = 99;
        check(stretto_stats(comm, nullptr, 0, &lines));
        CHECK(lines == 0);
        float in = 1, out = 0;
        check(stretto_allreduce(comm, &in, &out, 1, STRETTO_FLOAT32, STRETTO_SUM));
    });
    for (const std::string &path : folder.files(".json")) {
        const std::string text = read(path);
        CHECK(contains(text, "allreduce"));
        CHECK(!contains(text, "custom"));
        CHECK(!contains(text, "one_way"));
    }
    CHECK(folder.files(".json").size() == 3);
}

TEST_CASE("the first call has number 0") {
    const Hosts hosts;
    test::on_threads(3, [job = test::fresh_job()](int rank) {
        stretto_comm comm = nullptr;
        check(stretto_init_explicit(rank, 3, job.c_str(), &comm));
        std::vector<float> in(8), out(8);
        const std::size_t count = rank == 0 ? 4 : 8;
        CHECK(stretto_allreduce(comm, in.data(), out.data(), count, STRETTO_FLOAT32, STRETTO_SUM) ==
              STRETTO_ERR_MISMATCH);
        CHECK(contains(stretto_last_error(), "(call 0, "));
        stretto_finalize(&comm);
    });
}

// Ranks that have found one another have the thread that answers for them, and measure next.
static void wait_until_joined(const std::vector<pid_t> &processes) {
    for (const pid_t process : processes)
        for (int tries = 0; tries < 12'000; ++tries) {
            const std::vector<std::string> threads = test::threads(std::to_string(process));
            if (std::ranges::find(threads, "stretto-member") != threads.end())
                break;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
}

// Messages that take so long that all are still measuring by then.
TEST_CASE("a rank that is killed while the network is measured is an error on all others") {
    const Hosts hosts;
    const With delay("STRETTO_DELAY", "150ms");
    constexpr int kRanks = 5, kTold = 7;
    for (const int victim : {0, 1, 2, 3}) { // who measures, with whom, and one who looks on
        CAPTURE(victim);
        const std::string job = test::fresh_job();
        const auto codes = test::on_bare_processes(
            kRanks,
            [&](int rank) {
                stretto_comm comm = nullptr;
                const stretto_status status =
                    stretto_init_explicit(rank, kRanks, job.c_str(), &comm);
                const bool right = status == STRETTO_ERR_PEER &&
                                   contains(stretto_last_error(), "rank " + std::to_string(victim));
                if (!right)
                    std::fprintf(stderr, "rank %d: %s: %s\n", rank, stretto_status_name(status),
                                 stretto_last_error());
                return right ? kTold : 8;
            },
            [&](const std::vector<pid_t> &processes) {
                wait_until_joined(processes);
                kill(processes[static_cast<std::size_t>(victim)], SIGKILL);
            });
        for (int rank = 0; rank < kRanks; ++rank)
            CHECK(codes[static_cast<std::size_t>(rank)] == (rank == victim ? -SIGKILL : kTold));
    }
}

// Of ranks that share a clock in truth.
TEST_CASE("all ranks learn the clock offsets, at once on one host and later between hosts") {
    constexpr std::int64_t kWrongByLess = 1'000'000'000;
    const auto learn = [](stretto_comm comm) {
        std::int64_t offset = 7;
        int known = 7;
        check(stretto_clock_offset(comm, &offset, &known));
        while (known == 0) {
            CHECK(offset == 0);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            check(stretto_clock_offset(comm, &offset, &known));
        }
        CHECK(known == 1);
        return offset;
    };
    test::with_ranks(3, [&](stretto_comm comm) { CHECK(learn(comm) == 0); });
    const Hosts hosts;
    const With soon("STRETTO_HEARTBEAT", "20ms");
    const With quick("STRETTO_TUNING_FILE", "assumed");
    test::with_ranks(3, [&](stretto_comm comm) {
        const std::int64_t offset = learn(comm);
        CHECK(offset > -kWrongByLess);
        CHECK(offset < kWrongByLess);
        if (stretto_rank(comm) == 0)
            CHECK(offset == 0); // whose clock it is
        stretto_comm child = nullptr;
        check(stretto_comm_dup(comm, &child));
        learn(child);
        check(stretto_finalize(&child));
    });
}
