// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <cstring>
#include <string>

#include "base/status.hpp"
#include "net/address.hpp"

using namespace stretto;
using net::Address;

namespace {

Address at(const char *host, std::uint16_t port = 7) {
    const auto address = Address::numeric(host, port);
    REQUIRE(address);
    return *address;
}

std::string refusal(const std::string &text) {
    try {
        net::parse_endpoint("STRETTO_ADDR", text);
    } catch (const Error &error) {
        CHECK(error.status() == Status::argument);
        CHECK(std::string(error.what()).find("STRETTO_ADDR is '") == 0);
        CHECK(std::string(error.what()).find("[fd00::1]:29400") != std::string::npos); // a remedy
        return error.what();
    }
    return "";
}

} // namespace

TEST_CASE("addresses are printed as they are written") {
    CHECK(at("10.0.0.1", 29400).text() == "10.0.0.1:29400");
    CHECK(at("::1", 29400).text() == "[::1]:29400");
    CHECK(at("fd00:0:0::1").text() == "[fd00::1]:7");
    CHECK(at("fe80::1%lo").host() == "fe80::1%lo");
    CHECK(Address().text() == "nowhere:0");
    CHECK_FALSE(Address().known());
    CHECK(Address::any(AF_INET6, 80).text() == "[::]:80");
    for (const char *none : {"", "node7", "10.1", "0x7f.1", "1.2.3.4.5", "10.0.0.1:7", "[::1]",
                             ":::", "fe80::1%nowhere", "::%1", "fd00::1%lo"})
        CHECK_FALSE(Address::numeric(none, 7));
    CHECK_FALSE(Address::numeric(std::string("10.0.0.1\0x", 10), 7));
}

TEST_CASE("an IPv4 address in an IPv6 one is the IPv4 address") {
    sockaddr_in6 mapped{};
    mapped.sin6_family = AF_INET6;
    mapped.sin6_port = htons(99);
    const unsigned char bytes[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 9};
    std::memcpy(&mapped.sin6_addr, bytes, sizeof(bytes));
    const Address address(reinterpret_cast<sockaddr *>(&mapped), sizeof(mapped));
    CHECK(address == at("10.0.0.9", 99));
    CHECK(address.size() == sizeof(sockaddr_in));
    sockaddr_storage other{};
    other.ss_family = AF_UNIX;
    CHECK_FALSE(Address(reinterpret_cast<sockaddr *>(&other), sizeof(other)).known());
}

TEST_CASE("common prefixes of addresses") {
    CHECK(at("10.0.0.1", 1).same_host(at("10.0.0.1", 2)));
    CHECK_FALSE(at("10.0.0.1", 1) == at("10.0.0.1", 2));
    CHECK_FALSE(at("10.0.0.1").same_host(at("10.0.0.2")));
    CHECK_FALSE(at("fe80::1%lo").same_host(at("fe80::1")));
    CHECK(at("10.0.3.1").same_network(at("10.0.2.7"), 23));
    CHECK_FALSE(at("10.0.3.1").same_network(at("10.0.2.7"), 24));
    CHECK(at("fd00::1").same_network(at("fd00::ffff"), 64));
    CHECK(at("fd00::1").same_network(at("fe00::1"), 6));
    CHECK_FALSE(at("fd00::1").same_network(at("fe00::1"), 7));
    CHECK_FALSE(at("::1").same_network(at("127.0.0.1"), 0));
    CHECK(at("127.3.4.5").is_loopback());
    CHECK(at("::1").is_loopback());
    CHECK_FALSE(at("128.0.0.1").is_loopback());
    CHECK_FALSE(at("::2").is_loopback());
    CHECK(at("169.254.1.1").is_link_local());
    CHECK(at("fe80::5").is_link_local());
    CHECK_FALSE(at("fec0::5").is_link_local());
}

TEST_CASE("endpoints") {
    const auto check = [](const char *text, const char *host, int port) {
        const net::Endpoint endpoint = net::parse_endpoint("STRETTO_ADDR", text);
        CHECK(endpoint.host == host);
        CHECK(endpoint.port == port);
    };
    check("node7:29400", "node7", 29400);
    check("10.0.0.1:1", "10.0.0.1", 1);
    check("[::1]:29400", "::1", 29400);
    check("[fe80::1%eth0]:65535", "fe80::1%eth0", 65535);
    CHECK(refusal("node7").find("without a port") != std::string::npos);
    CHECK(refusal("::1:29400").find("takes brackets") != std::string::npos);
    CHECK(refusal("[node7]:1").find("no IPv6 address") != std::string::npos);
    for (const char *bad : {"", ":", ":1", "[]:1", "node7:", "node7:0", "node7:65536", "node7:-1",
                            "node7:1x", "no de:1", "[::1:5", "::1]:5", "a\nb:1"})
        CHECK(refusal(bad) != "");
    CHECK(refusal(std::string(300, 'x') + ":1") != "");
    CHECK(refusal("a\nb:1").find('\n') == std::string::npos);
}

TEST_CASE("hosts have addresses, or there is a reason") {
    const auto found = net::resolve({"127.0.0.1", 5});
    REQUIRE(found.size() == 1);
    CHECK(found[0] == at("127.0.0.1", 5));
    try {
        net::resolve({"no-such-host.invalid", 5});
        FAIL("found");
    } catch (const Error &error) {
        CHECK(error.status() == Status::system);
        CHECK(std::string(error.what()).find("'no-such-host.invalid'") != std::string::npos);
    }
}
