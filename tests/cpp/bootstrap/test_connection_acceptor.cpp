// SPDX-License-Identifier: BSD-3-Clause
// One listener for all communicators of a job: connections are told apart.
#include "doctest.h"

#include <functional>
#include <memory>
#include <optional>
#include <poll.h>
#include <vector>

#include "base/clock.hpp"
#include "bootstrap/network/connection_acceptor.hpp"
#include "net/sockets.hpp"

using namespace stretto;
using namespace stretto::bootstrap;
using net::ConnectionKind;

namespace {

constexpr std::uint64_t kEpoch = 7, kOther = 8;

// Ranks 0 and 1 of a job of three.
struct Pair {
    Descriptor socket = net::listen_at(*net::Address::numeric("127.0.0.1", 0));
    std::vector<net::Address> addresses =
        std::vector<net::Address>(3, net::local_address(socket.get()));
    ConnectionAcceptor called{net::Key(), 0, addresses, std::move(socket)};
    ConnectionAcceptor calling{net::Key(), 1, addresses,
                               net::listen_at(*net::Address::numeric("127.0.0.1", 0))};

    bool until(const std::function<bool()> &done) {
        for (const std::uint64_t start = now_ns(); now_ns() - start < 60'000'000'000;) {
            if (done())
                return true;
            pollfd entry{called.descriptor(), POLLIN, 0};
            (void)poll(&entry, 1, 1);
            called.progress();
        }
        return false;
    }

    net::Opened call(std::uint64_t epoch) {
        const auto connector = calling.call({ConnectionKind::data, 3}, 0, epoch);
        REQUIRE(
            until([&] { return connector->progress(now_ns()) == net::Connector::State::open; }));
        return connector->take();
    }
    std::optional<net::Opened> take(std::uint64_t epoch, int rank = 1) {
        return called.take({ConnectionKind::data, 3}, rank, epoch);
    }
};

// Whether these are two ends of one connection.
bool meet(const net::Opened &one, const net::Opened &other) {
    return net::local_address(one.socket.get()) == net::remote_address(other.socket.get());
}

} // namespace

TEST_CASE("a connection waits for whom it is for") {
    Pair pair;
    const net::Opened one = pair.call(kEpoch), other = pair.call(kOther);
    CHECK_FALSE(pair.take(kEpoch, 2));
    CHECK_FALSE(pair.take(9));
    CHECK_FALSE(pair.called.take({ConnectionKind::control, 3}, 1, kEpoch));
    CHECK_FALSE(pair.called.take({ConnectionKind::data, 0}, 1, kEpoch));
    const auto second = pair.take(kOther), first = pair.take(kEpoch);
    REQUIRE(first);
    REQUIRE(second);
    CHECK(meet(one, *first));
    CHECK(meet(other, *second));
    CHECK_FALSE(pair.take(kEpoch));
}

TEST_CASE("of two connections for the same the last one counts") {
    Pair pair;
    const net::Opened old = pair.call(kEpoch), fresh = pair.call(kEpoch);
    const auto taken = pair.take(kEpoch);
    REQUIRE(taken);
    CHECK(meet(fresh, *taken));
}

TEST_CASE("a connection that was given up is forgotten") {
    Pair pair;
    std::optional<net::Opened> gone = pair.call(kEpoch);
    gone.reset();
    const net::Opened later = pair.call(kOther); // comes after the end of the first one
    CHECK_FALSE(pair.take(kEpoch));
    CHECK(pair.take(kOther));
}

TEST_CASE("epochs are named by what ranks agree on, and by the job's key") {
    Pair pair;
    CHECK(pair.called.epoch_named("split 3") == pair.calling.epoch_named("split 3"));
    CHECK(pair.called.epoch_named("split 3") != pair.called.epoch_named("split 4"));
    const ConnectionAcceptor stranger(net::Key(net::random_bytes()), 0, pair.addresses,
                                      net::listen_at(*net::Address::numeric("127.0.0.1", 0)));
    CHECK(stranger.epoch_named("split 3") != pair.called.epoch_named("split 3"));
}
