// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments of every function of the API: refused before anything is sent, with a message
// that says what is wrong, and the communicator is as it was.  Here collectives and requests; the
// rest in arguments_*.cpp.
#include "doctest.h"

#include <climits>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/calls.hpp"
#include "support/refused.hpp"
#include "support/text.hpp"

using test::beyond;
using test::kHuge;
using test::refused;
using test::Wrong;

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

TEST_CASE("every call that gives a request") {
    // With good arguments but for these.
    struct With {
        stretto_comm comm;
        stretto_dtype dtype;
        std::size_t count;
        int root;
        const void *in;
        void *out;
        stretto_request *request;
    };
    struct Start {
        const char *name;
        bool has_root, has_in;
        stretto_status (*call)(const With &with);
    };
    constexpr auto kSum = STRETTO_SUM;
    static const std::vector<Start> starts = {
        {"iallreduce", false, true,
         [](const With &w) {
             return stretto_iallreduce(w.comm, w.in, w.out, w.count, w.dtype, kSum, w.request);
         }},
        {"allreduce_init", false, true,
         [](const With &w) {
             return stretto_allreduce_init(w.comm, w.in, w.out, w.count, w.dtype, kSum, w.request);
         }},
        {"ireduce", true, true,
         [](const With &w) {
             return stretto_ireduce(w.comm, w.in, w.out, w.count, w.dtype, kSum, w.root, w.request);
         }},
        {"ibroadcast", true, false,
         [](const With &w) {
             return stretto_ibroadcast(w.comm, w.out, w.count, w.dtype, w.root, w.request);
         }},
        {"ireduce_scatter", false, true,
         [](const With &w) {
             return stretto_ireduce_scatter(w.comm, w.in, w.out, w.count, w.dtype, kSum, w.request);
         }},
        {"iallgather", false, true,
         [](const With &w) {
             return stretto_iallgather(w.comm, w.in, w.out, w.count, w.dtype, w.request);
         }},
        {"igather", true, true,
         [](const With &w) {
             return stretto_igather(w.comm, w.in, w.out, w.count, w.dtype, w.root, w.request);
         }},
        {"iscatter", true, true,
         [](const With &w) {
             return stretto_iscatter(w.comm, w.in, w.out, w.count, w.dtype, w.root, w.request);
         }},
        {"ialltoall", false, true,
         [](const With &w) {
             return stretto_ialltoall(w.comm, w.in, w.out, w.count, w.dtype, w.request);
         }},
        {"iallgatherv", false, true,
         [](const With &w) {
             const std::size_t counts[] = {1, w.count};
             return stretto_iallgatherv(w.comm, w.in, w.out, counts, w.dtype, w.request);
         }},
        {"ireduce_scatterv", false, true,
         [](const With &w) {
             const std::size_t counts[] = {w.count, 1};
             return stretto_ireduce_scatterv(w.comm, w.in, w.out, counts, w.dtype, kSum, w.request);
         }},
    };
    test::with_ranks(2, [](stretto_comm comm) {
        std::vector<float> send(8, 1), recv(8, 2);
        // What is refused gives no request, and leaves none behind.
        stretto_request request = nullptr;
        const With good{comm,        STRETTO_FLOAT32, 2,       stretto_rank(comm),
                        send.data(), recv.data(),     &request};
        std::vector<Wrong> cases;
        for (const Start &start : starts) {
            const auto add = [&](const std::string &what, auto &&change, const char *message) {
                With with = good;
                change(with);
                cases.push_back({std::string(start.name) + ": " + what,
                                 [=, &send, &request, call = start.call] {
                                     request = reinterpret_cast<stretto_request>(&send);
                                     const stretto_status status = call(with);
                                     CHECK((request == nullptr) == (with.request != nullptr));
                                     return status;
                                 },
                                 message});
            };
            add("no communicator", [](With &w) { w.comm = nullptr; }, "communicator is NULL");
            add("no request", [](With &w) { w.request = nullptr; }, "request is NULL");
            add("dtype", [](With &w) { w.dtype = beyond<stretto_dtype>(77); }, "dtype");
            add("count", [](With &w) { w.count = SIZE_MAX; }, "too large");
            add("no output", [](With &w) { w.out = nullptr; }, "receive buffer is NULL");
            if (start.has_in) {
                add("no input", [](With &w) { w.in = nullptr; }, "send buffer is NULL");
                add("input is output", [](With &w) { w.in = w.out; }, "STRETTO_IN_PLACE");
            }
            if (start.has_root)
                for (const int root : {-1, 2})
                    add("root", [=](With &w) { w.root = root; }, "root");
        }
        stretto_request *const place = &request;
        cases.push_back(
            {"ibarrier", [=] { return stretto_ibarrier(nullptr, place); }, "communicator"});
        cases.push_back({"ibarrier", [=] { return stretto_ibarrier(comm, nullptr); }, "request"});
        refused(comm, cases);
        for (const float untouched : recv)
            CHECK(untouched == 2);
    });
}

TEST_CASE("a count for each rank") {
    test::with_ranks(3, [](stretto_comm comm) {
        std::vector<double> send(30, 1), recv(30, 2);
        constexpr std::size_t kEach = SIZE_MAX / 16;
        const std::size_t one[] = {1, SIZE_MAX, 1}, sum[] = {kEach, kEach, 2},
                          wraps[] = {SIZE_MAX, 1, 2}, good[] = {1, 2, 3};
        constexpr auto f64 = STRETTO_FLOAT64;
        std::vector<Wrong> cases;
        const auto both = [&](const char *what, const void *in, void *out,
                              const std::size_t *counts, const char *message) {
            cases.push_back({std::string("allgatherv: ") + what,
                             [=] { return stretto_allgatherv(comm, in, out, counts, f64); },
                             message});
            cases.push_back(
                {std::string("reduce_scatterv: ") + what,
                 [=] { return stretto_reduce_scatterv(comm, in, out, counts, f64, STRETTO_SUM); },
                 message});
        };
        both("no counts", send.data(), recv.data(), nullptr, "counts are NULL");
        for (const std::size_t *counts : {one, sum, wraps})
            both("counts", send.data(), recv.data(), counts, "counts are too large");
        both("no input", nullptr, recv.data(), good, "send buffer is NULL");
        both("no output", send.data(), nullptr, good, "receive buffer is NULL");
        both("input is output", send.data(), send.data(), good, "STRETTO_IN_PLACE");
        cases.push_back({"allgatherv: no communicator",
                         [&] { return stretto_allgatherv(nullptr, &send, &recv, good, f64); },
                         "communicator is NULL"});
        cases.push_back(
            {"reduce_scatterv: no communicator",
             [&] { return stretto_reduce_scatterv(nullptr, &send, &recv, good, f64, STRETTO_SUM); },
             "communicator is NULL"});
        cases.push_back({"reduce_scatterv: op",
                         [&] {
                             return stretto_reduce_scatterv(comm, send.data(), recv.data(), good,
                                                            f64, STRETTO_BAND);
                         },
                         "there is no band of float64"});
        refused(comm, cases);
        for (const double untouched : recv)
            CHECK(untouched == 2);
    });
}

TEST_CASE("requests") {
    test::with_ranks(2, [](stretto_comm comm) {
        int done = 0;
        float x = 1, y = 0;
        stretto_request persistent = nullptr, running = nullptr;
        const stretto_notify_function told = [](stretto_status, const char *, void *) {};
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
             {"notify of nothing", [&] { return stretto_request_notify(nullptr, told, nullptr); },
              "NULL"},
             {"notify nobody", [&] { return stretto_request_notify(running, nullptr, nullptr); },
              "NULL"},
             {"notify of an idle one",
              [&] { return stretto_request_notify(persistent, told, nullptr); }, "does not run"},
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

TEST_CASE("batches") {
    test::with_ranks(2, [](stretto_comm comm) {
        float x = 1;
        const stretto_part part{STRETTO_IN_PLACE, &x, 1}, none{STRETTO_IN_PLACE, nullptr, 1},
            huge[] = {{STRETTO_IN_PLACE, &x, 1}, {STRETTO_IN_PLACE, &x, SIZE_MAX}};
        stretto_request request = nullptr;
        const auto type = STRETTO_FLOAT32;
        const auto blocking = [&](const stretto_part *parts, std::size_t count) {
            return stretto_allreduce_batch(comm, parts, count, type, STRETTO_SUM);
        };
        refused(
            comm,
            {{"no communicator",
              [&] { return stretto_allreduce_batch(nullptr, &part, 1, type, STRETTO_SUM); },
              "communicator is NULL"},
             {"no communicator to start it",
              [&] {
                  return stretto_iallreduce_batch(nullptr, &part, 1, type, STRETTO_SUM, &request);
              },
              "communicator is NULL"},
             {"no request",
              [&] { return stretto_iallreduce_batch(comm, &part, 1, type, STRETTO_SUM, nullptr); },
              "request is NULL"},
             {"no parts", [&] { return blocking(nullptr, 1); }, "parts are NULL"},
             {"no buffer", [&] { return blocking(&none, 1); }, "buffer is NULL"},
             {"too many elements", [&] { return blocking(huge, 2); }, "too large"},
             {"no such pair",
              [&] { return stretto_allreduce_batch(comm, &part, 1, type, STRETTO_BAND); },
              "band"}});
    });
}

TEST_CASE("no function is left out") {
    // Those that take no argument, or any.
    const std::set<std::string> exempt = {"stretto_last_error",
                                          "stretto_version",
                                          "stretto_set_idle",
                                          "stretto_set_interrupt",
                                          "stretto_set_forced_fallback",
                                          "stretto_on_device",
                                          "stretto_stream_synchronize", // device/test_streams
                                          "stretto_cuda_alloc",         // device/test_memory
                                          "stretto_cuda_free",          // device/test_memory
                                          "stretto_stream_begin",       // device/test_order
                                          "stretto_stream_follow",      // device/test_order
                                          "stretto_stream_wait", // device/test_ordered_messages
                                          "stretto_stream_end"};
    const auto text_of = [](const std::filesystem::path &path) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        REQUIRE(!text.str().empty());
        return text.str();
    };
    const std::filesystem::path root(STRETTO_SOURCE);
    std::string tests = text_of(root / "tests/cpp/support/calls.hpp");
    for (const char *file : {"test_arguments.cpp", "arguments_messages.cpp", "arguments_life.cpp"})
        tests += text_of(root / "tests/cpp/api" / file);
    std::string header;
    for (const auto &each : std::filesystem::directory_iterator(root / "include/stretto"))
        header += text_of(each.path());
    int functions = 0;
    for (std::size_t at = 0; (at = header.find("STRETTO_API ", at)) != std::string::npos; ++at) {
        const std::size_t end = header.find('(', at), begin = header.rfind("stretto_", end);
        if (header.substr(at, 30).find("__attribute__") != std::string::npos)
            continue; // its definition
        const std::string name = header.substr(begin, end - begin);
        CAPTURE(name);
        CHECK((exempt.contains(name) || test::contains(tests, name + "(")));
        ++functions;
    }
    CHECK(functions > 60);
}
