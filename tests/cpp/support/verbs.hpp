// SPDX-License-Identifier: BSD-3-Clause
// What this process has asked of devices for RDMA so far, UCX's own needs included
// (tests/rdma/verbs_watch.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "support/ucx_settings.hpp"
#include "transport/ucx/ucp_library.hpp"
#ifdef STRETTO_TEST_VERBS
#include "verbs_watch.h"
#endif

namespace test {

struct Verbs {
    std::uint64_t registrations = 0, deregistrations = 0;
    std::uint64_t writes = 0, written_bytes = 0; // into a peer's memory
};

// Nothing: there is no device, or the test was compiled without the headers of libibverbs.
inline std::optional<Verbs> asked_of_devices() {
#ifdef STRETTO_TEST_VERBS
    if (goes_by_device())
        return Verbs{verbs_counts.registrations, verbs_counts.deregistrations,
                     verbs_counts.writes - verbs_counts.empty_writes, verbs_counts.written_bytes};
#endif
    return std::nullopt;
}

// Whether UCX deregisters memory when it is told to, without its cache of registrations: 1.13 has
// another in its driver for InfiniBand.
inline bool deregisters() {
    const std::string_view version = stretto::transport::ucp::library().version();
    return !version.starts_with("1.12.") && !version.starts_with("1.13.");
}

} // namespace test
