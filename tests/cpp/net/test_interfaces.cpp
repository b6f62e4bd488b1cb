// SPDX-License-Identifier: BSD-3-Clause
// By which interface a peer is reached.
#include "doctest.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "net/interfaces.hpp"

using namespace stretto;
using namespace stretto::net;

namespace {

Address at(const char *host, std::uint16_t port = 0) {
    const auto address = Address::numeric(host, port);
    REQUIRE(address);
    return *address;
}

Interface made(const char *name, bool up, std::vector<Interface::Assigned> addresses) {
    Interface interface;
    interface.name = name;
    interface.up = up;
    interface.loopback = addresses.empty() ? false : addresses[0].address.is_loopback();
    interface.addresses = std::move(addresses);
    return interface;
}

// A host in two networks, whose way out is eth0.
std::vector<Interface> host() {
    return {made("lo", true, {{at("127.0.0.1"), 8}, {at("::1"), 128}}),
            made("eth0", true, {{at("10.0.0.3"), 24}, {at("fe80::3"), 64}}),
            made("eth1", true, {{at("10.1.0.3"), 24}, {at("fd01::3"), 64}}),
            made("ib0", false, {{at("10.2.0.3"), 24}}),
            made("docker0", true, {{at("172.17.0.1"), 16}})};
}

LocalAddress choose(const char *peer, const char *source, const char *filter = "",
                    Place place = Place::other_host) {
    return choose_local(at(peer, 29400), place, at(source),
                        *filter != '\0' ? InterfaceFilter(filter) : InterfaceFilter(), host());
}

std::string refusal(const char *peer, const char *source, const char *filter) {
    try {
        choose(peer, source, filter);
    } catch (const Error &error) {
        CHECK(error.status() == Status::argument);
        return error.what();
    }
    return "";
}

bool takes(const char *list, const char *name) {
    return InterfaceFilter(list).takes(name);
}

} // namespace

TEST_CASE("STRETTO_IFACE names interfaces as users of other libraries know it") {
    CHECK(takes("eth", "eth0"));
    CHECK(takes("eth0", "eth01"));
    CHECK_FALSE(takes("=eth0", "eth01"));
    CHECK(takes("=eth0,ib0", "ib0"));
    CHECK_FALSE(takes("eth,ib", "lo"));
    CHECK_FALSE(takes("^docker,lo", "docker0"));
    CHECK(takes("^docker,lo", "eth0"));
    CHECK_FALSE(takes("^=eth0", "eth0"));
    CHECK(takes("^=eth0", "eth01"));
    CHECK(InterfaceFilter().takes("anything"));
    for (const char *bad :
         {"", ",", "eth0,", ",eth0", "^", "=", "eth0,^lo", "=eth0,=ib0", "e th"}) {
        CAPTURE(bad);
        try {
            const InterfaceFilter filter{std::string_view(bad)};
            FAIL("accepted");
        } catch (const Error &error) {
            CHECK(error.status() == Status::argument);
            CHECK(std::string(error.what()).find("STRETTO_IFACE is '") == 0);
            CHECK(std::string(error.what()).find("^docker,lo") != std::string::npos);
        }
    }
    CHECK(interface_filter("=eth1").takes("eth1"));
    CHECK_FALSE(interface_filter("=eth1").takes("eth0"));
    CHECK(interface_filter("").takes_all());
    CHECK(interface_filter("^").takes_all()); // malformed, which the check says
    CHECK_NOTHROW(check_interface_filter(""));
    CHECK_THROWS_AS(check_interface_filter("^"), Error);
}

TEST_CASE("without a filter the way to the peer decides") {
    CHECK(choose("10.0.0.9", "10.0.0.3").interface == "eth0");
    CHECK(choose("8.8.8.8", "10.0.0.3").address == at("10.0.0.3"));
    CHECK(choose("10.7.0.9", "10.9.0.3").interface == ""); // by routes alone
}

TEST_CASE("a filter leads elsewhere, best into the peer's own network") {
    CHECK(choose("10.0.0.9", "10.0.0.3", "eth").address == at("10.0.0.3")); // its way is fine
    CHECK(choose("10.1.0.9", "10.0.0.3", "eth1,docker").address == at("10.1.0.3"));
    CHECK(choose("10.1.0.9", "10.0.0.3", "docker,eth1").interface == "eth1");
    CHECK(choose("8.8.8.8", "10.0.0.3", "^eth0").address == at("10.1.0.3")); // the first
    CHECK(choose("fd01::9", "fe80::3", "eth1").address == at("fd01::3"));
    // Not by an interface that is down, of the other family, of this host alone or of one link.
    CHECK(refusal("10.2.0.9", "10.0.0.3", "ib").find("STRETTO_IFACE='ib'") != std::string::npos);
    CHECK(refusal("fd05::9", "fd01::3", "docker").find("IPv6") != std::string::npos);
    CHECK(refusal("fd05::9", "fd01::3", "eth0").find("eth0 10.0.0.3/24") != std::string::npos);
    CHECK(refusal("10.0.0.9", "10.0.0.3", "lo") != "");
    CHECK(refusal("10.0.0.9", "10.0.0.3", "nothing").find("ib0 10.2.0.3/24 (down)") !=
          std::string::npos);
}

TEST_CASE("never loopback when the peer is on another host") {
    const std::string why = refusal("127.0.0.1", "127.0.0.1", "");
    CHECK(why.find("127.0.0.1:29400") != std::string::npos);
    CHECK(why.find("on another one") != std::string::npos);
    CHECK(why.find("eth1 10.1.0.3/24") != std::string::npos); // what to choose from
    CHECK(choose("127.0.0.1", "127.0.0.1", "", Place::anywhere).interface == "lo");
    CHECK(choose("127.0.0.1", "127.0.0.1", "eth1", Place::anywhere).interface == "eth1");
}

TEST_CASE("this host") {
    const std::vector<Interface> all = interfaces();
    const auto loopback =
        std::find_if(all.begin(), all.end(), [](const Interface &each) { return each.loopback; });
    REQUIRE(loopback != all.end());
    CHECK(loopback->mtu > 0);
    CHECK(in_words(all).find(loopback->name) != std::string::npos);
    CHECK(in_words({}) == "none");
    if (!loopback->up)
        return;
    REQUIRE_FALSE(loopback->addresses.empty());
    CHECK(loopback->addresses[0].prefix > 0);
    CHECK(source_toward(at("127.0.0.1", 5)) == at("127.0.0.1"));
    CHECK(local_toward(at("127.0.0.1"), Place::anywhere, {}).interface == loopback->name);
    CHECK_THROWS_AS(local_toward(at("127.0.0.1", 5), Place::other_host, {}), Error);
}

TEST_CASE("a peer without a route") {
    try {
        source_toward(at("255.255.255.255", 5)); // broadcasts are forbidden to sockets
        FAIL("found a way");
    } catch (const Error &error) {
        CHECK(error.status() == Status::system);
        CHECK(std::string(error.what()).find("no way to 255.255.255.255") != std::string::npos);
        CHECK(std::string(error.what()).find("its interfaces are") != std::string::npos);
    }
}
