// SPDX-License-Identifier: BSD-3-Clause
// Algorithms that are asked for by name and cannot run: an error on all ranks alike that lists
// what can, nothing is sent, and the communicator is as it was.
#include "doctest.h"

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "support/environment.hpp"
#include "support/job.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

using stretto::schedule::Collective;
using test::check;
using test::contains;

namespace {

// That all its ranks work together, by whatever algorithm.
void use(stretto_comm comm) {
    const int rank = stretto_rank(comm), size = stretto_size(comm);
    int sum = -1;
    check(stretto_allreduce(comm, &rank, &sum, 1, STRETTO_INT32, STRETTO_SUM));
    CHECK(sum == size * (size - 1) / 2);
}

std::string allreduce_algorithm(stretto_comm comm, std::size_t count = 1000) {
    const char *name = nullptr;
    check(stretto_chosen_algorithm(comm, "allreduce", count, STRETTO_FLOAT32, &name));
    return name;
}

// Whether a message lists every algorithm of the collective of which `can` is true, and no other.
template<class Can>
void check_list(const std::string &message, Collective collective, const Can &can) {
    CAPTURE(message);
    const std::size_t colon = message.find("algorithms that can run: ");
    REQUIRE(colon != std::string::npos);
    const std::string list = message.substr(colon + 23) + ",";
    for (const auto &algorithm : stretto::algorithms::all()) {
        if (algorithm.collective != collective)
            continue;
        CAPTURE(algorithm.name);
        CHECK(contains(list, std::string(" ").append(algorithm.name).append(",")) ==
              can(algorithm));
    }
}

} // namespace

TEST_CASE("for numbers of ranks that it cannot run on") {
    for (const int ranks : {3, 5, 6})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            check(stretto_force_algorithm(comm, "ring"));
            CHECK(stretto_force_algorithm(comm, "hybrid") == STRETTO_ERR_UNSUPPORTED);
            const std::string message = stretto_last_error();
            CHECK(contains(message, "allreduce algorithm hybrid cannot run on " +
                                        std::to_string(ranks) + " ranks"));
            check_list(message, Collective::allreduce, [&](const auto &algorithm) {
                return algorithm.runs(ranks) && !algorithm.sorted_by_arrival && !algorithm.of_hosts;
            });
            CHECK(allreduce_algorithm(comm) == "ring"); // as before
            use(comm);
            check(stretto_force_algorithm(comm, "auto"));
            CHECK(allreduce_algorithm(comm) != "ring");
            use(comm);
        });
    test::with_ranks(4, [](stretto_comm comm) {
        check(stretto_force_algorithm(comm, "hybrid(doublings=1)"));
        CHECK(allreduce_algorithm(comm) == "hybrid(doublings=1)");
        use(comm);
        // Of four ranks only two halve.
        CHECK(stretto_force_algorithm(comm, "hybrid(doublings=3)") == STRETTO_ERR_UNSUPPORTED);
        CHECK(contains(stretto_last_error(),
                       "cannot run with doublings=3 on 4 ranks, which have 0 to 2"));
        CHECK(allreduce_algorithm(comm) == "hybrid(doublings=1)");
    });
}

TEST_CASE("by the environment, for numbers of ranks that it cannot run on") {
    const auto with_setting = [](const char *algorithm, int ranks, stretto_status expected,
                                 const std::vector<std::string> &words) {
        const test::With setting("STRETTO_ALGORITHM", algorithm);
        const std::string job = test::fresh_job();
        test::on_threads(ranks, [&](int rank) {
            stretto_comm comm = nullptr;
            CHECK(stretto_init_explicit(rank, ranks, job.c_str(), &comm) == expected);
            CHECK((comm == nullptr) == (expected != STRETTO_OK));
            for (const std::string &part : words)
                CHECK(contains(stretto_last_error(), part));
            if (comm == nullptr)
                return;
            CHECK(allreduce_algorithm(comm) == algorithm);
            use(comm);
            check(stretto_finalize(&comm));
        });
    };
    with_setting("hybrid", 3, STRETTO_ERR_UNSUPPORTED, {"cannot run on 3 ranks", "rabenseifner"});
    with_setting("hybrid", 4, STRETTO_OK, {});
    with_setting("hybird", 3, STRETTO_ERR_ARGUMENT, {"hybird", "rabenseifner"});
    with_setting("ring(segments=2)", 3, STRETTO_ERR_ARGUMENT, {"segments", "none"});
    test::with_ranks(3, use); // the setting is gone, and nothing of those jobs stayed
}

TEST_CASE("a child has the ranks that it needs, or is not made") {
    const test::With setting("STRETTO_ALGORITHM", "hybrid");
    test::with_ranks(4, [](stretto_comm comm) {
        stretto_comm child = nullptr;
        const bool alone = stretto_rank(comm) == 3;
        const stretto_status status = stretto_comm_split(comm, alone ? 1 : 0, 0, &child);
        CHECK(status == (alone ? STRETTO_OK : STRETTO_ERR_UNSUPPORTED));
        CHECK((child != nullptr) == alone);
        if (alone)
            check(stretto_finalize(&child));
        else
            CHECK(contains(stretto_last_error(), "cannot run on 3 ranks"));
        use(comm); // the parent is whole
    });
}

TEST_CASE("a child lets the library choose where the program does not know of the setting") {
    const test::With setting("STRETTO_ALGORITHM", "allreduce:-1K=hybrid,ring");
    stretto_set_forced_fallback(1);
    test::with_ranks(4, [](stretto_comm comm) {
        CHECK(allreduce_algorithm(comm, 100) == "hybrid");
        stretto_comm child = nullptr, copy = nullptr;
        const bool alone = stretto_rank(comm) == 3;
        check(stretto_comm_split(comm, alone ? 1 : 0, 0, &child));
        const std::string small = allreduce_algorithm(child, 100);
        CHECK((small == "hybrid") == alone);
        CHECK(allreduce_algorithm(child, 100'000) == "ring"); // it follows the other rule
        check(stretto_comm_dup(child, &copy));
        use(copy);
        use(child);
        check(stretto_finalize(&copy));
        check(stretto_finalize(&child));
        use(comm);
    });
    stretto_set_forced_fallback(0);
}

TEST_CASE("for an operation whose order it does not keep") {
    const auto keep_last = [](const void *, void *, std::size_t, stretto_dtype, void *) {};
    stretto_op in_order = STRETTO_SUM, any_order = STRETTO_SUM;
    check(stretto_op_create(keep_last, nullptr, 0, &in_order));
    check(stretto_op_create(keep_last, nullptr, 1, &any_order));
    test::with_ranks(3, [&](stretto_comm comm) {
        std::array<double, 3> send{1, 2, 3}, recv{};
        check(stretto_force_algorithm(comm, "ring"));
        const auto in_its_order = [](const auto &algorithm) {
            const auto problem = stretto::algorithms::problem_of({&algorithm, {}}, 3);
            return algorithm.runs(3) && algorithm.order_preserving(problem) &&
                   !algorithm.sorted_by_arrival && !algorithm.of_hosts;
        };
        CHECK(stretto_allreduce(comm, send.data(), recv.data(), 3, STRETTO_FLOAT64, in_order) ==
              STRETTO_ERR_UNSUPPORTED);
        CHECK(contains(stretto_last_error(), "allreduce algorithm ring does not keep the order"));
        check_list(stretto_last_error(), Collective::allreduce, in_its_order);
        CHECK(stretto_reduce_scatter(comm, send.data(), recv.data(), 1, STRETTO_FLOAT64,
                                     in_order) == STRETTO_ERR_UNSUPPORTED);
        check_list(stretto_last_error(), Collective::reduce_scatter, in_its_order);
        // Nonblocking and persistent calls are refused where they begin.
        stretto_request request = nullptr;
        CHECK(stretto_iallreduce(comm, send.data(), recv.data(), 3, STRETTO_FLOAT64, in_order,
                                 &request) == STRETTO_ERR_UNSUPPORTED);
        CHECK(stretto_allreduce_init(comm, send.data(), recv.data(), 3, STRETTO_FLOAT64, in_order,
                                     &request) == STRETTO_ERR_UNSUPPORTED);
        CHECK(request == nullptr);
        CHECK(recv[0] == 0);
        // There is no reduce of this name, so Stretto chooses one; and who says that order does not
        // matter is believed.
        check(stretto_reduce(comm, send.data(), recv.data(), 3, STRETTO_FLOAT64, in_order, 1));
        check(stretto_allreduce(comm, send.data(), recv.data(), 3, STRETTO_FLOAT64, any_order));
        check(stretto_force_algorithm(comm, nullptr));
        check(stretto_allreduce(comm, send.data(), recv.data(), 3, STRETTO_FLOAT64, in_order));
        CHECK(recv[2] == 3);
    });
    check(stretto_op_free(in_order));
    check(stretto_op_free(any_order));
}

TEST_CASE("a name is that of all collectives that have such an algorithm, and of no others") {
    test::with_ranks(3, [](stretto_comm comm) {
        const char *name = nullptr;
        check(stretto_force_algorithm(comm, "scatter_allgather")); // a broadcast
        check(stretto_chosen_algorithm(comm, "broadcast", 1, STRETTO_INT8, &name));
        CHECK(std::string(name) == "scatter_allgather");
        CHECK(allreduce_algorithm(comm) != "scatter_allgather");
        use(comm);
        CHECK(stretto_force_algorithm(comm, "rabenseifner_9000") == STRETTO_ERR_ARGUMENT);
        CHECK(contains(stretto_last_error(), "recursive_doubling"));
        CHECK(stretto_force_algorithm(comm, "segmented_ring(segments=0)") == STRETTO_ERR_ARGUMENT);
        CHECK(contains(stretto_last_error(), "from 1 to 64"));
        check(stretto_chosen_algorithm(comm, "broadcast", 1, STRETTO_INT8, &name));
        CHECK(std::string(name) == "scatter_allgather"); // as before
        use(comm);
    });
}

// Each rank stores its part of the result into the outputs of 33 others, past the caches.
TEST_CASE("34 ranks store results into one another's memory") {
    constexpr int kRanks = 34;
    constexpr std::size_t kCount = 290'000; // 2 * 34 * 1.2 MB are more than caches hold
    test::with_ranks(kRanks, [](stretto_comm comm) {
        check(stretto_force_algorithm(comm, "allreduce=direct"));
        const int rank = stretto_rank(comm);
        void *memory = nullptr;
        check(stretto_alloc(comm, 2 * kCount * sizeof(std::int32_t), &memory));
        auto *const sent = static_cast<std::int32_t *>(memory), *const got = sent + kCount;
        for (std::size_t i = 0; i < kCount; ++i)
            sent[i] = rank + static_cast<std::int32_t>(i);
        check(stretto_allreduce(comm, sent, got, kCount, STRETTO_INT32, STRETTO_SUM));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < kCount; ++i)
            wrong += got[i] != kRanks * (kRanks - 1) / 2 + kRanks * static_cast<std::int32_t>(i);
        CHECK(wrong == 0);
    });
}

TEST_CASE("the name of an algorithm outlives its plan") {
    const test::With none("STRETTO_PLAN_BYTES", "0");
    test::with_ranks(2, [](stretto_comm comm) {
        const char *first = nullptr;
        check(stretto_chosen_algorithm(comm, "allreduce", 5000, STRETTO_INT8, &first));
        const std::string was = first;
        for (std::size_t count = 1; count < 100; ++count) // its plan is forgotten
            (void)allreduce_algorithm(comm, count);
        check(stretto_force_algorithm(comm, "ring"));
        use(comm);
        CHECK(allreduce_algorithm(comm) == "ring");
        CHECK(first == was);
        const char *again = nullptr;
        check(stretto_force_algorithm(comm, nullptr));
        check(stretto_chosen_algorithm(comm, "allreduce", 5000, STRETTO_INT8, &again));
        CHECK(again == first); // no text is kept twice
    });
}

TEST_CASE("by collective and by size") {
    const char *rules = "allreduce:4K-8K=segmented_ring(segments=3),allreduce:-100=auto,"
                        "allgather=bruck,chain";
    const test::With setting("STRETTO_ALGORITHM", rules);
    test::with_ranks(3, [](stretto_comm comm) {
        const char *name = nullptr;
        CHECK(allreduce_algorithm(comm, 25) == "one_shot"); // ours
        CHECK(allreduce_algorithm(comm, 26) == "chain");
        CHECK(allreduce_algorithm(comm, 1024) == "segmented_ring(segments=3)");
        CHECK(allreduce_algorithm(comm, 2048) == "segmented_ring(segments=3)");
        CHECK(allreduce_algorithm(comm, 2049) == "chain");
        check(stretto_chosen_algorithm(comm, "broadcast", 1, STRETTO_INT8, &name));
        CHECK(std::string(name) == "chain");
        check(stretto_chosen_algorithm(comm, "allgather", 1, STRETTO_INT8, &name));
        CHECK(std::string(name) == "bruck");
        check(stretto_chosen_algorithm(comm, "alltoall", 1, STRETTO_INT8, &name));
        CHECK(std::string(name) == "direct"); // no rule is for it
        for (const int count : {25, 1024, 2049}) {
            std::vector<int> ones(static_cast<std::size_t>(count), 1), sums(ones.size());
            check(stretto_allreduce(comm, ones.data(), sums.data(), ones.size(), STRETTO_INT32,
                                    STRETTO_SUM));
            CHECK(sums == std::vector<int>(ones.size(), 3));
        }
        // Sizes are those of the whole vector: 3 parts of 1000 bytes.
        check(stretto_force_algorithm(comm, "allgather:3000-3000=ring"));
        check(stretto_chosen_algorithm(comm, "allgather", 1000, STRETTO_INT8, &name));
        CHECK(std::string(name) == "ring");
        check(stretto_chosen_algorithm(comm, "allgather", 1001, STRETTO_INT8, &name));
        CHECK(std::string(name) == "direct");
        CHECK(stretto_force_algorithm(comm, "allgather=ring,allreduce:4K-=hybrid") ==
              STRETTO_ERR_UNSUPPORTED);
        CHECK(contains(stretto_last_error(), "'allreduce:4K-=hybrid'"));
        CHECK(stretto_force_algorithm(comm, "allreduce:8K-4K=ring") == STRETTO_ERR_ARGUMENT);
        CHECK(contains(stretto_last_error(), "8K is more than 4K"));
        check(stretto_chosen_algorithm(comm, "allgather", 1000, STRETTO_INT8, &name));
        CHECK(std::string(name) == "ring"); // as before
        use(comm);
    });
}

TEST_CASE("rules that differ are a mismatch where they matter") {
    test::with_ranks(2, [](stretto_comm comm) {
        check(stretto_force_algorithm(comm, stretto_rank(comm) == 0 ? "allreduce:1K-=ring"
                                                                    : "allreduce:1K-=direct"));
        use(comm);
        std::vector<int> ones(1024, 1);
        CHECK(stretto_allreduce(comm, STRETTO_IN_PLACE, ones.data(), ones.size(), STRETTO_INT32,
                                STRETTO_SUM) == STRETTO_ERR_MISMATCH);
    });
}
