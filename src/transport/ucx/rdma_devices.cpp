// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/rdma_devices.hpp"

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <sys/resource.h>
#include <system_error>
#include <vector>

#include "base/kernel_files.hpp"

namespace stretto::transport {

namespace {

namespace fs = std::filesystem;

// The entries of a folder; none, or those so far, if it cannot be read: a device may be removed.
std::vector<fs::path> entries(const fs::path &folder) {
    std::vector<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator each(folder, error); !error && each != fs::directory_iterator();
         each.increment(error))
        found.push_back(each->path());
    return found;
}

// The state of a port is a file: "4: ACTIVE".
bool any_port_active(const std::string &devices) {
    for (const fs::path &device : entries(devices))
        for (const fs::path &port : entries(device / "ports"))
            if (contents(port / "state").find("ACTIVE") != std::string::npos)
                return true;
    return false;
}

// A process with this capability locks as much as it likes.
bool may_lock_all() {
    constexpr unsigned kLockMemoryShift = 14; // CAP_IPC_LOCK
    const std::string status = contents("/proc/self/status");
    std::string_view mask = line_after(status, "CapEff:").value_or("0");
    mask.remove_prefix(std::min(mask.size(), mask.find_first_not_of(" \t")));
    std::uint64_t capabilities = 0;
    (void)std::from_chars(mask.data(), mask.data() + mask.size(), capabilities, 16);
    return (capabilities >> kLockMemoryShift & 1) != 0;
}

} // namespace

std::string no_rdma_device(const std::string &devices) {
    if (!any_port_active(devices))
        return "no device for RDMA on this host has an active port (" + devices +
               "), and over TCP Stretto's own transport is better than UCX";
    constexpr rlim_t kLeastLockedBytes = 64 << 20;
    rlimit locked{};
    if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur < kLeastLockedBytes &&
        !may_lock_all())
        return "this process may lock only " + std::to_string(locked.rlim_cur >> 10) +
               " KiB of memory, which is too little for RDMA; raise the limit (ulimit -l "
               "unlimited, memlock in /etc/security/limits.conf, LimitMEMLOCK of the service that "
               "starts the ranks)";
    return "";
}

} // namespace stretto::transport
