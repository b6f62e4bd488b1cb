// SPDX-License-Identifier: BSD-3-Clause
// Settings for tests of links over UCX, which have to be there before it is loaded.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "support/environment.hpp"
#include "support/tier.hpp"

namespace test {

// UCX's own TCP, or what STRETTO_TEST_UCX_TLS names: a device (tests/rdma).
inline const char *ucx_transports() {
    const char *const named = std::getenv("STRETTO_TEST_UCX_TLS");
    return named != nullptr ? named : "tcp";
}

// How long what ought to come at once may take.  The machine of tests/rdma is emulated.
inline std::uint64_t patience_ns() {
    return goes_by_device() ? 400'000'000'000 : 30'000'000'000;
}

inline const With ucx_goes_by("UCX_TLS", ucx_transports()), ucx_is_quiet("UCX_LOG_LEVEL", "fatal");

} // namespace test
