// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments (test_arguments.cpp) of all that is no communication.
#include "doctest.h"

#include <climits>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "support/refused.hpp"

using test::beyond;
using test::refused;

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

    const stretto_allgather_function nobody = [](const void *, void *, std::size_t, void *) {
        return 1;
    };
    CHECK(stretto_init_by_exchange(0, 1, nobody, nullptr, nullptr) == STRETTO_ERR_ARGUMENT);
    CHECK(stretto_init_by_exchange(0, 1, nullptr, nullptr, &none) == STRETTO_ERR_ARGUMENT);
    CHECK(stretto_init_by_exchange(1, 1, nobody, nullptr, &none) == STRETTO_ERR_ARGUMENT);
    CHECK(stretto_init_by_exchange(-1, 1, nobody, nullptr, &none) == STRETTO_ERR_ARGUMENT);
    CHECK(stretto_init_by_exchange(0, INT_MIN, nobody, nullptr, &none) == STRETTO_ERR_ARGUMENT);
    CHECK(none == nullptr);

    CHECK(stretto_rank(nullptr) == -1);
    CHECK(stretto_size(nullptr) == -1);

    CHECK(std::string(stretto_status_name(static_cast<stretto_status>(-5))) == "unknown status");
    CHECK(std::string(stretto_status_name(static_cast<stretto_status>(1000))) == "unknown status");

    test::with_ranks(2, [](stretto_comm comm) {
        void *memory = nullptr;
        int local = 0;
        std::size_t count = 0;
        const char *name = nullptr;
        double number = 0;
        std::int64_t offset = 0;
        stretto_message_queue queue{};
        int known = 0;
        refused(
            comm,
            {{"limit of none", [] { return stretto_set_timeout(nullptr, 1); }, "NULL"},
             {"limit", [&] { return stretto_set_timeout(comm, -1); }, "a time from 0"},
             {"limit", [&] { return stretto_set_timeout(comm, NAN); }, "a time from 0"},
             {"limit", [&] { return stretto_set_timeout(comm, INFINITY); }, "a time from 0"},
             {"limit of the thread", [] { return stretto_set_thread_timeout(-1); },
              "a time from 0"},
             {"limited wait", [] { return stretto_wait_for(nullptr, 1); }, "NULL"},
             {"limited wait", [] { return stretto_wait_for(nullptr, NAN); }, "a time from 0"},
             {"alloc", [&] { return stretto_alloc(nullptr, 8, &memory); }, "NULL"},
             {"alloc", [&] { return stretto_alloc(comm, 8, nullptr); }, "NULL"},
             {"free", [&] { return stretto_free(nullptr, &local); }, "NULL"},
             {"free of other memory", [&] { return stretto_free(comm, &local); }, "did not give"},
             {"mixed", [] { return stretto_set_mixed(nullptr, 1); }, "NULL"},
             {"force", [&] { return stretto_force_algorithm(nullptr, "ring"); }, "NULL"},
             {"force", [&] { return stretto_force_algorithm(comm, "rink"); }, "ring"},
             {"force", [&] { return stretto_force_algorithm(comm, "ring(segments=2)"); }, "none"},
             {"force", [&] { return stretto_force_algorithm(comm, "ring("); }, "parenthesis"},
             {"reproducible",
              [&] { return stretto_set_reproducible(nullptr, STRETTO_REPRODUCIBLE_RUN); }, "NULL"},
             {"reproducible",
              [&] { return stretto_set_reproducible(comm, beyond<stretto_reproducible>(3)); },
              "unknown mode"},
             {"reproducible",
              [&] { return stretto_set_reproducible(comm, beyond<stretto_reproducible>(-1)); },
              "unknown mode"},
             {"stats", [&] { return stretto_stats(nullptr, nullptr, 0, &count); }, "NULL"},
             {"stats", [&] { return stretto_stats(comm, nullptr, 0, nullptr); }, "NULL"},
             {"stats", [&] { return stretto_stats(comm, nullptr, 1, &count); }, "NULL"},
             {"stats_reset", [&] { return stretto_stats_reset(nullptr); }, "NULL"},
             {"phase_begin", [&] { return stretto_phase_begin(nullptr); }, "NULL"},
             {"edge", [&] { return stretto_edge(nullptr, 0.5); }, "NULL"},
             {"edge", [&] { return stretto_edge(comm, 0); }, "above 0 and at most 1"},
             {"set_stall_callback",
              [&] { return stretto_set_stall_callback(nullptr, [](auto, auto) {}, nullptr, 1, 1); },
              "NULL"},
             {"set_stall_callback",
              [&] { return stretto_set_stall_callback(comm, [](auto, auto) {}, nullptr, -1, 1); },
              "from 0"},
             {"set_stall_callback",
              [&] { return stretto_set_stall_callback(comm, [](auto, auto) {}, nullptr, 1, 0); },
              "above 0"},
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
             {"settings", [&] { return stretto_settings(comm, nullptr, 0, nullptr); }, "NULL"},
             {"settings", [&] { return stretto_settings(comm, nullptr, 1, &count); }, "NULL"},
             {"settings", [&] { return stretto_settings(nullptr, nullptr, 1, &count); }, "NULL"},
             {"examine", [] { return stretto_examine(nullptr); }, "NULL"},
             {"probe", [&] { return stretto_probe_memory(nullptr, &number); }, "NULL"},
             {"probe", [&] { return stretto_probe_memory(comm, nullptr); }, "NULL"},
             {"network", [&] { return stretto_network_profile(nullptr, &name); }, "NULL"},
             {"network", [&] { return stretto_network_profile(comm, nullptr); }, "NULL"},
             {"queues", [&] { return stretto_message_queues(nullptr, &queue, &queue); }, "NULL"},
             {"queues", [&] { return stretto_message_queues(comm, nullptr, &queue); }, "NULL"},
             {"queues", [&] { return stretto_message_queues(comm, &queue, nullptr); }, "NULL"},
             {"clock", [&] { return stretto_clock_offset(nullptr, &offset, &known); }, "NULL"},
             {"clock", [&] { return stretto_clock_offset(comm, nullptr, &known); }, "NULL"},
             {"clock", [&] { return stretto_clock_offset(comm, &offset, nullptr); }, "NULL"},
             {"tuning_candidates",
              [&] {
                  return stretto_tuning_candidates(nullptr, "allreduce", 1, STRETTO_INT8, &name);
              },
              "NULL"},
             {"tuning_candidates",
              [&] { return stretto_tuning_candidates(comm, nullptr, 1, STRETTO_INT8, &name); },
              "NULL"},
             {"tuning_candidates",
              [&] {
                  return stretto_tuning_candidates(comm, "allreduce", 1, STRETTO_INT8, nullptr);
              },
              "NULL"},
             {"tuning_candidates",
              [&] { return stretto_tuning_candidates(comm, "allsort", 1, STRETTO_INT8, &name); },
              "no collective 'allsort'"}});
        CHECK(stretto_alloc(comm, SIZE_MAX, &memory) == STRETTO_ERR_MEMORY);
        CHECK(stretto_alloc(comm, SIZE_MAX / 2, &memory) == STRETTO_ERR_MEMORY);
        test::check(stretto_free(comm, nullptr));
        test::check(stretto_alloc(comm, 0, &memory));
        test::check(stretto_free(comm, memory));
        CHECK(stretto_free(comm, memory) == STRETTO_ERR_ARGUMENT); // twice
        test::check(stretto_stats(comm, nullptr, 0, &count));
    });
}

TEST_CASE("communicators made of others") {
    test::with_ranks(3, [](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        const std::vector<int> good{0, 1, 2}, twice{rank, rank}, others{(rank + 1) % 3},
            beyond_last{rank, 3}, below{rank, -1}, extreme{rank, INT_MAX};
        stretto_comm child = reinterpret_cast<stretto_comm>(&child);
        stretto_comm *const place = &child;
        // What is refused gives no communicator.
        const auto none = [&](stretto_status status) {
            CHECK(child == nullptr);
            child = reinterpret_cast<stretto_comm>(&child);
            return status;
        };
        const auto create = [&](const std::vector<int> &ranks, int tag) {
            return none(stretto_comm_create(comm, ranks.data(), static_cast<int>(ranks.size()), tag,
                                            place));
        };
        refused(
            comm,
            {{"split", [] { return stretto_comm_split(nullptr, 0, 0, nullptr); }, "NULL"},
             {"split", [&] { return stretto_comm_split(comm, 0, 0, nullptr); }, "NULL"},
             {"split", [&] { return none(stretto_comm_split(comm, -2, 0, place)); }, "color"},
             {"split", [&] { return none(stretto_comm_split(comm, INT_MIN, 0, place)); }, "color"},
             {"dup", [&] { return stretto_comm_dup(nullptr, place); }, "NULL"},
             {"dup", [&] { return stretto_comm_dup(comm, nullptr); }, "NULL"},
             {"abort", [&] { return stretto_comm_abort(nullptr, "x"); }, "NULL"},
             {"shrink", [&] { return stretto_comm_shrink(nullptr, nullptr, place); }, "NULL"},
             {"shrink", [&] { return stretto_comm_shrink(comm, nullptr, nullptr); }, "NULL"},
             {"shrink", [&] { return none(stretto_comm_shrink(comm, nullptr, place)); },
              "has not failed"},
             {"create", [&] { return stretto_comm_create(nullptr, good.data(), 3, 0, place); },
              "NULL"},
             {"create", [&] { return stretto_comm_create(comm, good.data(), 3, 0, nullptr); },
              "NULL"},
             {"create", [&] { return none(stretto_comm_create(comm, nullptr, 3, 0, place)); },
              "list of ranks is empty"},
             {"create", [&] { return none(stretto_comm_create(comm, good.data(), 0, 0, place)); },
              "list of ranks is empty"},
             {"create", [&] { return none(stretto_comm_create(comm, good.data(), -3, 0, place)); },
              "list of ranks is empty"},
             {"create: tag", [&] { return create(good, -1); }, "tag"},
             {"create: twice", [&] { return create(twice, 0); },
              "rank " + std::to_string(rank) + " is in the list of ranks twice"},
             {"create: others", [&] { return create(others, 0); },
              "this rank, " + std::to_string(rank) + ", is not in the list"},
             {"create: beyond", [&] { return create(beyond_last, 0); }, "rank 3 is no rank of"},
             {"create: below", [&] { return create(below, 0); }, "rank -1 is no rank of"},
             {"create: extreme", [&] { return create(extreme, 0); }, "is no rank of"}});
        CHECK(stretto_comm_parent_rank(nullptr, 0) == -1);
        CHECK(stretto_comm_parent_rank(comm, 0) == -1); // it has no parent
        test::check(stretto_comm_split(comm, 0, -rank, place));
        for (const int wrong : {-1, 3, INT_MAX, INT_MIN})
            CHECK(stretto_comm_parent_rank(child, wrong) == -1);
        CHECK(stretto_comm_parent_rank(child, 0) == 2);
        test::check(stretto_finalize(&child));
    });
}

TEST_CASE("operations of one's own") {
    const auto nothing = [](const void *, void *, std::size_t, stretto_dtype, void *) {};
    test::with_ranks(2, [&](stretto_comm comm) {
        const double factor = 2, x = 1;
        double y = 0;
        stretto_op op = STRETTO_SUM, freed = STRETTO_SUM, scaled = STRETTO_SUM;
        test::check(stretto_op_create(nothing, nullptr, 1, &freed));
        test::check(stretto_op_free(freed));
        test::check(stretto_op_create_premul_sum(&factor, STRETTO_FLOAT64, &scaled));
        const auto sum = [&](stretto_dtype dtype, stretto_op of) {
            return stretto_allreduce(comm, &x, &y, 1, dtype, of);
        };
        refused(
            comm,
            {{"create", [&] { return stretto_op_create(nullptr, nullptr, 1, &op); }, "NULL"},
             {"create", [&] { return stretto_op_create(nothing, nullptr, 1, nullptr); }, "NULL"},
             {"premul_sum",
              [&] { return stretto_op_create_premul_sum(nullptr, STRETTO_FLOAT64, &op); }, "NULL"},
             {"premul_sum",
              [&] { return stretto_op_create_premul_sum(&factor, STRETTO_FLOAT64, nullptr); },
              "NULL"},
             {"premul_sum",
              [&] { return stretto_op_create_premul_sum(&factor, STRETTO_BOOL, &op); },
              "there is no premul_sum of bool"},
             {"premul_sum",
              [&] { return stretto_op_create_premul_sum(&factor, beyond<stretto_dtype>(15), &op); },
              "unknown dtype"},
             {"free what is built in", [] { return stretto_op_free(STRETTO_AVG); }, "no such op"},
             {"free twice", [&] { return stretto_op_free(freed); }, "no such op"},
             {"use after free", [&] { return sum(STRETTO_FLOAT64, freed); }, "no such op"},
             // The first number may be that of an operation of the other rank, a thread.
             {"use of none",
              [&] { return sum(STRETTO_FLOAT64, beyond<stretto_op>(STRETTO_OP_CREATED + 100)); },
              "no such op"},
             {"other elements", [&] { return sum(STRETTO_FLOAT32, scaled); },
              "the scalar of this premul_sum is a float64, the elements are float32"}});
        CHECK(op == STRETTO_SUM);
        test::check(sum(STRETTO_FLOAT64, scaled));
        CHECK(y == 4);
        test::check(stretto_op_free(scaled));
    });
}
