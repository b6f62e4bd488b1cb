// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <poll.h>
#include <string>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "net/sockets.hpp"
#include "net/tcp_pair.hpp"

using namespace stretto;
using namespace stretto::net;

namespace {

Address loopback(std::uint16_t port = 0) {
    return *Address::numeric("127.0.0.1", port);
}

// Where nobody listens.
Address deserted() {
    const Descriptor listener = listen_at(loopback());
    return local_address(listener.get());
}

template<class Body>
std::string refusal(Status status, Body &&body) {
    try {
        body();
    } catch (const Error &error) {
        CHECK(error.status() == status);
        return error.what();
    }
    FAIL("accepted");
    return "";
}

} // namespace

TEST_CASE("a listener has a port of its own, and connections have two ends") {
    const test::Sockets sockets = test::tcp_pair();
    CHECK(local_address(sockets.one.get()) == remote_address(sockets.two.get()));
    CHECK(remote_address(sockets.one.get()) == local_address(sockets.two.get()));
    CHECK(local_address(sockets.two.get()).port() != 0);
}

TEST_CASE("one listener for all addresses of a host") {
    const Descriptor listener = listen_everywhere(0);
    const std::uint16_t port = local_address(listener.get()).port();
    CHECK(port != 0);
    for (const char *host : {"127.0.0.1", "::1"}) {
        if (!test::has_loopback(Address::numeric(host, 0)->family()))
            continue;
        const Descriptor one = connect_until(now_ns() + test::kAges, *Address::numeric(host, port));
        const Descriptor two(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        REQUIRE(two.open());
        CHECK(remote_address(two.get()).host() == host);
    }
}

TEST_CASE("a port that is taken, an address that is another host's") {
    const Descriptor listener = listen_at(loopback());
    const Address taken = local_address(listener.get());
    const std::string busy = refusal(Status::system, [&] { listen_at(taken); });
    CHECK(busy.find(taken.text()) != std::string::npos);
    CHECK(busy.find("choose another one") != std::string::npos);
    const Address elsewhere = *Address::numeric("192.0.2.1", 5); // of the documentation's
    const std::string away = refusal(Status::system, [&] { listen_at(elsewhere); });
    CHECK(away.find("192.0.2.1:5") != std::string::npos);
    CHECK(away.find("this host has the addresses") != std::string::npos);
    CHECK(refusal(Status::system, [&] { Connecting(taken, elsewhere); }).find("192.0.2.1") !=
          std::string::npos);
}

TEST_CASE("a connection can begin at a given address") {
    const Descriptor listener = listen_at(loopback());
    const Address from = *Address::numeric("127.0.0.2", 0);
    const Descriptor one =
        connect_until(now_ns() + test::kAges, local_address(listener.get()), from);
    CHECK(local_address(one.get()).same_host(from));
}

TEST_CASE("a peer that does not listen") {
    const Address nobody = deserted();
    const std::string why =
        refusal(Status::system, [&] { connect_until(now_ns() + test::kAges, nobody); });
    CHECK(why.find("could not connect to " + nobody.text()) != std::string::npos);
    CHECK(why.find("Connection refused") != std::string::npos);
    CHECK(why.find(host_name()) == 0);
}

TEST_CASE("a deadline ends the waiting") {
    // A listener that does not accept, and whose queue is full: further ones are not answered.
    const Descriptor listener = listen_at(loopback());
    REQUIRE(listen(listener.get(), 0) == 0);
    const Address at = local_address(listener.get());
    std::vector<Descriptor> held;
    std::string why;
    for (int i = 0; i < 64 && why.empty(); ++i)
        try {
            held.push_back(connect_until(now_ns() + 20'000'000, at));
        } catch (const Error &error) {
            CHECK(error.status() == Status::timeout);
            why = error.what();
        }
    CHECK(why.find("could not connect to " + at.text() + " in time") != std::string::npos);
}

TEST_CASE("a socket that is connected to itself is not accepted") {
    // From and to the same port: what happens by chance to who connects to a free port.
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const Address any = loopback();
    REQUIRE(bind(socket.get(), any.raw(), any.size()) == 0);
    const Address self = local_address(socket.get());
    REQUIRE(connect(socket.get(), self.raw(), self.size()) == 0);
    CHECK(connected_to_itself(socket.get()));
    const test::Sockets sockets = test::tcp_pair();
    CHECK_FALSE(connected_to_itself(sockets.one.get()));
}
