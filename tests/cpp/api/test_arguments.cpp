// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments of every function of the API: refused before anything is sent, with a message
// that says what is wrong, and the communicator is as it was.
#include "doctest.h"

#include <climits>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "support/calls.hpp"
#include "support/world.hpp"

namespace {

struct Wrong {
    std::string what;
    std::function<stretto_status()> call;
    std::string message; // part of it
};

// Each call is refused, alike on all ranks; then the communicator works.
void refused(stretto_comm comm, const std::vector<Wrong> &cases) {
    for (const Wrong &wrong : cases) {
        CAPTURE(wrong.what);
        CHECK(wrong.call() == STRETTO_ERR_ARGUMENT);
        const std::string message = stretto_last_error();
        CAPTURE(message);
        CHECK(message.find(wrong.message) != std::string::npos);
    }
    const int mine = stretto_rank(comm);
    int sum = -1;
    CHECK(stretto_allreduce(comm, &mine, &sum, 1, STRETTO_INT32, STRETTO_SUM) == STRETTO_OK);
    CHECK(sum == stretto_size(comm) * (stretto_size(comm) - 1) / 2);
}

template<class Enumeration>
Enumeration beyond(int value) {
    return static_cast<Enumeration>(value);
}

constexpr std::size_t kHuge[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8, SIZE_MAX / 16};

} // namespace

TEST_CASE("every blocking collective") {
    test::with_ranks(3, [](stretto_comm comm) {
        std::vector<double> send(30, 1), recv(30, 2);
        std::vector<Wrong> cases;
        for (const test::CallKind &kind : test::call_kinds()) {
            const auto add = [&](const std::string &what, auto &&change, const char *message) {
                // Each rank believes that it is the root: so what only the root needs is missed.
                test::CallArguments with{send.data(),     recv.data(), 3,
                                         STRETTO_FLOAT64, STRETTO_SUM, stretto_rank(comm)};
                change(with);
                cases.push_back({std::string(kind.name) + ": " + what,
                                 [=, call = kind.call] { return call(comm, with); }, message});
            };
            cases.push_back({std::string(kind.name) + ": no communicator",
                             [=, call = kind.call] { return call(nullptr, {}); },
                             "communicator is NULL"});
            if (!kind.has_count)
                continue;
            for (const int dtype : {-1, 99, INT_MAX, INT_MIN})
                add("dtype", [=](auto &with) { with.dtype = dtype; }, "dtype");
            for (const std::size_t count : kHuge)
                add("count", [=](auto &with) { with.count = count; }, "count is too large");
            if (kind.reduces)
                for (const int op : {-1, INT_MAX, INT_MIN})
                    add("op", [=](auto &with) { with.op = op; }, "op");
            if (kind.rooted)
                for (const int root : {-1, 3, INT_MAX, INT_MIN})
                    add("root", [=](auto &with) { with.root = root; }, "root");
            // Where the buffer counts, on every rank.
            if (std::string(kind.name) != "broadcast")
                add("no input", [](auto &with) { with.send = nullptr; }, "send buffer is NULL");
            add(
                "no output",
                [&](auto &with) {
                    with.recv = nullptr;
                    with.root = stretto_rank(comm);
                },
                "receive buffer is NULL");
            if (std::string(kind.name) != "broadcast")
                add(
                    "input is output", [](auto &with) { with.send = with.recv; },
                    "STRETTO_IN_PLACE");
        }
        refused(comm, cases);
        for (const double untouched : recv)
            CHECK(untouched == 2);
    });
}

TEST_CASE("every nonblocking and persistent collective") {
    test::with_ranks(2, [](stretto_comm comm) {
        std::vector<float> send(8, 1), recv(8, 2);
        const auto in = send.data();
        const auto out = recv.data();
        // What is refused gives no request, and leaves none behind.
        stretto_request request = reinterpret_cast<stretto_request>(&send);
        stretto_request *const place = &request;
        const auto none = [&](stretto_status status) {
            CHECK(request == nullptr);
            request = reinterpret_cast<stretto_request>(&send);
            return status;
        };
        constexpr auto f32 = STRETTO_FLOAT32;
        constexpr auto sum = STRETTO_SUM;
        refused(
            comm,
            {{"iallreduce",
              [&] { return none(stretto_iallreduce(comm, nullptr, out, 4, f32, sum, place)); },
              "send buffer"},
             {"iallreduce",
              [&] { return none(stretto_iallreduce(comm, in, out, SIZE_MAX, f32, sum, place)); },
              "count"},
             {"iallreduce",
              [&] { return none(stretto_iallreduce(nullptr, in, out, 4, f32, sum, place)); },
              "communicator"},
             {"iallreduce", [&] { return stretto_iallreduce(comm, in, out, 4, f32, sum, nullptr); },
              "request"},
             {"ireduce",
              [&] { return none(stretto_ireduce(comm, in, out, 4, f32, sum, 2, place)); }, "root"},
             {"ireduce", [&] { return stretto_ireduce(comm, in, out, 4, f32, sum, 0, nullptr); },
              "request"},
             {"ibroadcast", [&] { return none(stretto_ibroadcast(comm, out, 4, f32, -1, place)); },
              "root"},
             {"ibroadcast",
              [&] { return none(stretto_ibroadcast(comm, nullptr, 4, f32, 0, place)); }, "buffer"},
             {"ibroadcast", [&] { return stretto_ibroadcast(comm, out, 4, f32, 0, nullptr); },
              "request"},
             {"ireduce_scatter",
              [&] { return none(stretto_ireduce_scatter(comm, in, nullptr, 4, f32, sum, place)); },
              "receive buffer"},
             {"ireduce_scatter",
              [&] { return stretto_ireduce_scatter(comm, in, out, 4, f32, sum, nullptr); },
              "request"},
             {"iallgather",
              [&] {
                  return none(
                      stretto_iallgather(comm, in, out, 4, beyond<stretto_dtype>(77), place));
              },
              "dtype"},
             {"iallgather", [&] { return stretto_iallgather(comm, in, out, 4, f32, nullptr); },
              "request"},
             {"ibarrier", [&] { return none(stretto_ibarrier(nullptr, place)); }, "communicator"},
             {"ibarrier", [&] { return stretto_ibarrier(comm, nullptr); }, "request"},
             {"allreduce_init",
              [&] { return none(stretto_allreduce_init(comm, in, in, 4, f32, sum, place)); },
              "STRETTO_IN_PLACE"},
             {"allreduce_init",
              [&] { return stretto_allreduce_init(comm, in, out, 4, f32, sum, nullptr); },
              "request"}});
    });
}

TEST_CASE("requests") {
    test::with_ranks(2, [](stretto_comm comm) {
        int done = 0;
        float x = 1, y = 0;
        stretto_request persistent = nullptr, running = nullptr;
        test::check(
            stretto_allreduce_init(comm, &x, &y, 1, STRETTO_FLOAT32, STRETTO_SUM, &persistent));
        test::check(stretto_iallreduce(comm, &x, &y, 1, STRETTO_FLOAT32, STRETTO_SUM, &running));
        refused(
            comm,
            {{"start nothing", [] { return stretto_start(nullptr); }, "persistent"},
             {"start a nonblocking one", [&] { return stretto_start(running); }, "persistent"},
             {"wait nowhere", [] { return stretto_wait(nullptr); }, "NULL"},
             {"test nowhere", [&] { return stretto_test(nullptr, &done); }, "NULL"},
             {"test without answer", [&] { return stretto_test(&running, nullptr); }, "NULL"},
             {"free nowhere", [] { return stretto_request_free(nullptr); }, "NULL"},
             {"free while it runs", [&] { return stretto_request_free(&running); }, "running"}});
        test::check(stretto_start(persistent));
        refused(comm, {{"start twice", [&] { return stretto_start(persistent); }, "runs already"},
                       {"free a running one", [&] { return stretto_request_free(&persistent); },
                        "running"}});
        test::check(stretto_wait(&running));
        test::check(stretto_wait(&persistent));
        test::check(stretto_wait(&persistent)); // has ended: nothing to wait for
        test::check(stretto_request_free(&persistent));
        CHECK(persistent == nullptr);
        test::check(stretto_request_free(&persistent)); // nothing to free
        test::check(stretto_wait(&running));
    });
}

TEST_CASE("life, memory and reports") {
    stretto_comm none = nullptr;
    CHECK(stretto_finalize(nullptr) == STRETTO_ERR_ARGUMENT);
    CHECK(stretto_finalize(&none) == STRETTO_ERR_ARGUMENT);
    CHECK(stretto_init(nullptr) == STRETTO_ERR_ARGUMENT);
    CHECK(stretto_init_explicit(0, 1, "job", nullptr) == STRETTO_ERR_ARGUMENT);
    for (const auto &[rank, size] : std::vector<std::pair<int, int>>{
             {-1, 2}, {2, 2}, {0, 0}, {0, -1}, {INT_MAX, INT_MAX}, {INT_MIN, 1}}) {
        CHECK(stretto_init_explicit(rank, size, "job", &none) == STRETTO_ERR_ARGUMENT);
        CHECK(none == nullptr);
    }
    CHECK(stretto_init_explicit(0, 1, nullptr, &none) == STRETTO_ERR_ARGUMENT);
    CHECK(stretto_init_explicit(0, 1, "", &none) == STRETTO_ERR_ARGUMENT);
    CHECK(stretto_init_explicit(0, INT_MAX, "job", &none) == STRETTO_ERR_ARGUMENT); // too many

    CHECK(std::string(stretto_status_name(static_cast<stretto_status>(-5))) == "unknown status");
    CHECK(std::string(stretto_status_name(static_cast<stretto_status>(1000))) == "unknown status");

    test::with_ranks(2, [](stretto_comm comm) {
        void *memory = nullptr;
        int local = 0;
        std::size_t count = 0;
        const char *name = nullptr;
        double number = 0;
        refused(
            comm,
            {{"alloc", [&] { return stretto_alloc(nullptr, 8, &memory); }, "NULL"},
             {"alloc", [&] { return stretto_alloc(comm, 8, nullptr); }, "NULL"},
             {"free", [&] { return stretto_free(nullptr, &local); }, "NULL"},
             {"free of other memory", [&] { return stretto_free(comm, &local); }, "did not give"},
             {"force", [&] { return stretto_force_algorithm(nullptr, "ring"); }, "NULL"},
             {"force", [&] { return stretto_force_algorithm(comm, "rink"); }, "ring"},
             {"force", [&] { return stretto_force_algorithm(comm, "ring(segments=2)"); }, "none"},
             {"force", [&] { return stretto_force_algorithm(comm, "ring("); }, "parenthesis"},
             {"stats", [&] { return stretto_stats(nullptr, nullptr, 0, &count); }, "NULL"},
             {"stats", [&] { return stretto_stats(comm, nullptr, 0, nullptr); }, "NULL"},
             {"stats", [&] { return stretto_stats(comm, nullptr, 1, &count); }, "NULL"},
             {"stats_reset", [&] { return stretto_stats_reset(nullptr); }, "NULL"},
             {"chosen",
              [&] { return stretto_chosen_algorithm(comm, "allsum", 1, STRETTO_FLOAT32, &name); },
              "allreduce"},
             {"chosen",
              [&] { return stretto_chosen_algorithm(comm, nullptr, 1, STRETTO_FLOAT32, &name); },
              "NULL"},
             {"chosen",
              [&] {
                  return stretto_chosen_algorithm(comm, "allreduce", 1, STRETTO_FLOAT32, nullptr);
              },
              "NULL"},
             {"chosen",
              [&] {
                  return stretto_chosen_algorithm(comm, "allgather", SIZE_MAX, STRETTO_FLOAT32,
                                                  &name);
              },
              "count"},
             {"chosen",
              [&] { return stretto_chosen_algorithm(comm, "custom", 1, STRETTO_FLOAT32, &name); },
              "allreduce"},
             {"chosen",
              [&] {
                  return stretto_chosen_algorithm(comm, "allreduce", 1, beyond<stretto_dtype>(-3),
                                                  &name);
              },
              "dtype"},
             {"chosen",
              [&] {
                  return stretto_chosen_algorithm(nullptr, "allreduce", 1, STRETTO_FLOAT32, &name);
              },
              "NULL"},
             {"probe", [&] { return stretto_probe_memory(nullptr, &number); }, "NULL"},
             {"probe", [&] { return stretto_probe_memory(comm, nullptr); }, "NULL"}});
        CHECK(stretto_alloc(comm, SIZE_MAX, &memory) == STRETTO_ERR_MEMORY);
        CHECK(stretto_alloc(comm, SIZE_MAX / 2, &memory) == STRETTO_ERR_MEMORY);
        test::check(stretto_free(comm, nullptr));
        test::check(stretto_alloc(comm, 0, &memory));
        test::check(stretto_free(comm, memory));
        CHECK(stretto_free(comm, memory) == STRETTO_ERR_ARGUMENT); // twice
        test::check(stretto_stats(comm, nullptr, 0, &count));
    });
}

TEST_CASE("an algorithm for other numbers of ranks is unsupported, says so, and sends nothing") {
    test::with_ranks(3, [](stretto_comm comm) {
        if (stretto_force_algorithm(comm, "recursive_halving") == STRETTO_OK)
            return; // runs on any
        CHECK(std::string(stretto_last_error()).find("cannot run on 3 ranks") != std::string::npos);
        CHECK(stretto_barrier(comm) == STRETTO_OK);
    });
}
