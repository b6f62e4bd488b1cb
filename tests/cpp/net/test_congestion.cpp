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

using namespace stretto;
using namespace stretto::net;

namespace {

std::string congestion_of(int socket) {
    char name[16] = "";
    socklen_t size = sizeof(name);
    REQUIRE(getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &size) == 0);
    return name;
}

std::string of_a_connection(const std::string &congestion) {
    test::Sockets sockets = test::tcp_pair();
    const Connection connection(std::move(sockets.one), Peer{}, ConnectionLimits{}, congestion);
    return congestion_of(connection.descriptor());
}

} // namespace

// Every Linux has reno, and allows it to everybody.
TEST_CASE("connections have the congestion control that is set, or the machine's") {
    const std::string usual = congestion_of(test::tcp_pair().one.get());
    check_congestion("");
    CHECK(of_a_connection("") == usual);
    check_congestion("reno");
    CHECK(of_a_connection("reno") == "reno");
    // What is no TCP socket has none.
    choose_congestion(test::local_pair().one.get(), "reno");
}

TEST_CASE("a congestion control that does not exist is an error that names others") {
    try {
        check_congestion("rush");
        FAIL("accepted");
    } catch (const Error &error) {
        CHECK(error.status() == Status::argument);
        const std::string what = error.what();
        CHECK(what.find("STRETTO_CONGESTION is 'rush'") == 0);
        CHECK(what.find("reno") != std::string::npos);
    }
}
