// SPDX-License-Identifier: BSD-3-Clause
// No memory for messages, at any place: as for collectives (test_memory.cpp).  Rank 1 is the poor
// one; the others wait for what it sends, or for it to receive.
#include "doctest.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <vector>

#include "support/sweep.hpp"

using test::kScarceRanks;
using test::sweep;

namespace {

constexpr std::size_t kShort = 100;      // bytes: goes in one frame
constexpr std::size_t kLong = 200'000;   // waits for its receive, comes in pieces
constexpr std::size_t kMost = kLong + 8; // of a buffer

using Bytes = std::vector<unsigned char>;

Bytes letter(int source, int tag, std::size_t bytes) {
    Bytes data(bytes);
    std::iota(data.begin(), data.end(), static_cast<unsigned char>(31 * source + 7 * tag));
    return data;
}

// What a rank does: step by step, until one fails.  Its buffers are there before memory is scarce.
class Actor {
public:
    explicit Actor(stretto_comm comm)
        : comm_(comm), rank_(stretto_rank(comm)), size_(stretto_size(comm)) {}

    int rank() const { return rank_; }
    int next() const { return (rank_ + 1) % size_; }
    int before() const { return (rank_ + size_ - 1) % size_; }

    void step(stretto_status status) {
        if (first_ == STRETTO_OK)
            first_ = status;
    }
    bool fails() const { return first_ != STRETTO_OK; }

    void send(const Bytes &data, int dest, int tag) {
        if (!fails())
            step(stretto_send(comm_, data.data(), data.size(), STRETTO_UINT8, dest, tag));
    }
    // From `source`, or from anybody; it must be `expected`.
    void receive(Bytes &into, const Bytes &expected, int source, int tag) {
        if (fails())
            return;
        stretto_message message{};
        step(stretto_recv(comm_, into.data(), into.size(), STRETTO_UINT8, source, tag, &message));
        if (!fails())
            CHECK((message.bytes == expected.size() &&
                   std::equal(expected.begin(), expected.end(), into.begin())));
    }
    // All meet: who had no need of the poor one learns here what it lacks.
    stretto_status end() {
        if (!fails())
            step(stretto_barrier(comm_));
        return first_;
    }

private:
    stretto_comm comm_;
    int rank_, size_;
    stretto_status first_ = STRETTO_OK;
};

// Waits for all, whatever comes of each.
void wait_for_all(Actor &actor, std::array<stretto_request, 4> &requests) {
    for (stretto_request &request : requests) {
        actor.step(stretto_wait(&request));
        CHECK(request == nullptr);
    }
}

// Letters of all ranks, made before memory is scarce.
struct Post {
    explicit Post(std::size_t bytes) : buffers(kScarceRanks, Bytes(kMost)) {
        for (int rank = 0; rank < kScarceRanks; ++rank)
            letters.push_back(letter(rank, 0, bytes));
    }
    const Bytes &of(int rank) const { return letters[static_cast<std::size_t>(rank)]; }
    Bytes &buffer(int rank) { return buffers[static_cast<std::size_t>(rank)]; }
    std::vector<Bytes> letters, buffers;
};

} // namespace

TEST_CASE("short messages around a ring") {
    Post post(kShort);
    sweep(2, [&](stretto_comm comm) {
        Actor me(comm);
        me.send(post.of(me.rank()), me.next(), 1);
        me.receive(post.buffer(me.rank()), post.of(me.before()), me.before(), 1);
        return me.end();
    });
}

TEST_CASE("long messages from hand to hand, from anywhere") {
    Post post(kLong);
    sweep(5, [&](stretto_comm comm) {
        Actor me(comm);
        if (me.rank() > 0)
            me.receive(post.buffer(me.rank()), post.of(0), STRETTO_ANY_SOURCE, STRETTO_ANY_TAG);
        if (me.rank() + 1 < kScarceRanks)
            me.send(post.of(0), me.next(), 1);
        return me.end();
    });
}

TEST_CASE("messages that arrive before they are wanted") {
    Post brief(kShort), middling(4000);
    sweep(5, [&](stretto_comm comm) {
        Actor me(comm);
        const Bytes &small = brief.of(me.rank()), &large = middling.of(me.rank());
        for (int tag = 1; tag < 4; ++tag)
            me.send(tag == 2 ? large : small, me.next(), tag);
        for (int tag = 3; tag > 0; --tag) // so the first two of them are stored
            me.receive(brief.buffer(me.rank()), (tag == 2 ? middling : brief).of(me.before()),
                       tag == 1 ? STRETTO_ANY_SOURCE : me.before(), tag);
        return me.end();
    });
}

TEST_CASE("nonblocking messages of both kinds, to both others and from anywhere") {
    for (const std::size_t bytes : {kShort, kLong}) {
        CAPTURE(bytes);
        Post post(bytes), other(0);
        sweep(5, [&](stretto_comm comm) {
            Actor me(comm);
            std::array<stretto_request, 4> requests{};
            const auto start = [&](std::size_t i, auto &&begin) {
                if (me.fails())
                    return;
                me.step(begin(&requests[i]));
                CHECK((requests[i] == nullptr) == me.fails());
            };
            for (const std::size_t i : {0u, 1u})
                start(i, [&](stretto_request *request) {
                    Bytes &into = (i == 0 ? post : other).buffer(me.rank());
                    return stretto_irecv(comm, into.data(), into.size(), STRETTO_UINT8,
                                         STRETTO_ANY_SOURCE, STRETTO_ANY_TAG, nullptr, request);
                });
            for (const std::size_t i : {2u, 3u})
                start(i, [&](stretto_request *request) {
                    return stretto_isend(comm, post.of(me.rank()).data(), bytes, STRETTO_UINT8,
                                         i == 2 ? me.next() : me.before(), 1, request);
                });
            wait_for_all(me, requests);
            return me.end();
        });
    }
}

TEST_CASE("messages of a rank to itself") {
    Post post(kShort), more(kLong);
    sweep(4, [&](stretto_comm comm) {
        Actor me(comm);
        const int self = me.rank();
        me.send(post.of(self), self, 1);
        me.receive(post.buffer(self), post.of(self), STRETTO_ANY_SOURCE, 1);
        std::array<stretto_request, 4> requests{};
        if (!me.fails()) // nobody wants it yet, and it is not stored
            me.step(stretto_isend(comm, more.of(self).data(), kLong, STRETTO_UINT8, self, 2,
                                  &requests[0]));
        me.receive(more.buffer(self), more.of(self), self, 2);
        wait_for_all(me, requests);
        return me.end();
    });
}

TEST_CASE("messages that are looked for, that do not fit, and that lie in shared memory") {
    Post post(kShort);
    sweep(5, [&](stretto_comm comm) {
        Actor me(comm);
        stretto_message found{};
        me.send(post.of(me.rank()), me.next(), 1);
        if (!me.fails())
            me.step(stretto_probe(comm, STRETTO_ANY_SOURCE, STRETTO_ANY_TAG, &found));
        if (!me.fails()) {
            CHECK((found.source == me.before() && found.bytes == kShort));
            const stretto_status status =
                stretto_recv(comm, post.buffer(me.rank()).data(), kShort / 2, STRETTO_UINT8,
                             found.source, found.tag, nullptr);
            me.step(status == STRETTO_ERR_TRUNCATED ? STRETTO_OK : status);
        }
        void *shared = nullptr;
        if (!me.fails())
            me.step(stretto_barrier(comm));
        if (!me.fails() && me.rank() != test::kPoor) // its own would fail alone
            test::check(stretto_alloc(comm, kLong, &shared));
        if (shared != nullptr)
            std::memset(shared, 5, kLong);
        if (!me.fails() && me.rank() == 0)
            me.step(stretto_send(comm, shared, kLong, STRETTO_UINT8, test::kPoor, 3));
        if (!me.fails() && me.rank() == test::kPoor)
            me.step(stretto_recv(comm, post.buffer(me.rank()).data(), kLong, STRETTO_UINT8, 0, 3,
                                 nullptr));
        return me.end();
    });
}

TEST_CASE("collectives whose counts only each pair of ranks knows") {
    constexpr std::size_t kPart = 3000;
    const std::vector<std::size_t> counts(kScarceRanks, kPart);
    Post post(kPart * kScarceRanks);
    enum Kind { gatherv, scatterv, alltoallv, ialltoallv, in_place };
    for (const Kind kind : {gatherv, scatterv, alltoallv, ialltoallv, in_place}) {
        CAPTURE(kind);
        sweep(4, [&](stretto_comm comm) {
            Actor me(comm);
            const unsigned char *from = post.of(me.rank()).data();
            unsigned char *into = post.buffer(me.rank()).data();
            constexpr auto u8 = STRETTO_UINT8;
            const std::size_t *parts = counts.data();
            stretto_request request = nullptr;
            switch (kind) {
            case gatherv:
                me.step(stretto_gatherv(comm, from, kPart, into, parts, nullptr, u8, 2));
                break;
            case scatterv:
                me.step(stretto_scatterv(comm, from, parts, nullptr, into, kPart, u8, 0));
                break;
            case alltoallv:
                me.step(stretto_alltoallv(comm, from, parts, nullptr, into, parts, nullptr, u8));
                break;
            case in_place:
                me.step(stretto_alltoallv(comm, STRETTO_IN_PLACE, nullptr, nullptr, into, parts,
                                          nullptr, u8));
                break;
            case ialltoallv:
                me.step(stretto_ialltoallv(comm, from, parts, nullptr, into, parts, nullptr, u8,
                                           &request));
                CHECK((request == nullptr) == me.fails());
                me.step(stretto_wait(&request));
            }
            return me.end();
        });
    }
}

TEST_CASE("collectives with a count for each rank") {
    const std::vector<std::size_t> counts = {1, 700, 30};
    std::vector<std::vector<float>> send(kScarceRanks, std::vector<float>(731, 1)), recv = send;
    sweep(10, [&](stretto_comm comm) {
        Actor me(comm);
        const auto rank = static_cast<std::size_t>(me.rank());
        me.step(stretto_reduce_scatterv(comm, send[rank].data(), recv[rank].data(), counts.data(),
                                        STRETTO_FLOAT32, STRETTO_SUM));
        if (!me.fails())
            CHECK(recv[rank][counts[rank] - 1] == kScarceRanks);
        return me.end();
    });
}
