// SPDX-License-Identifier: BSD-3-Clause
// Calls whose steps complete late and in any order: exact, by every algorithm, several in flight.
#include "doctest.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/choices.hpp"
#include "support/deferred.hpp"
#include "support/environment.hpp"
#include "support/exact.hpp"
#include "support/oracle.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"

namespace {

using test::Call;
using test::check;
using test::Collective;
using test::Deferred;
using test::With;

// Executors that are polled differ in how ranks wait: fewer numbers of ranks will do.
std::vector<int> sizes(Deferred::Tells tells) {
    if (test::full_tier())
        return {1, 2, 3, 5, 7, 8, 13};
    const bool polled = tells == Deferred::Tells::polled;
    if (test::sampled())
        return polled ? std::vector{3} : std::vector{1, 2, 3, 5};
    return polled ? std::vector{2, 5} : std::vector{1, 2, 3, 5, 7, 8};
}

// Starts calls of all these counts, makes a blocking call meanwhile, and waits for them, the last
// one first.
void fly(stretto_comm comm, Collective collective, const std::vector<std::size_t> &counts,
         std::size_t turn) {
    std::vector<std::pair<Call, std::unique_ptr<test::Played>>> flights;
    const auto next = [&](std::size_t count) {
        Call call;
        call.collective = collective;
        call.count = count;
        const test::Pair &pair = test::pairs()[turn % test::pairs().size()];
        call.dtype = pair.dtype;
        call.op = pair.op;
        call.root = static_cast<int>(turn % static_cast<std::size_t>(stretto_size(comm)));
        call.in_place = turn % 2 == 1;
        call.shared = turn / 2 % 3 == 2;
        call.salt = turn++;
        return call;
    };
    const auto judge = [&](const Call &call, test::Played &played) {
        const std::string wrong = played.verdict();
        CHECK_MESSAGE(wrong == "", "rank ", stretto_rank(comm), ", ", label(call), ": ", wrong);
    };
    std::vector<stretto_request> requests(counts.size());
    for (std::size_t k = 0; k < counts.size(); ++k) {
        const Call call = next(counts[k]);
        flights.emplace_back(call, test::prepare(comm, call));
        check(flights.back().second->start(&requests[k]));
    }
    const Call between = next(counts.back());
    const std::unique_ptr<test::Played> blocking = test::prepare(comm, between);
    check(blocking->run());
    judge(between, *blocking);
    for (std::size_t k = counts.size(); k-- > 0;) {
        check(stretto_wait(&requests[k]));
        judge(flights[k].first, *flights[k].second);
    }
}

} // namespace

TEST_CASE("every algorithm is exact whenever its steps complete, with several calls in flight") {
    // Long vectors are cut into many slices, which go round small rings.
    const With ring("STRETTO_RING_BYTES", "32768");
    const With slice("STRETTO_SLICE_BYTES", "2048");
    for (const auto tells : {Deferred::Tells::signals, Deferred::Tells::polled})
        for (const int ranks : sizes(tells)) {
            CAPTURE(ranks);
            Deferred executor(tells, static_cast<std::uint64_t>(ranks));
            const test::Registered registered(stretto::MemoryKind::host, executor);
            test::with_ranks(ranks, [&](stretto_comm comm) {
                const auto p = static_cast<std::size_t>(ranks);
                std::size_t turn = p;
                for (const test::Choice &choice : test::choices(ranks)) {
                    if (choice.collective == Collective::barrier)
                        continue;
                    CAPTURE(choice.name);
                    force(comm, choice);
                    const std::size_t longest = in_parts(choice) ? 20'011 / p : 20'011;
                    fly(comm, choice.collective, {0, 1, p - 1, p + 1, 1009, longest}, turn);
                    turn += 5;
                }
            });
            CHECK(executor.ever_taken() > 0);
        }
}

TEST_CASE("ranks whose steps complete late play with ranks whose steps do not") {
    Deferred executor(Deferred::Tells::signals);
    const std::string job = test::fresh_job();
    std::array<stretto_comm, 3> comms{};
    // An executor serves the calls that are planned while it is registered.
    const auto play = [&](int rank) {
        for (const Collective collective : {Collective::allreduce, Collective::alltoall})
            for (const bool in_place : {false, true}) {
                Call call;
                call.collective = collective;
                call.count = 50'021;
                call.in_place = in_place;
                CHECK(test::play(comms[static_cast<std::size_t>(rank)], call) == "");
            }
    };
    test::on_threads(3, [&](int rank) {
        check(stretto_init_explicit(rank, 3, job.c_str(), &comms[static_cast<std::size_t>(rank)]));
        const char *chosen = nullptr;
        const auto plan = [&] {
            for (const char *collective : {"allreduce", "alltoall"})
                check(stretto_chosen_algorithm(comms[static_cast<std::size_t>(rank)], collective,
                                               50'021, STRETTO_FLOAT32, &chosen));
        };
        if (rank != 1)
            plan();
    });
    {
        const test::Registered registered(stretto::MemoryKind::host, executor);
        test::on_threads(3, play);
    }
    CHECK(executor.ever_taken() > 0);
    test::on_threads(
        3, [&](int rank) { check(stretto_finalize(&comms[static_cast<std::size_t>(rank)])); });
}
