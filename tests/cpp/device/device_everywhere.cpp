// SPDX-License-Identifier: BSD-3-Clause
// Linked to a test: its private buffers are on the device, at times all of them, at times some,
// different ones on each rank.
#include "device/on_device.hpp"

namespace {

test::OnDevice everywhere(test::OnDevice::Buffers::all_or_some);

} // namespace
