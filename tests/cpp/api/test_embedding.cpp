// SPDX-License-Identifier: BSD-3-Clause
// Under the hood of another library, as of an MPI: joining by its help, and working for it while
// waiting.
#include "doctest.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "support/text.hpp"
#include "support/world.hpp"

using test::check;
using test::contains;

namespace {

// What would be that other library: all ranks are threads here.
class Exchange {
public:
    explicit Exchange(int ranks) : mine_(static_cast<std::size_t>(ranks)), barrier_(ranks) {}

    struct Rank {
        Exchange *exchange;
        int rank;
        int fails_at = -1; // which of its calls fails
        int calls = 0;
    };
    static int gather(const void *mine, void *all, std::size_t bytes, void *context) {
        auto *const me = static_cast<Rank *>(context);
        Exchange &exchange = *me->exchange;
        exchange.mine_[static_cast<std::size_t>(me->rank)] = mine;
        exchange.barrier_.arrive_and_wait();
        for (std::size_t each = 0; each < exchange.mine_.size(); ++each)
            std::memcpy(static_cast<std::byte *>(all) + each * bytes, exchange.mine_[each], bytes);
        exchange.barrier_.arrive_and_wait();
        return me->calls++ == me->fails_at ? 17 : 0;
    }

private:
    std::vector<const void *> mine_;
    std::barrier<> barrier_;
};

} // namespace

TEST_CASE("ranks that something else connects need no name, no address and no secret") {
    for (const int ranks : {1, 2, 5})
        for (int time = 0; time < 2; ++time) { // two jobs of the same process are two
            Exchange exchange(ranks);
            test::on_threads(ranks, [&](int rank) {
                Exchange::Rank me{&exchange, rank};
                stretto_comm comm = nullptr;
                check(stretto_init_by_exchange(rank, ranks, Exchange::gather, &me, &comm));
                CHECK(stretto_rank(comm) == rank);
                std::int64_t value = rank + 1;
                check(stretto_allreduce(comm, STRETTO_IN_PLACE, &value, 1, STRETTO_INT64,
                                        STRETTO_SUM));
                CHECK(value == ranks * (ranks + 1) / 2);
                check(stretto_finalize(&comm));
            });
        }
}

TEST_CASE("an exchange that fails is no job") {
    for (const int fails_at : {0, 1}) {
        Exchange exchange(3);
        test::on_threads(3, [&](int rank) {
            Exchange::Rank me{&exchange, rank, fails_at};
            stretto_comm comm = nullptr;
            CHECK(stretto_init_by_exchange(rank, 3, Exchange::gather, &me, &comm) ==
                  STRETTO_ERR_SYSTEM);
            CHECK(comm == nullptr);
            CHECK(contains(stretto_last_error(), "failed with code 17"));
        });
    }
}

// It is as if one rank could not join for its settings: all are told, and none waits.
TEST_CASE("the failure of one rank is in the errors of all") {
    setenv("STRETTO_IFACE", "^", 1);
    Exchange exchange(2);
    test::on_threads(2, [&](int rank) {
        Exchange::Rank me{&exchange, rank};
        stretto_comm comm = nullptr;
        CHECK(stretto_init_by_exchange(rank, 2, Exchange::gather, &me, &comm) ==
              STRETTO_ERR_ARGUMENT);
        CHECK(contains(stretto_last_error(), "rank 0 cannot join: "));
        CHECK(contains(stretto_last_error(), "STRETTO_IFACE"));
    });
    unsetenv("STRETTO_IFACE");
}

TEST_CASE("a thread that waits works for its host, and only while it waits") {
    test::with_ranks(2, [](stretto_comm comm) {
        using namespace std::chrono_literals;
        std::atomic<int> turns{0};
        const bool late = stretto_rank(comm) == 1;
        stretto_set_idle([](void *context) { ++*static_cast<std::atomic<int> *>(context); },
                         &turns);
        check(stretto_barrier(comm));
        for (const bool nonblocking : {false, true}) {
            turns = 0;
            if (late)
                std::this_thread::sleep_for(100ms);
            CHECK((!late || turns == 0));
            stretto_request request = nullptr;
            if (nonblocking) {
                check(stretto_ibarrier(comm, &request));
                check(stretto_wait(&request));
            } else {
                check(stretto_barrier(comm));
            }
            // At least every millisecond, as far as the machine lets it; not all the time.
            if (!late) {
                CHECK(turns >= 5);
                CHECK(turns <= 10'000);
            }
        }
        // The thread that moves nonblocking calls has no host.
        turns = 0;
        stretto_request request = nullptr;
        if (late)
            std::this_thread::sleep_for(50ms);
        check(stretto_ibarrier(comm, &request));
        std::this_thread::sleep_for(100ms);
        CHECK(turns == 0);
        check(stretto_wait(&request));
        // A turn that got something done is followed by another soon.
        stretto_set_idle(
            [](void *context) {
                const bool finds_nothing = ++*static_cast<std::atomic<int> *>(context) == 1;
                const auto start = std::chrono::steady_clock::now();
                while (!finds_nothing && std::chrono::steady_clock::now() - start < 50us) {
                }
            },
            &turns);
        turns = 0;
        if (late)
            std::this_thread::sleep_for(200ms);
        check(stretto_barrier(comm));
        if (!late)
            CHECK(turns >= 150); // at most one in a millisecond would be 200 in all
        stretto_set_idle(nullptr, nullptr);
        turns = 0;
        if (late)
            std::this_thread::sleep_for(20ms);
        check(stretto_barrier(comm));
        CHECK(turns == 0);
    });
}
