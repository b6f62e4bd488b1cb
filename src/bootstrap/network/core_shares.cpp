// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/core_shares.hpp"

#include <algorithm>

namespace stretto::bootstrap {

namespace {

double for_each_rank(std::uint32_t cores, int ranks) {
    return static_cast<double>(cores) / static_cast<double>(ranks);
}

// Of the machine that `host` is a part of.
double on_its_machine(const HostCores &host, std::span<const HostCores> hosts) {
    CoreSet allowed;
    bool known = true;
    std::uint32_t most = 0, sum = 0;
    int ranks = 0;
    for (const HostCores &each : hosts) {
        if (&each != &host && (each.kernel == 0 || each.kernel != host.kernel))
            continue;
        allowed.add(each.allowed);
        known = known && each.allowed.count() != 0;
        most = std::max(most, each.worth);
        sum += each.worth;
        ranks += each.ranks;
    }
    // Quotas of the hosts add up, their cores do not.
    return for_each_rank(std::min(sum, known ? allowed.count() : most), ranks);
}

} // namespace

bool on_one_machine(std::span<const HostCores> hosts) {
    return std::ranges::all_of(hosts, [&](const HostCores &each) {
        return each.kernel != 0 && each.kernel == hosts.front().kernel;
    });
}

std::uint32_t cores_as_one_host(std::span<const HostCores> hosts) {
    double fewest = 1; // for each rank
    int ranks = 0;
    for (const HostCores &host : hosts) {
        fewest =
            std::min({fewest, for_each_rank(host.worth, host.ranks), on_its_machine(host, hosts)});
        ranks += host.ranks;
    }
    return std::max(1u, static_cast<std::uint32_t>(fewest * ranks));
}

} // namespace stretto::bootstrap
