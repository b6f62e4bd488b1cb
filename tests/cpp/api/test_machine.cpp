// SPDX-License-Identifier: BSD-3-Clause
// What the library says of its settings, and of the machine.
#include "doctest.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "support/environment.hpp"
#include "support/processes.hpp"
#include "support/world.hpp"

namespace {

using test::With;

struct Line {
    std::string type, value, fallback, error;
    std::uint64_t number;
    stretto_source source;
};

std::map<std::string, Line> settings_of(stretto_comm comm) {
    std::size_t count = 0;
    test::check(stretto_settings(comm, nullptr, 0, &count));
    std::vector<stretto_setting> lines(count);
    test::check(stretto_settings(comm, lines.data(), count, &count));
    std::map<std::string, Line> result;
    for (const stretto_setting &line : lines)
        result[line.name] = {line.type,   line.value, line.fallback, line.error ? line.error : "",
                             line.number, line.source};
    return result;
}

std::string algorithm_of(stretto_comm comm) {
    const char *algorithm = nullptr;
    test::check(stretto_chosen_algorithm(comm, "allreduce", 1000, STRETTO_FLOAT32, &algorithm));
    return algorithm;
}

} // namespace

// The first of this file: no kernel has been used yet.
TEST_CASE("the first job of a process decides which kernels the process uses") {
    const auto codes = test::on_bare_processes(2, [](int malformed) {
        stretto_comm comm = nullptr;
        setenv("STRETTO_ISA", "baseline", 1);
        setenv("STRETTO_REP_MOVSB", "0", 1);
        if (malformed != 0) { // then there is no job
            setenv("STRETTO_SPIN", "soon", 1);
            if (stretto_init_explicit(0, 1, test::fresh_job().c_str(), &comm) !=
                STRETTO_ERR_ARGUMENT)
                return 1;
            unsetenv("STRETTO_SPIN");
        }
        if (stretto_init_explicit(0, 1, test::fresh_job().c_str(), &comm) != STRETTO_OK)
            return 2;
        unsetenv("STRETTO_ISA");
        unsetenv("STRETTO_REP_MOVSB");
        stretto_comm later = nullptr;
        if (stretto_init_explicit(0, 1, test::fresh_job().c_str(), &later) != STRETTO_OK)
            return 3;
        stretto_machine machine{};
        if (stretto_examine(&machine) != STRETTO_OK)
            return 4;
        return std::string(machine.kernels) == "baseline" && machine.string_copies == 0 ? 0 : 5;
    });
    CHECK(codes == std::vector<int>{0, 0});
}

TEST_CASE("settings show their values and their sources") {
    const With timeout("STRETTO_TIMEOUT", "2min"), plan("STRETTO_PLAN_BYTES", "");
    const auto now = settings_of(nullptr);
    CHECK(now.at("STRETTO_TIMEOUT").value == "2min");
    CHECK(now.at("STRETTO_TIMEOUT").type == "duration");
    CHECK(now.at("STRETTO_TIMEOUT").number == 120'000'000'000);
    CHECK(now.at("STRETTO_TIMEOUT").fallback == "600");
    CHECK(now.at("STRETTO_TIMEOUT").source == STRETTO_SOURCE_ENVIRONMENT);
    CHECK(now.at("STRETTO_PLAN_BYTES").value == "64M");
    CHECK(now.at("STRETTO_PLAN_BYTES").number == 64 << 20);
    CHECK(now.at("STRETTO_PLAN_BYTES").source == STRETTO_SOURCE_DEFAULT);
    for (const auto &[name, line] : now)
        CHECK_MESSAGE(line.error == "", name);
}

TEST_CASE("a malformed setting has an error, and the call succeeds") {
    const With spin("STRETTO_SPIN", "soon"), other("STRETTO_TIMEOT", "5");
    const auto now = settings_of(nullptr);
    CHECK(now.at("STRETTO_SPIN").value == "soon");
    CHECK(now.at("STRETTO_SPIN").number == 0);
    CHECK(now.at("STRETTO_SPIN").error.find("STRETTO_SPIN is 'soon'; it takes a time") == 0);
    CHECK(now.at("STRETTO_TIMEOT").type == "unknown");
    CHECK(now.at("STRETTO_TIMEOT").value == "5");
    CHECK(now.at("STRETTO_TIMEOT").error.find("did you mean STRETTO_TIMEOUT?") !=
          std::string::npos);
}

TEST_CASE("no more lines are filled than there is room for") {
    std::size_t count = 0;
    stretto_setting lines[3] = {};
    test::check(stretto_settings(nullptr, lines, 2, &count));
    CHECK(count > 2);
    CHECK(std::string(lines[1].name) == "STRETTO_STALL_WARNING");
    CHECK(lines[2].name == nullptr);
    CHECK(stretto_settings(nullptr, nullptr, 2, &count) == STRETTO_ERR_ARGUMENT);
    CHECK(stretto_settings(nullptr, lines, 2, nullptr) == STRETTO_ERR_ARGUMENT);
}

TEST_CASE("a communicator shows its own settings, not later changes of the environment") {
    const With ring("STRETTO_RING_BYTES", "65536"), mode("STRETTO_REPRODUCIBLE", "run");
    test::with_ranks(3, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        test::check(stretto_barrier(comm));
        if (rank == 0)
            setenv("STRETTO_TIMEOUT", "1", 1);
        test::check(stretto_barrier(comm));
        auto now = settings_of(comm);
        test::check(stretto_barrier(comm)); // nobody reads the environment from here on
        CHECK(now.at("STRETTO_TIMEOUT").value == "600");
        CHECK(now.at("STRETTO_TIMEOUT").source == STRETTO_SOURCE_DEFAULT);
        CHECK(now.at("STRETTO_RANK").number == static_cast<std::uint64_t>(rank));
        CHECK(now.at("STRETTO_SIZE").value == "3");
        CHECK(now.at("STRETTO_SIZE").source == STRETTO_SOURCE_PROGRAM);
        CHECK(now.at("STRETTO_RING_BYTES").number == 65536);
        CHECK(now.at("STRETTO_RING_BYTES").value == (rank == 0 ? "65536" : "64K"));
        CHECK(now.at("STRETTO_RING_BYTES").source ==
              (rank == 0 ? STRETTO_SOURCE_ENVIRONMENT : STRETTO_SOURCE_RANK_0));
        CHECK(now.at("STRETTO_REPRODUCIBLE").value == "run");
        CHECK(now.at("STRETTO_REPRODUCIBLE").source == STRETTO_SOURCE_ENVIRONMENT);
        CHECK(now.at("STRETTO_ALGORITHM").source == STRETTO_SOURCE_DEFAULT);

        test::check(stretto_set_reproducible(comm, STRETTO_REPRODUCIBLE_FULL));
        test::check(stretto_force_algorithm(comm, "ring"));
        CHECK(stretto_force_algorithm(comm, "rong") == STRETTO_ERR_ARGUMENT); // changes nothing
        now = settings_of(comm);
        CHECK(now.at("STRETTO_REPRODUCIBLE").value == "full");
        CHECK(now.at("STRETTO_REPRODUCIBLE").source == STRETTO_SOURCE_PROGRAM);
        CHECK(now.at("STRETTO_ALGORITHM").value == "ring");
        CHECK(now.at("STRETTO_ALGORITHM").source == STRETTO_SOURCE_PROGRAM);
        test::check(stretto_force_algorithm(comm, nullptr));
        CHECK(settings_of(comm).at("STRETTO_ALGORITHM").value == "");
    });
    unsetenv("STRETTO_TIMEOUT");
}

TEST_CASE("children have the settings of their parent") {
    test::with_ranks(2, [](stretto_comm comm) {
        test::check(stretto_force_algorithm(comm, "direct"));
        test::check(stretto_set_reproducible(comm, STRETTO_REPRODUCIBLE_RUN));
        stretto_comm twin = nullptr, part = nullptr;
        test::check(stretto_comm_dup(comm, &twin));
        test::check(stretto_comm_split(comm, 0, -stretto_rank(comm), &part));
        CHECK(settings_of(twin).at("STRETTO_ALGORITHM").value == "direct");
        const auto of_part = settings_of(part);
        CHECK(of_part.at("STRETTO_ALGORITHM").value == ""); // as stretto.h says
        CHECK(of_part.at("STRETTO_REPRODUCIBLE").value == "run");
        CHECK(of_part.at("STRETTO_REPRODUCIBLE").source == STRETTO_SOURCE_PROGRAM);
        CHECK(of_part.at("STRETTO_RANK").number == static_cast<std::uint64_t>(stretto_rank(part)));
        test::check(stretto_finalize(&part));
        test::check(stretto_finalize(&twin));
    });
}

TEST_CASE("children go by what the environment was when their job began") {
    std::optional<With> ring, timeout, mode, forced;
    test::with_ranks(3, [&](stretto_comm comm) {
        test::check(stretto_barrier(comm));
        if (stretto_rank(comm) == 0) {
            ring.emplace("STRETTO_RING_BYTES", "no size");
            timeout.emplace("STRETTO_TIMEOUT", "1");
            mode.emplace("STRETTO_REPRODUCIBLE", "full");
            forced.emplace("STRETTO_ALGORITHM", "ring");
        }
        test::check(stretto_barrier(comm));
        stretto_comm twin = nullptr, grandchild = nullptr;
        test::check(stretto_comm_split(comm, 0, 0, &twin));
        test::check(stretto_comm_split(twin, 0, 0, &grandchild));
        for (stretto_comm child : {twin, grandchild}) {
            const auto now = settings_of(child), before = settings_of(comm);
            for (const char *name : {"STRETTO_RING_BYTES", "STRETTO_TIMEOUT",
                                     "STRETTO_REPRODUCIBLE", "STRETTO_ALGORITHM"}) {
                CAPTURE(std::string(name));
                CHECK(now.at(name).value == before.at(name).value);
                CHECK(now.at(name).source == before.at(name).source);
            }
            CHECK(algorithm_of(child) == algorithm_of(comm));
        }
        test::check(stretto_finalize(&grandchild));
        test::check(stretto_finalize(&twin));
    });
    stretto_comm next = nullptr; // the next job reads anew
    CHECK(stretto_init_explicit(0, 1, test::fresh_job().c_str(), &next) == STRETTO_ERR_ARGUMENT);
    ring.reset();
    test::check(stretto_init_explicit(0, 1, test::fresh_job().c_str(), &next));
    CHECK(settings_of(next).at("STRETTO_TIMEOUT").number == 1'000'000'000);
    CHECK(settings_of(next).at("STRETTO_ALGORITHM").value == "ring");
    test::check(stretto_finalize(&next));
}

TEST_CASE("a rank alone has no launcher to thank") {
    stretto_comm comm = nullptr;
    test::check(stretto_init(&comm));
    const auto now = settings_of(comm);
    CHECK(now.at("STRETTO_SIZE").value == "1");
    CHECK(now.at("STRETTO_SIZE").source == STRETTO_SOURCE_DEFAULT);
    test::check(stretto_finalize(&comm));
}

TEST_CASE("the machine is the part that this thread may use") {
    stretto_machine machine{};
    test::check(stretto_examine(&machine));
    CHECK(stretto_examine(nullptr) == STRETTO_ERR_ARGUMENT);
    const std::string able(machine.kernels_able), built(machine.kernels_built);
    CHECK(able.find("baseline") == 0);
    CHECK(built.find(able) == 0);
    CHECK(able.find(machine.kernels) != std::string::npos);
    CHECK(std::strlen(machine.build) > 0);
    CHECK(machine.cores >= 1);
    REQUIRE(machine.cores_allowed > 0); // known here
    CHECK(machine.cores <= machine.cores_allowed);
    CHECK(machine.cores_allowed <= machine.cores_online);
    CHECK(machine.memory_available > 0);
    CHECK(machine.memory_available < UINT64_MAX); // known here
    CHECK((machine.string_copies == 0 || machine.string_copies == 1));
    REQUIRE(machine.ucx != nullptr);
    if (access("/sys/class/infiniband", F_OK) != 0)
        CHECK(std::string(machine.ucx).find("no device for RDMA on this host") == 0);

    std::thread([] { // on one core
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
        CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
        stretto_machine narrow{};
        test::check(stretto_examine(&narrow));
        CHECK(narrow.cores == 1);
        CHECK(narrow.cores_allowed == 1);
    })
        .join();
}
