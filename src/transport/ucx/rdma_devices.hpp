// SPDX-License-Identifier: BSD-3-Clause
// Whether this host has a device for RDMA, by the files of the kernel: without one there is no need
// to load UCX.
#pragma once

#include <string>

namespace stretto::transport {

// "" if a port of a device is active and this process may lock the memory that devices need; else
// what is missing, and what to do about it.  `devices`: the kernel's folder of such devices.
std::string no_rdma_device(const std::string &devices = "/sys/class/infiniband");

} // namespace stretto::transport
