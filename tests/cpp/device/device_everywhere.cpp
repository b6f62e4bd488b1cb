// SPDX-License-Identifier: BSD-3-Clause
// Linked to a test: its private buffers are on the simulated device.  STRETTO_TEST_DEVICE=mixed:
// those of some calls and of some ranks are.
#include <cstdlib>
#include <string_view>

#include "device/on_device.hpp"

namespace {

const char *const which = std::getenv("STRETTO_TEST_DEVICE");
test::OnDevice everywhere(which != nullptr && std::string_view(which) == "mixed"
                              ? test::OnDevice::Buffers::some
                              : test::OnDevice::Buffers::all);

} // namespace
