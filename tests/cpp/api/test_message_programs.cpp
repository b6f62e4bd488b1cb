// SPDX-License-Identifier: BSD-3-Clause
// Random programs of messages against an oracle.
//
// A program is a list of messages that all ranks derive from a seed.  In each round a rank posts
// its sends and its receives, in an order of its own, and waits in another; it receives by exact
// envelopes or by wildcards.  MPI's rules then leave open at most which source is taken first, so
// each receive can be checked: by what a message says of itself, and by its turn among its like.
#include "doctest.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/tier.hpp"
#include "support/world.hpp"

using test::check;

namespace {

struct Message {
    int source, dest, tag, number; // number: among those of this source to this rank
    std::size_t bytes;
};

enum class Wild { nothing, source, tag, both };

std::size_t some_size(std::mt19937 &random) {
    constexpr std::size_t kEdges[] = {4096, 16'256, 65'408, 65'536, 262'144};
    switch (random() % 8) {
    case 0: return random() % 2;
    case 1:
    case 2: return kEdges[random() % 5] + random() % 3 - 1;
    case 3: return random() % 300'000;
    default: return random() % 2000;
    }
}

std::vector<Message> some_messages(std::mt19937 &random, int ranks) {
    std::vector<Message> all;
    std::map<std::pair<int, int>, int> numbers;
    const int count = static_cast<int>(random() % 25) * ranks;
    for (int i = 0; i < count; ++i) {
        const int source = static_cast<int>(random() % static_cast<unsigned>(ranks));
        const int dest = static_cast<int>(random() % static_cast<unsigned>(ranks));
        all.push_back({source, dest, static_cast<int>(random() % 3), numbers[{source, dest}]++,
                       some_size(random)});
    }
    return all;
}

// The first bytes say which message it is, as far as there is room; the others depend on it.
std::vector<std::uint8_t> content(const Message &message) {
    std::vector<std::uint8_t> data(message.bytes);
    const std::uint32_t mark[3] = {static_cast<std::uint32_t>(message.source),
                                   static_cast<std::uint32_t>(message.tag),
                                   static_cast<std::uint32_t>(message.number)};
    const std::size_t bytes_marked = std::min(data.size(), sizeof(mark));
    std::uint32_t state = mark[0] * 77 + mark[1] * 5 + mark[2] * 1009 + 1;
    for (std::uint8_t &byte : data)
        byte = static_cast<std::uint8_t>((state = state * 1'664'525 + 12'345) >> 24);
    if (bytes_marked != 0)
        std::memcpy(data.data(), mark, bytes_marked);
    return data;
}

class Round {
public:
    Round(stretto_comm comm, const std::vector<Message> &all, unsigned seed)
        : comm_(comm), rank_(stretto_rank(comm)), random_(seed + static_cast<unsigned>(rank_)),
          wild_(static_cast<Wild>(random_() % 4)) {
        for (const Message &message : all) {
            if (message.source == rank_)
                sends_.push_back({message, content(message), nullptr});
            if (message.dest == rank_)
                comes_.push_back(message);
        }
        receives_.reserve(comes_.size());
    }

    void play() {
        std::size_t sent = 0;
        while (sent < sends_.size() || receives_.size() < comes_.size()) {
            const bool send =
                receives_.size() == comes_.size() || (sent < sends_.size() && random_() % 2 == 0);
            if (send)
                post(sends_[sent++]);
            else
                post_receive();
        }
        wait();
        judge();
    }

private:
    struct Sent {
        Message message;
        std::vector<std::uint8_t> data;
        stretto_request request;
    };
    struct Received {
        std::vector<std::uint8_t> data;
        stretto_message seen;
        stretto_request request;
        int source, tag; // as asked for
    };
    static constexpr std::size_t kLongest = 300'000;

    void post(Sent &send) {
        check(stretto_isend(comm_, send.data.data(), send.data.size(), STRETTO_UINT8,
                            send.message.dest, send.message.tag, &send.request));
    }

    // One receive for each message that comes, in an order that serves all of them.
    void post_receive() {
        const Message &next = comes_[receives_.size()];
        const bool any_source = wild_ == Wild::source || wild_ == Wild::both;
        const bool any_tag = wild_ == Wild::tag || wild_ == Wild::both;
        receives_.push_back({std::vector<std::uint8_t>(kLongest + 1, 0xee),
                             {-9, -9, 9},
                             nullptr,
                             any_source ? STRETTO_ANY_SOURCE : next.source,
                             any_tag ? STRETTO_ANY_TAG : next.tag});
        Received &receive = receives_.back();
        check(stretto_irecv(comm_, receive.data.data(), kLongest, STRETTO_UINT8, receive.source,
                            receive.tag, &receive.seen, &receive.request));
    }

    void wait() {
        std::vector<stretto_request *> requests;
        for (Sent &send : sends_)
            requests.push_back(&send.request);
        for (Received &receive : receives_)
            requests.push_back(&receive.request);
        std::shuffle(requests.begin(), requests.end(), random_);
        for (stretto_request *request : requests) {
            for (int done = random_() % 3 == 0 ? 0 : 1, tries = 0; done == 0 && tries < 5; ++tries)
                check(stretto_test(request, &done));
            check(stretto_wait(request));
        }
    }

    // Receives in the order of posting take, of what each may take, what was sent first.
    void judge() {
        std::vector<Message> left = comes_;
        for (const Received &receive : receives_) {
            const auto fits = [&](const Message &message) {
                return message.source == receive.seen.source &&
                       (receive.tag == STRETTO_ANY_TAG || message.tag == receive.tag);
            };
            REQUIRE(
                (receive.source == STRETTO_ANY_SOURCE || receive.source == receive.seen.source));
            const auto right = std::find_if(left.begin(), left.end(), fits);
            REQUIRE(right != left.end());
            CHECK(receive.seen.tag == right->tag);
            CHECK(receive.seen.bytes == right->bytes);
            const auto data = content(*right);
            CHECK(std::equal(data.begin(), data.end(), receive.data.begin()));
            CHECK(receive.data[right->bytes] == 0xee);
            left.erase(right);
        }
        CHECK(left.empty());
    }

    const stretto_comm comm_;
    const int rank_;
    std::mt19937 random_;
    const Wild wild_;
    std::vector<Sent> sends_;
    std::vector<Message> comes_; // in the order in which each source sends
    std::vector<Received> receives_;
};

void run(int ranks, unsigned seed, int rounds) {
    CAPTURE(ranks);
    CAPTURE(seed);
    test::with_ranks(ranks, [&](stretto_comm comm) {
        std::mt19937 random(seed); // the same on all ranks
        for (int round = 0; round < rounds; ++round) {
            const std::vector<Message> all = some_messages(random, ranks);
            const bool overlap = random() % 2 == 0;
            std::vector<double> x(1000, 1), sum(1000);
            stretto_request request = nullptr;
            if (overlap)
                check(stretto_iallreduce(comm, x.data(), sum.data(), x.size(), STRETTO_FLOAT64,
                                         STRETTO_SUM, &request));
            Round(comm, all, seed + static_cast<unsigned>(round)).play();
            check(stretto_wait(&request));
            CHECK((!overlap || sum.back() == ranks));
            check(stretto_barrier(comm)); // or wildcards would take the next round's
        }
    });
}

} // namespace

TEST_CASE("random programs of messages end as the oracle says") {
    const unsigned seeds = test::full_tier() ? 40 : 2;
    for (const int ranks : {1, 2, 3, 5, 8})
        for (unsigned seed = 1; seed <= seeds; ++seed)
            run(ranks, 1000 * static_cast<unsigned>(ranks) + seed, 4);
}
