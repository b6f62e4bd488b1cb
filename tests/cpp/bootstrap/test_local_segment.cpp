// SPDX-License-Identifier: BSD-3-Clause
// The ranks of one host elect a leader, greet it and get the segment that it makes.
#include "doctest.h"

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "bootstrap/local/local_segment.hpp"
#include "bootstrap/local/packets.hpp"
#include "support/on_threads.hpp"
#include "support/text.hpp"
#include "transport/shm/job_memory.hpp"

using namespace stretto;
using namespace stretto::bootstrap;
using test::contains;

namespace {

// The ranks of a host, and what rank 0 of the job would know of them.
struct Host {
    explicit Host(int ranks)
        : size(ranks), leads(index(size)), reads(index(size)), named(index(size)) {}
    static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

    const int size;
    const std::string name = [] {
        static std::atomic<int> number{0};
        return "test of local segments " + std::to_string(getpid()) + " " +
               std::to_string(number++);
    }();
    std::vector<std::atomic<int>> leads, reads, named; // by rank: how often
    std::atomic<bool> led{false}, failed{false};
    int without_port = -1; // this rank cannot describe itself
};

class FakeHosts final : public OtherHosts {
public:
    FakeHosts(Host &host, int rank) : host_(host), rank_(rank) {}
    void describe(RankRecord &mine) override {
        if (rank_ == host_.without_port)
            throw Error(Status::system, "rank " + std::to_string(rank_) + " has no port");
        mine.launch = 77;
    }
    transport::Placement read(int table) override {
        std::array<char, 8> bytes{};
        CHECK(pread(table, bytes.data(), bytes.size(), 0) == 5);
        CHECK(std::string(bytes.data()) == "table");
        ++host_.reads[host_.index(rank_)];
        return {};
    }
    void lead() override {
        ++host_.leads[host_.index(rank_)];
        host_.led = true;
    }
    void name(const RankRecord &record) override {
        CHECK(record.launch == 77);
        CHECK(record.cores_here > 0);
        ++host_.named[host_.index(record.rank)];
        ++number_;
    }
    bool all_named() override {
        if (host_.failed)
            throw Error(Status::system, "rank 0 says that the job has failed");
        return number_ == host_.size;
    }
    transport::SegmentShape shape() override {
        transport::SegmentShape shape;
        shape.ranks = host_.size;
        shape.ring_bytes = 1 << 16;
        shape.heap_bytes = 1 << 20;
        return shape;
    }
    Descriptor table() override {
        Descriptor file = transport::anonymous_file("table", 5);
        CHECK(pwrite(file.get(), "table", 5, 0) == 5);
        return file;
    }

private:
    Host &host_;
    const int rank_;
    int number_ = 0;
};

struct Outcome {
    LocalSegment local;
    std::optional<Error> error;
};

// `rank` meets the others: by its number where the leader is known, else as one of several hosts.
Outcome meet_as(Host &host, int rank, bool several, int size = 0,
                std::uint64_t limit_ns = 60'000'000'000) {
    Config config;
    config.shape.ring_bytes = 1 << 16;
    config.shape.heap_bytes = 1 << 20;
    config.network.transport = "auto";
    Identity me;
    me.rank = rank;
    me.size = size == 0 ? host.size : size;
    me.job = host.name;
    me.launcher = "a test";
    Patience patience(nullptr, limit_ns);
    FakeHosts hosts(host, rank);
    Outcome outcome;
    try {
        outcome.local = meet({config, me, host.name, patience, several ? &hosts : nullptr});
    } catch (const Error &error) {
        outcome.error = error;
        if (host.leads[host.index(rank)] > 0) // it tells rank 0
            host.failed = true;
    }
    return outcome;
}

std::vector<Outcome> all_meet(Host &host, bool several) {
    std::vector<Outcome> outcomes(host.index(host.size));
    test::on_threads(host.size, [&](int rank) {
        // So that it is no leader.
        while (rank == host.without_port && !host.led)
            usleep(100);
        outcomes[host.index(rank)] = meet_as(host, rank, several);
    });
    return outcomes;
}

Descriptor call(const Host &host) {
    sockaddr_un where;
    const socklen_t length = address(host.name, where);
    Descriptor socket = open_socket();
    while (connect(socket.get(), reinterpret_cast<sockaddr *>(&where), length) != 0)
        usleep(100);
    return socket;
}

} // namespace

TEST_CASE("all ranks of a host have the segment of one leader") {
    for (const bool several : {false, true})
        for (int round = 0; round < 20; ++round) {
            CAPTURE(several);
            Host host(5);
            const auto outcomes = all_meet(host, several);
            const int leader = outcomes[0].local.leader;
            if (!several)
                CHECK(leader == 0);
            for (int rank = 0; rank < host.size; ++rank) {
                CAPTURE(rank);
                const Outcome &outcome = outcomes[host.index(rank)];
                REQUIRE_FALSE(outcome.error);
                CHECK(outcome.local.leader == leader);
                CHECK(&outcome.local.segment->header() == &outcomes[0].local.segment->header());
                for (int other = 0; other < host.size; ++other)
                    CHECK(outcome.local.sockets[host.index(other)].open() ==
                          (rank != other && (rank == leader || other == leader)));
                CHECK(host.leads[host.index(rank)] == (several && rank == leader ? 1 : 0));
                CHECK(host.reads[host.index(rank)] == (several && rank != leader ? 1 : 0));
                CHECK(host.named[host.index(rank)] == (several ? 1 : 0));
            }
        }
}

TEST_CASE("a rank alone on its host needs no socket") {
    Host host(1);
    const Descriptor other = [&] { // another process has the name
        sockaddr_un where;
        const socklen_t length = address(host.name, where);
        Descriptor socket = open_socket();
        REQUIRE(bind(socket.get(), reinterpret_cast<sockaddr *>(&where), length) == 0);
        return socket;
    }();
    const Outcome outcome = meet_as(host, 0, false);
    CHECK_FALSE(outcome.error);
    CHECK(outcome.local.segment->ranks() == 1);
}

TEST_CASE("a member that cannot go on tells the leader, and the leader all others") {
    Host host(4);
    host.without_port = 2;
    const auto outcomes = all_meet(host, true);
    int told = 0;
    for (const Outcome &outcome : outcomes) {
        REQUIRE(outcome.error);
        CHECK(outcome.error->status() == Status::system);
        const std::string why = outcome.error->what();
        // A rank that comes when the leader has gone leads, and hears it from rank 0 of the job.
        const bool here = contains(why, "rank 2 has no port");
        CHECK((here || contains(why, "rank 0 says that the job has failed")));
        told += here ? 1 : 0;
    }
    CHECK(told >= 2); // rank 2 itself and its leader
}

TEST_CASE("processes that are no ranks are turned away without harm") {
    for (const bool several : {false, true}) {
        CAPTURE(several);
        Host host(2);
        Outcome leader;
        std::thread first([&] { leader = meet_as(host, 0, several); });
        for (const std::string &text : {std::string("GET / HTTP/1.1\r\n\r\n"),
                                        std::string(9000, 'x'), std::string(4, '\0')}) {
            const Descriptor socket = call(host);
            CHECK(send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
                  static_cast<ssize_t>(text.size()));
            constexpr int kWaitMs = 60'000;
            CHECK(readable(socket.get(), kWaitMs)); // closed
            std::array<std::byte, 8> bytes;
            CHECK(receive(socket.get(), bytes).size == 0);
        }
        const Descriptor gone = call(host); // and says nothing
        const Outcome member = meet_as(host, 1, several);
        first.join();
        CHECK_FALSE(leader.error);
        CHECK_FALSE(member.error);
    }
}

TEST_CASE("ranks that disagree are told how") {
    for (const bool several : {false, true})
        for (const bool twins : {false, true}) {
            CAPTURE(several);
            CAPTURE(twins);
            Host host(3);
            std::vector<Outcome> outcomes(3);
            test::on_threads(3, [&](int thread) {
                while (thread != 0 && several && !host.led)
                    usleep(100);
                const int rank = thread == 2 && twins ? 1 : thread;
                const int size = thread == 2 && !twins ? 4 : 3;
                outcomes[host.index(thread)] = meet_as(host, rank, several, size);
            });
            const std::string why = outcomes[0].error ? outcomes[0].error->what() : "";
            CAPTURE(why);
            CHECK(outcomes[0].error->status() == Status::mismatch);
            if (twins) {
                CHECK(contains(why, "two processes say that they are rank 1 on "));
                CHECK(contains(why, several ? "an address of its own" : "a name of its own"));
            } else {
                CHECK(contains(why, "rank 2 on "));
                CHECK(contains(why, " has 4 ranks, rank 0 says 3"));
            }
            for (const Outcome &outcome : outcomes)
                CHECK(outcome.error);
        }
}

TEST_CASE("a process that turns a rank away for ever is named when the limit is over") {
    for (const bool several : {false, true}) {
        CAPTURE(several);
        Host host(2);
        sockaddr_un where;
        const socklen_t length = address(host.name, where);
        const Descriptor listener = open_socket();
        REQUIRE(bind(listener.get(), reinterpret_cast<sockaddr *>(&where), length) == 0);
        REQUIRE(listen(listener.get(), 8) == 0);
        std::atomic<bool> over{false};
        std::thread closes([&] {
            while (!over)
                if (readable(listener.get(), 1))
                    (void)accept_call(listener.get());
        });
        const Outcome outcome = meet_as(host, 1, several, 0, 300'000'000);
        over = true;
        closes.join();
        REQUIRE(outcome.error);
        CHECK(outcome.error->status() == Status::timeout);
        CHECK(contains(outcome.error->what(), "has turned rank 1 away for 0.3 s"));
    }
}

TEST_CASE("one rank alone may bind the name where the leader is fixed") {
    Host host(2);
    sockaddr_un where;
    const socklen_t length = address(host.name, where);
    const Descriptor listener = open_socket();
    REQUIRE(bind(listener.get(), reinterpret_cast<sockaddr *>(&where), length) == 0);
    const Outcome leader = meet_as(host, 0, false);
    REQUIRE(leader.error);
    CHECK(leader.error->status() == Status::argument);
    CHECK(contains(leader.error->what(), "another process is rank 0 of"));
    // It is bound, and takes no calls.
    const Outcome member = meet_as(host, 1, false, 0, 100'000'000);
    REQUIRE(member.error);
    CHECK(member.error->status() == Status::timeout);
    CHECK(contains(member.error->what(), "rank 1 heard nothing of rank 0"));
    const Outcome any = meet_as(host, 1, true, 0, 100'000'000);
    REQUIRE(any.error);
    CHECK(contains(any.error->what(), "its socket is there, and takes no more calls"));
}
