// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <string>
#include <vector>

#include "base/status.hpp"
#include "net/sockets.hpp"
#include "support/text.hpp"

using namespace stretto;
using namespace stretto::net;

TEST_CASE("a range of ports is read, and nothing else is one") {
    const PortRange range = parse_ports("V", "29401-29420");
    CHECK(range.first == 29401);
    CHECK(range.last == 29420);
    CHECK(parse_ports("V", "7").last == 7);
    CHECK(parse_ports("V", "1-65535").last == 65535);
    for (const char *bad : {"", "-", "0", "0-5", "5-", "-5", "6-5", "1-65536", "1-2-3", "a-b",
                            " 1-2", "1 - 2", "1,2", "99999999999"}) {
        CAPTURE(bad);
        try {
            (void)parse_ports("V", bad);
            FAIL("taken");
        } catch (const Error &error) {
            CHECK(error.status() == Status::argument);
            CHECK(
                std::string(error.what()).starts_with("V is '" + std::string(bad) + "'; it takes"));
        }
    }
}

TEST_CASE("each listener takes another port of the range, from its turn on, but that of others") {
    // A run of ports that are free, as far as that can be known.
    std::uint16_t first = local_address(listen_everywhere(0).get()).port();
    first = static_cast<std::uint16_t>(first > 60000 ? first - 100 : first);
    const PortRange range{first, static_cast<std::uint16_t>(first + 31)};
    const auto except = static_cast<std::uint16_t>(first + 1);
    std::vector<Descriptor> taken;
    for (;;) {
        try {
            taken.push_back(listen_within(range, 30, except));
        } catch (const Error &error) {
            CHECK(error.status() == Status::system);
            CHECK(test::contains(error.what(), "STRETTO_PORTS=" + std::to_string(first) + "-"));
            break;
        }
        const std::uint16_t port = local_address(taken.back().get()).port();
        CHECK(port >= range.first);
        CHECK(port <= range.last);
        CHECK(port != except);
        REQUIRE(taken.size() <= 31);
    }
    CHECK(taken.size() > 16); // others may have some of them
    CHECK(local_address(listen_within({}, 5).get()).port() != 0);
}

TEST_CASE("the setting says the range") {
    CHECK(port_range("").first == 0);
    CHECK(port_range("5000-5009").first == 5000);
    CHECK(port_range("5000-5009").last == 5009);
}
