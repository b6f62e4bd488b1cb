// SPDX-License-Identifier: BSD-3-Clause
// The kernels of src/device/kernels, compiled for the CPU.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/kernels/arguments.hpp"

namespace host_kernels {

struct Kernel {
    std::string_view name;
    // One of them is null.
    void (*pass)(stretto::device::PassArguments);
    void (*map)(stretto::device::MapArguments);
};

const std::vector<Kernel> &all();
// Null if there is none of this name.
const Kernel *find(std::string_view name);

// Runs a kernel by a grid of so many blocks, thread after thread.
void run(const Kernel &kernel, unsigned blocks, unsigned threads, const void *arguments);

} // namespace host_kernels
