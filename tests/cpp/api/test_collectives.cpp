// SPDX-License-Identifier: BSD-3-Clause
// Every collective by every algorithm: ragged counts, all types and operations, in place and not,
// private and shared buffers, anywhere in a cache line.
#include "doctest.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "support/choices.hpp"
#include "support/environment.hpp"
#include "support/exact.hpp"
#include "support/oracle.hpp"
#include "support/survivors.hpp"
#include "support/text.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"

namespace {

using stretto::algorithms::Algorithm;
using test::Call;
using test::check;
using test::Choice;
using test::choices;
using test::Collective;

// Numbers of ranks in every build; fewer over several hosts, where they meet fewer types, and where
// memory is looked at, not bits; the full tier has all up to 33.
std::vector<int> sizes() {
    std::vector<int> found = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16};
    if (test::across_hosts())
        found = {1, 2, 3, 5, 8, 13};
    if (test::sampled())
        found = {1, 2, 3, 4, 5};
    if (test::full_tier()) {
        found.resize(33);
        std::iota(found.begin(), found.end(), 1);
    }
    return found;
}

// The calls of one rank; all ranks make the same.
class Calls {
public:
    explicit Calls(stretto_comm comm)
        : comm_(comm), rank_(stretto_rank(comm)), size_(stretto_size(comm)) {}

    // As many turns as there are pairs are every type with every operation, four times as many are
    // these with every kind of buffer.
    void play(Collective collective, std::size_t count, int turn) {
        static constexpr std::size_t kOffsets[] = {0, 8, 60, 1};
        const auto pairs = static_cast<int>(test::pairs().size());
        const int kind = turn + turn / pairs;
        Call call;
        call.collective = collective;
        call.count = count;
        const auto number = static_cast<std::size_t>(turn % pairs);
        const test::Pair &pair = test::pairs()[number];
        call.dtype = pair.dtype;
        call.op = pair.op;
        call.in_place = kind % 2 == 1;
        call.shared = kind / 2 % 2 == 1;
        if (rank_ == 0 && seen_ != nullptr)
            seen_->insert(number);
        call.root = static_cast<int>(random_() % static_cast<unsigned>(size_));
        if (test::takes_counts(collective) && turn / 4 % 2 == 1)
            call.counts = unequal(count);
        const auto place = random_() + static_cast<unsigned>(rank_);
        call.send_offset = kOffsets[place % 4];
        call.recv_offset = kOffsets[place / 4 % 4];
        const std::string wrong = test::play(comm_, call);
        CHECK_MESSAGE(wrong == "", "rank ", rank_, " of ", size_, ", ", label(call), ": ", wrong);
    }

    // Where rank 0 notes the pairs of type and operation that it plays.
    void note(std::set<std::size_t> *seen) { seen_ = seen; }

private:
    // About `count` for each rank, and nothing for some.
    std::vector<std::size_t> unequal(std::size_t count) {
        std::vector<std::size_t> counts;
        for (int r = 0; r < size_; ++r)
            counts.push_back(random_() % 3 == 0 ? 0 : random_() % (3 * count + 1));
        return counts;
    }

    const stretto_comm comm_;
    const int rank_, size_;
    std::set<std::size_t> *seen_ = nullptr;
    std::minstd_rand random_; // for roots, places, counts: the same numbers on all ranks
};

// By collective and algorithm.
using Seen = std::map<std::pair<Collective, std::string>, std::set<std::size_t>>;

// All choices at one number of ranks, the `nth` of all numbers.  Every algorithm goes through the
// pairs of types and operations, twelve at each number of ranks, from a place of its own; in the
// full tier through all of them with every count, at up to 8 ranks and at 16, and else through
// some.
void walk(stretto_comm comm, int nth, Seen &seen) {
    const bool full = test::full_tier();
    const int ranks = stretto_size(comm);
    const auto p = static_cast<std::size_t>(ranks);
    const auto pairs = static_cast<int>(test::pairs().size());
    const bool thorough = ranks <= 8 || ranks == 16;
    const int turns = !full ? 2 : thorough ? pairs : pairs / 12; // of each count
    Calls calls(comm);
    for (const Choice &choice : choices(ranks)) {
        if (choice.collective == Collective::barrier)
            continue;
        CAPTURE(choice.name);
        force(comm, choice);
        if (stretto_rank(comm) == 0)
            calls.note(&seen[{choice.collective, choice.name}]);
        const auto own = static_cast<int>(std::hash<std::string>{}(choice.name) % 1000);
        int turn = 6 * turns * nth + own;
        for (const std::size_t count :
             {std::size_t{0}, std::size_t{1}, p - 1, p, p + 1, std::size_t{1009}})
            for (int k = 0; k < turns; ++k)
                calls.play(choice.collective, count, turn++);
        // One long call: most of the time goes into planning and checking it.
        const std::size_t longest = full ? (1 << 20) + 3 : in_parts(choice) ? 5'003 : 40'009;
        calls.play(choice.collective, full && in_parts(choice) ? longest / p : longest, turn + own);
    }
}

// Every choice at each of these numbers of ranks, `turns` calls with so many elements: of each rank
// where the vector has parts, else of the whole.
void play_choices(const std::vector<int> &sizes, int turns, std::size_t each, std::size_t whole) {
    for (const int ranks : sizes) {
        CAPTURE(ranks);
        test::with_ranks(ranks, [&](stretto_comm comm) {
            Calls calls(comm);
            int turn = ranks;
            for (const Choice &choice : choices(ranks)) {
                if (choice.collective == Collective::barrier)
                    continue;
                CAPTURE(choice.name);
                force(comm, choice);
                for (int k = 0; k < turns; ++k)
                    calls.play(choice.collective, in_parts(choice) ? each : whole, turn++);
            }
        });
    }
}

} // namespace

TEST_CASE("every collective is exact by every algorithm, for every type and operation") {
    Seen seen;
    const std::vector<int> all = sizes();
    for (std::size_t nth = 0; nth < all.size(); ++nth) {
        CAPTURE(all[nth]);
        test::with_ranks(all[nth],
                         [&](stretto_comm comm) { walk(comm, static_cast<int>(nth), seen); });
    }
    for (const Algorithm &algorithm : stretto::algorithms::all()) {
        CAPTURE(std::string(algorithm.name));
        const bool often = std::all_of(all.begin(), all.end(), algorithm.runs);
        const bool all_pairs = test::full_tier() || !(test::sampled() || test::across_hosts());
        if (algorithm.collective != Collective::barrier && often && all_pairs)
            CHECK(seen[{algorithm.collective, std::string(algorithm.name)}].size() ==
                  test::pairs().size());
    }
}

TEST_CASE("no rank leaves a barrier before all have come") {
    for (int ranks = 1; ranks <= 16; ++ranks) {
        CAPTURE(ranks);
        std::atomic<int> come{0};
        test::with_ranks(ranks, [&](stretto_comm comm) {
            int all = 0;
            for (const Choice &choice : choices(ranks)) {
                if (choice.collective != Collective::barrier)
                    continue;
                CAPTURE(choice.name);
                force(comm, choice);
                for (int late = 0; late < ranks; ++late) {
                    if (stretto_rank(comm) == late)
                        std::this_thread::sleep_for(std::chrono::microseconds(200));
                    come.fetch_add(1, std::memory_order_relaxed);
                    check(stretto_barrier(comm));
                    all += ranks;
                    CHECK(come.load(std::memory_order_relaxed) >= all);
                }
            }
        });
    }
}

TEST_CASE("tiny rings and slices change nothing but the time") {
    const test::With ring("STRETTO_RING_BYTES", "8K"), slice("STRETTO_SLICE_BYTES", "512");
    play_choices(test::sampled() ? std::vector{3} : std::vector{2, 3, 6}, test::full_tier() ? 4 : 2,
                 2003, 9001);
}

TEST_CASE("vectors of many tiles are exact, in private and in shared buffers") {
    const test::With ring("STRETTO_RING_BYTES", "64K"), slice("STRETTO_SLICE_BYTES", "512");
    if (test::sampled()) // a few laps of a ring
        return play_choices({3}, 1, 40'009, 100'003);
    play_choices({2, 3, 5}, test::full_tier() ? 8 : 1, 75'011, 200'003);
}

TEST_CASE("a rank may run far ahead of rooted collectives") {
    test::with_ranks(3, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        std::vector<std::int32_t> value(3000);
        for (int call = 0; call < 2000; ++call) {
            for (std::size_t i = 0; i < value.size(); ++i)
                value[i] = rank == 1 ? call * 7 + static_cast<int>(i) : -1;
            check(stretto_broadcast(comm, value.data(), value.size(), STRETTO_INT32, 1));
            for (std::size_t i = 0; i < value.size(); i += 499)
                REQUIRE(value[i] == call * 7 + static_cast<int>(i));
        }
    });
}

// Whoever sends and goes can be gone before the others find out that they expected something else.
TEST_CASE("a root that has left is not waited for") {
    test::with_ranks(2, [](stretto_comm comm) {
        float values[4] = {};
        const int rank = stretto_rank(comm);
        const stretto_status status =
            stretto_broadcast(comm, values, static_cast<std::size_t>(3 + rank), STRETTO_FLOAT32, 0);
        if (rank == 1) {
            // On another host what it called cannot be asked any more.
            CHECK((status == STRETTO_ERR_MISMATCH || status == STRETTO_ERR_PEER));
            CHECK(test::contains(stretto_last_error(), "rank 0"));
        }
    });
}
