// SPDX-License-Identifier: BSD-3-Clause
// Hosts that are containers of one machine share its cores.
#include "doctest.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bootstrap/network/core_shares.hpp"

using namespace stretto;
using namespace stretto::bootstrap;

namespace {

// Its ranks may use the processors from `first` on; no quota.
HostCores host(std::uint64_t kernel, std::size_t first, std::size_t processors, int ranks) {
    HostCores made;
    made.kernel = kernel;
    for (std::size_t i = 0; i < processors; ++i)
        made.allowed.add(first + i);
    made.worth = static_cast<std::uint32_t>(processors);
    made.ranks = ranks;
    return made;
}

HostCores of_unknown_cores(std::uint64_t kernel, std::uint32_t online, int ranks) {
    HostCores made = host(kernel, 0, 0, ranks);
    made.worth = online;
    return made;
}

std::uint32_t shared(const std::vector<HostCores> &hosts) {
    return cores_as_one_host(hosts);
}

} // namespace

TEST_CASE("machines of their own have the cores that they say") {
    CHECK(shared({host(1, 0, 4, 4), host(2, 0, 4, 4)}) == 8);
    CHECK(shared({host(1, 0, 64, 2), host(2, 0, 64, 2)}) == 4); // at most one for each rank
    CHECK(shared({host(1, 0, 8, 8), host(2, 0, 2, 8)}) == 4);   // the most crowded counts for all
    CHECK(shared({host(1, 0, 1, 100)}) == 1);
}

TEST_CASE("containers of one machine share its cores") {
    CHECK(shared({host(7, 0, 2, 8), host(7, 0, 2, 8)}) == 2);
    CHECK(shared({host(7, 0, 4, 2), host(7, 0, 4, 2), host(7, 0, 4, 4)}) == 4);
    // Two of them on one machine, a third on another, whose ranks have more.
    CHECK(shared({host(7, 0, 2, 2), host(9, 0, 2, 2), host(7, 0, 2, 2)}) == 3);
    // Each on processors of its own.
    CHECK(shared({host(7, 0, 2, 2), host(7, 2, 2, 2)}) == 4);
    // They overlap by one.
    CHECK(shared({host(7, 0, 2, 2), host(7, 1, 2, 2)}) == 3);
}

TEST_CASE("quotas of containers add up to no more than the machine's cores") {
    std::vector<HostCores> hosts{host(7, 0, 8, 4), host(7, 0, 8, 4)};
    hosts[0].worth = hosts[1].worth = 2;
    CHECK(shared(hosts) == 4);
    hosts[0].worth = hosts[1].worth = 6;
    CHECK(shared(hosts) == 8);
    hosts[1].worth = 1; // as crowded as eight ranks on two cores
    CHECK(shared(hosts) == 2);
}

TEST_CASE("hosts of which it is not known what they share are machines of their own") {
    CHECK(shared({host(0, 0, 2, 2), host(0, 0, 2, 2)}) == 4);
}

TEST_CASE("all hosts are on one machine only if that is known of each") {
    CHECK(on_one_machine(std::vector{host(7, 0, 2, 1)}));
    CHECK(on_one_machine(std::vector{host(7, 0, 2, 1), host(7, 0, 4, 2), host(7, 2, 2, 1)}));
    CHECK_FALSE(on_one_machine(std::vector{host(7, 0, 2, 1), host(7, 0, 2, 1), host(8, 0, 2, 1)}));
    CHECK_FALSE(on_one_machine(std::vector{host(0, 0, 2, 1), host(0, 0, 2, 1)}));
    CHECK_FALSE(on_one_machine(std::vector{host(7, 0, 2, 1), host(0, 0, 2, 1)}));
}

TEST_CASE("where processors are not known, containers share those that are online") {
    CHECK(shared({of_unknown_cores(7, 2, 2), of_unknown_cores(7, 2, 2)}) == 2);
    CHECK(shared({of_unknown_cores(7, 2, 2), of_unknown_cores(8, 2, 2)}) == 4);
}
