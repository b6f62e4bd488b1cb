// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>

#include "base/status.hpp"
#include "net/congestion.hpp"
#include "net/connection.hpp"
#include "net/tcp_pair.hpp"
#include "support/environment.hpp"

using namespace stretto;
using namespace stretto::net;

namespace {

std::string congestion_of(int socket) {
    char name[16] = "";
    socklen_t size = sizeof(name);
    REQUIRE(getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &size) == 0);
    return name;
}

std::string of_a_connection() {
    test::Sockets sockets = test::tcp_pair();
    const Connection connection(std::move(sockets.one), Peer{}, ConnectionLimits{});
    return congestion_of(connection.descriptor());
}

} // namespace

// Every Linux has reno, and allows it to everybody.
TEST_CASE("connections have the congestion control that is set, or the machine's") {
    const std::string usual = congestion_of(test::tcp_pair().one.get());
    check_congestion();
    CHECK(of_a_connection() == usual);
    const test::With set("STRETTO_CONGESTION", "reno");
    check_congestion();
    CHECK(of_a_connection() == "reno");
    // What is no TCP socket has none.
    choose_congestion(test::local_pair().one.get());
}

TEST_CASE("a congestion control that does not exist is an error that names others") {
    const test::With set("STRETTO_CONGESTION", "rush");
    try {
        check_congestion();
        FAIL("accepted");
    } catch (const Error &error) {
        CHECK(error.status() == Status::argument);
        const std::string what = error.what();
        CHECK(what.find("STRETTO_CONGESTION is 'rush'") == 0);
        CHECK(what.find("reno") != std::string::npos);
    }
}
