// SPDX-License-Identifier: BSD-3-Clause
// Topologies: how they are written, what they say, what they refuse.
#include "doctest.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "schedule/topology.hpp"

using namespace stretto::schedule;
using stretto::Error;
using Numbers = std::vector<std::int32_t>;
using Level = Topology::Level;
using Groups = Topology::Groups;

namespace {

Numbers hosts(std::string_view text, Position ranks = 0) {
    return Topology::parse(text, ranks).host_of();
}

std::string refusal(std::string_view text, Position ranks = 0) {
    try {
        (void)Topology::parse(text, ranks);
    } catch (const Error &error) {
        return error.what();
    }
    return "";
}

bool holds(const std::string &text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a topology is read as it is written") {
    CHECK(hosts("2x3") == Numbers{0, 0, 0, 1, 1, 1});
    CHECK(hosts("3,1,2") == Numbers{0, 0, 0, 1, 2, 2});
    CHECK(hosts(" 3, 1 ,2 ") == Numbers{0, 0, 0, 1, 2, 2});
    CHECK(hosts("cyclic:3x2") == Numbers{0, 1, 2, 0, 1, 2});
    CHECK(hosts("cyclic:3,1,2") == Numbers{0, 1, 2, 0, 2, 0});
    CHECK(hosts("map:7,1,7,2") == Numbers{0, 1, 0, 2});
    CHECK(hosts("3", 8) == Numbers{0, 0, 0, 1, 1, 1, 2, 2});
    CHECK(hosts("5", 7) == Numbers{0, 0, 1, 2, 2, 3, 4});
    CHECK(hosts("cyclic:3", 8) == Numbers{0, 1, 2, 0, 1, 2, 0, 1});
    CHECK(hosts("cyclic:5", 7) == Numbers{0, 1, 2, 3, 4, 0, 1});
    CHECK(hosts("1", 3) == Numbers{0, 0, 0});
    CHECK(Topology::parse("2x4/2").cache_of() == Numbers{0, 0, 1, 1, 2, 2, 3, 3});
    CHECK(Topology::parse("cyclic:2x3/2").cache_of() == Numbers{0, 1, 0, 1, 2, 3});
    CHECK(Topology::parse("3,1,2/2").cache_of() == Numbers{0, 0, 1, 2, 3, 3});
}

TEST_CASE("a written schedule is read again") {
    for (const std::string_view text :
         {"2x3", "1x5", "5x1", "3,1,2", "cyclic:3x2", "cyclic:3,1,2", "map:0,1,0,2,2", "2x4/2",
          "cyclic:2x4/3", "3,1,2/2", "map:0,0,1,0/2", "1x1"}) {
        CAPTURE(text);
        const Topology read = Topology::parse(text);
        CHECK(read.text() == text);
        CHECK(Topology::parse(read.text()) == read);
    }
    CHECK(Topology::parse("map:0,0,1,1").text() == "2x2");
    CHECK(Topology::parse("map:0,1,0,1").text() == "cyclic:2x2");
    CHECK(Topology::parse("3", 8).text() == "3,3,2");
    CHECK(Topology().text() == "");
}

TEST_CASE("a malformed topology is refused, with the correct form") {
    for (const std::string_view text : {"",
                                        "x",
                                        "4x",
                                        "x4",
                                        "0x4",
                                        "4x0",
                                        "-1",
                                        "3,,1",
                                        "3,0,1",
                                        "cyclic:",
                                        "cyclic:0x2",
                                        "map:",
                                        "map:0,-1",
                                        "map:0,a",
                                        "2x4/",
                                        "2x4/0",
                                        "2x4/x",
                                        "8 x 4",
                                        "99999999x99999999",
                                        "1048576,1048576",
                                        "racks:4"}) {
        CAPTURE(text);
        CHECK(holds(refusal(text, 8), "hosts are written as 4, 8x4"));
    }
    CHECK(holds(refusal("4"), "it does not say how many ranks there are"));
    CHECK(refusal("9", 8) == "8 ranks cannot be on 9 hosts");
    CHECK(refusal("2x3", 8) == "hosts '2x3' have 6 ranks, not 8");
    CHECK_THROWS_AS(Topology(Numbers{0, -1}), Error);
    CHECK_THROWS_AS(Topology(Numbers{0, 0}, Numbers{0}), Error);
    CHECK_THROWS_AS(Topology(Numbers{0, 1}, Numbers{5, 5}), Error); // a cache on two hosts
}

TEST_CASE("groups are ascending, in the order of their lowest positions") {
    const Topology dealt = Topology::parse("cyclic:3,1,2/2");
    CHECK(dealt.ranks() == 6);
    CHECK(dealt.hosts() == 3);
    CHECK(dealt.groups(Level::host, 6) == Groups{{0, 3, 5}, {1}, {2, 4}});
    CHECK(dealt.groups(Level::cache, 6) == Groups{{0, 3}, {1}, {2, 4}, {5}});
    CHECK(Topology::parse("2x2").groups(Level::cache, 4) == Groups{{0, 1}, {2, 3}});
    CHECK(Topology().groups(Level::host, 3) == Groups{{0, 1, 2}});
    CHECK(Topology().hosts() == 1);
    CHECK_THROWS_AS((void)dealt.groups(Level::host, 5), Error);
}

TEST_CASE("in another order of positions the same ranks share the same things") {
    const Topology topology = Topology::parse("3,1,2");
    CHECK(topology.ordered(std::vector<Position>{5, 3, 0, 4, 1, 2}) ==
          Topology::parse("map:0,1,2,0,2,2"));
    CHECK(topology.ordered({}) == topology);
    CHECK(Topology(Numbers{9, 9, 4, 7, 7}) == Topology::parse("2,1,2"));
}
