// SPDX-License-Identifier: BSD-3-Clause
// How many cores the ranks of a job on several hosts have.  Hosts may be containers of one machine,
// which then share its cores.
#pragma once

#include <cstdint>
#include <span>

#include "base/core_set.hpp"

namespace stretto::bootstrap {

// Of one host.
struct HostCores {
    std::uint64_t kernel = 0; // kernel_id(): equal on hosts of one machine; 0 if it is not known
    CoreSet allowed;          // that one of its ranks or more may use; empty if it is not known
    std::uint32_t worth = 0;  // what these are worth under the host's CPU quota
    int ranks = 0;
};

// Whether all are containers of one machine.
bool on_one_machine(std::span<const HostCores> hosts);

// As many as a single host of all these ranks would need to be as crowded as the most crowded host
// or machine is; at least one, and at most one for each rank.
std::uint32_t cores_as_one_host(std::span<const HostCores> hosts);

} // namespace stretto::bootstrap
