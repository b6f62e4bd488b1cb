// SPDX-License-Identifier: BSD-3-Clause
// gatherv, scatterv and alltoallv: every pair of ranks knows its own count.
#include "doctest.h"

#include <csignal>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/processes.hpp"
#include "support/shared_counter.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

using test::check;
using test::contains;

namespace {

constexpr std::int32_t kUntouched = -7;

std::int32_t element(int from, int to, std::size_t i) {
    return static_cast<std::int32_t>(from * 1'000'003 + to * 10'007 + static_cast<int>(i));
}

// Counts and places of the parts between all ranks: the same on all of them, though each uses but
// its own.  Parts lie in a random order, with gaps.
struct Pattern {
    Pattern(unsigned seed, int ranks, std::size_t most) : ranks_(ranks) {
        std::mt19937 random(seed);
        for (int i = 0; i < ranks * ranks; ++i)
            counts_.push_back(random() % 4 == 0 ? 0 : random() % (most + 1));
    }
    std::size_t count(int from, int to) const {
        return counts_[static_cast<std::size_t>(from * ranks_ + to)];
    }
    std::vector<std::size_t> counts_of(int rank, bool sends) const {
        std::vector<std::size_t> result;
        for (int r = 0; r < ranks_; ++r)
            result.push_back(sends ? count(rank, r) : count(r, rank));
        return result;
    }

private:
    int ranks_;
    std::vector<std::size_t> counts_;
};

// A buffer with a part for each rank; `packed`: one after the other, else with gaps and backwards.
struct Parts {
    Parts(const std::vector<std::size_t> &sizes, bool packed) : counts(sizes) {
        displacements.resize(sizes.size());
        std::size_t next = packed ? 0 : 3;
        for (std::size_t k = 0; k < sizes.size(); ++k) {
            const std::size_t r = packed ? k : sizes.size() - 1 - k;
            displacements[r] = next;
            next += sizes[r] + (packed ? 0 : 2);
        }
        data.assign(next + 1, kUntouched);
    }
    template<class Value>
    void fill(const Value &value) {
        for (std::size_t r = 0; r < counts.size(); ++r)
            for (std::size_t i = 0; i < counts[r]; ++i)
                data[displacements[r] + i] = value(static_cast<int>(r), i);
    }
    template<class Value>
    bool holds(const Value &value) const {
        Parts right(counts, displacements, data.size());
        right.fill(value);
        return right.data == data; // and nothing else was touched
    }
    std::vector<std::size_t> counts, displacements;
    std::vector<std::int32_t> data;

private:
    Parts(const std::vector<std::size_t> &sizes, const std::vector<std::size_t> &places,
          std::size_t total)
        : counts(sizes), displacements(places), data(total, kUntouched) {}
};

void finish(stretto_status status, stretto_request &request) {
    check(status);
    check(stretto_wait(&request));
}

// Each way to call once: blocking or not, packed or not.
void play_alltoallv(stretto_comm comm, const Pattern &pattern, int way) {
    const int rank = stretto_rank(comm);
    const bool packed = way % 2 == 0, overlaps = way / 2 == 1;
    Parts send(pattern.counts_of(rank, true), packed), recv(pattern.counts_of(rank, false), packed);
    const auto leaves = [&](int r, std::size_t i) { return element(rank, r, i); };
    send.fill(leaves);
    const std::size_t *const from = packed ? nullptr : send.displacements.data();
    const std::size_t *const to = packed ? nullptr : recv.displacements.data();
    stretto_request request = nullptr;
    if (overlaps)
        finish(stretto_ialltoallv(comm, send.data.data(), send.counts.data(), from,
                                  recv.data.data(), recv.counts.data(), to, STRETTO_INT32,
                                  &request),
               request);
    else
        check(stretto_alltoallv(comm, send.data.data(), send.counts.data(), from, recv.data.data(),
                                recv.counts.data(), to, STRETTO_INT32));
    CHECK(send.holds(leaves));
    CHECK(recv.holds([&](int r, std::size_t i) { return element(r, rank, i); }));
}

void play_rooted(stretto_comm comm, const Pattern &pattern, int root, int way) {
    const int rank = stretto_rank(comm);
    const bool packed = way % 2 == 0, overlaps = way / 2 % 2 == 1;
    const bool in_place = way / 4 == 1 && rank == root;
    const auto whole = [&](int r, std::size_t i) { return element(r, root, i); };
    Parts all(rank == root ? pattern.counts_of(root, false) : std::vector<std::size_t>(), packed);
    const std::size_t count = pattern.count(rank, root);
    std::vector<std::int32_t> own(count + 1, kUntouched);
    std::vector<std::int32_t> right = own;
    for (std::size_t i = 0; i < count; ++i)
        right[i] = whole(rank, i);
    const std::size_t *const counts = rank == root ? all.counts.data() : nullptr;
    const std::size_t *const places = rank == root && !packed ? all.displacements.data() : nullptr;
    void *const buffer = rank == root ? all.data.data() : nullptr;
    stretto_request request = nullptr;

    own = right;
    if (in_place) // it lies there already
        for (std::size_t i = 0; i < count; ++i)
            all.data[all.displacements[static_cast<std::size_t>(root)] + i] = right[i];
    const void *const send = in_place ? STRETTO_IN_PLACE : own.data();
    if (overlaps)
        finish(stretto_igatherv(comm, send, count, buffer, counts, places, STRETTO_INT32, root,
                                &request),
               request);
    else
        check(stretto_gatherv(comm, send, count, buffer, counts, places, STRETTO_INT32, root));
    if (rank == root)
        CHECK(all.holds(whole));

    own.assign(count + 1, kUntouched);
    void *const recv = in_place ? const_cast<void *>(STRETTO_IN_PLACE) : own.data();
    if (overlaps)
        finish(stretto_iscatterv(comm, buffer, counts, places, recv, count, STRETTO_INT32, root,
                                 &request),
               request);
    else
        check(stretto_scatterv(comm, buffer, counts, places, recv, count, STRETTO_INT32, root));
    if (in_place)
        CHECK(own.back() == kUntouched);
    else
        CHECK(own == right);
}

} // namespace

TEST_CASE("parts of all sizes reach their places") {
    for (const int ranks : {1, 2, 3, 5, 8})
        test::with_ranks(ranks, [ranks](stretto_comm comm) {
            unsigned seed = static_cast<unsigned>(ranks) * 100;
            for (const std::size_t most : {std::size_t{0}, std::size_t{5}, std::size_t{2000},
                                           ranks > 3 ? std::size_t{20'000} : std::size_t{100'000}})
                for (int way = 0; way < 4; ++way, ++seed) {
                    const Pattern pattern(seed, ranks, most);
                    play_alltoallv(comm, pattern, way);
                    play_rooted(comm, pattern, static_cast<int>(seed) % ranks, way);
                    play_rooted(comm, pattern, static_cast<int>(seed + 1) % ranks, way + 4);
                }
        });
}

TEST_CASE("alltoallv in place exchanges parts of one size for each pair") {
    test::with_ranks(3, [](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        const auto size = [&](int r) { return static_cast<std::size_t>((r + rank) * 3000 + 1); };
        Parts recv({size(0), size(1), size(2)}, false);
        recv.fill([&](int r, std::size_t i) { return element(rank, r, i); });
        check(stretto_alltoallv(comm, STRETTO_IN_PLACE, nullptr, nullptr, recv.data.data(),
                                recv.counts.data(), recv.displacements.data(), STRETTO_INT32));
        CHECK(recv.holds([&](int r, std::size_t i) { return element(r, rank, i); }));
    });
}

TEST_CASE("they take their turn among other collectives, in flight or not") {
    test::with_ranks(3, [](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        const Pattern pattern(7, 3, 50'000);
        std::vector<float> x(30'000, 1), sum(30'000);
        Parts send(pattern.counts_of(rank, true), true), recv(pattern.counts_of(rank, false), true);
        send.fill([&](int r, std::size_t i) { return element(rank, r, i); });
        stretto_request requests[3] = {};
        check(stretto_iallreduce(comm, x.data(), sum.data(), x.size(), STRETTO_FLOAT32, STRETTO_SUM,
                                 &requests[0]));
        check(stretto_ialltoallv(comm, send.data.data(), send.counts.data(), nullptr,
                                 recv.data.data(), recv.counts.data(), nullptr, STRETTO_INT32,
                                 &requests[1]));
        check(stretto_ibarrier(comm, &requests[2]));
        // Anything between goes its own way.
        play_rooted(comm, Pattern(8, 3, 9000), 1, 0);
        int token = rank;
        check(stretto_broadcast(comm, &token, 1, STRETTO_INT32, 2));
        CHECK(token == 2);
        for (const int i : {2, rank % 2, 1 - rank % 2})
            check(stretto_wait(&requests[i]));
        CHECK(sum.back() == 3);
        CHECK(recv.holds([&](int r, std::size_t i) { return element(r, rank, i); }));
        std::vector<stretto_stat> lines(32);
        std::size_t count = 0;
        check(stretto_stats(comm, lines.data(), lines.size(), &count));
        std::size_t found = 0;
        for (std::size_t i = 0; i < count; ++i)
            found += std::string(lines[i].collective) == "alltoall" &&
                     std::string(lines[i].algorithm) == "messages" && lines[i].calls == 1 &&
                     lines[i].messages == 2;
        CHECK(found == 1);
    });
}

TEST_CASE("a count that its receiver does not expect is an error of both, naming them") {
    for (const std::size_t sent : {std::size_t{0}, std::size_t{5}, std::size_t{500'000}})
        for (const std::size_t expected : {std::size_t{6}, std::size_t{400'000}})
            test::with_ranks(3, [&](stretto_comm comm) {
                const int rank = stretto_rank(comm);
                std::vector<int> own(sent + 1), all(expected + 2);
                const std::size_t counts[] = {1, 1, expected};
                const stretto_status status =
                    stretto_gatherv(comm, own.data(), rank == 2 ? sent : 1, all.data(), counts,
                                    nullptr, STRETTO_INT32, 1);
                if (rank == 0) { // it may have been through with its part
                    CHECK((status == STRETTO_OK || status == STRETTO_ERR_MISMATCH));
                    return;
                }
                CHECK(status == STRETTO_ERR_MISMATCH);
                const std::string message = stretto_last_error();
                CHECK(contains(message, "gatherv"));
                CHECK(contains(message, "rank 2 sends"));
                CHECK(contains(message, (std::to_string(4 * sent) + " bytes to rank 1").c_str()));
                CHECK(contains(message, std::to_string(4 * expected).c_str()));
                CHECK(stretto_barrier(comm) == STRETTO_ERR_REVOKED);
            });
}

TEST_CASE("a rank that calls something else is found out") {
    for (const bool other_waits : {false, true})
        test::with_ranks(2, [other_waits](stretto_comm comm) {
            int x = 1, all[2] = {};
            const std::size_t counts[] = {1, 1};
            stretto_status status;
            if (stretto_rank(comm) == 1)
                status = stretto_gatherv(comm, &x, 1, all, counts, nullptr, STRETTO_INT32, 0);
            else if (other_waits)
                status = stretto_barrier(comm);
            else
                status = stretto_gatherv(comm, &x, 1, all, counts, nullptr, STRETTO_INT32, 1);
            CHECK((status == STRETTO_ERR_MISMATCH || status == STRETTO_ERR_ARGUMENT));
            if (status == STRETTO_ERR_MISMATCH)
                CHECK(contains(stretto_last_error(), "gatherv(int32, root 0)"));
        });
}

TEST_CASE("a rank that dies in a gatherv is an error of the ranks that wait for it") {
    test::SharedCounter answered;
    const auto codes = test::on_processes(3, [&](stretto_comm comm) {
        std::vector<int> own(300'000), all(900'000);
        const std::size_t counts[] = {300'000, 300'000, 300'000};
        if (stretto_rank(comm) == 1)
            raise(SIGKILL);
        const stretto_status status = stretto_gatherv(comm, own.data(), own.size(), all.data(),
                                                      counts, nullptr, STRETTO_INT32, 0);
        const bool told =
            status == STRETTO_ERR_PEER && contains(stretto_last_error(), "rank 1 has died");
        ++*answered; // whose process ends before is dead, too
        answered.await(2);
        return told || (stretto_rank(comm) == 2 && status == STRETTO_OK) ? 7 : 8;
    });
    CHECK(codes == std::vector<int>{7, -SIGKILL, 7});
}
