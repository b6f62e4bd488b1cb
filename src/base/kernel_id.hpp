// SPDX-License-Identifier: BSD-3-Clause
// Which running kernel a process is on: containers of one machine share it, machines do not.
#pragma once

#include <cstdint>
#include <string>

#include "base/kernel_files.hpp"
#include "base/mix.hpp"

namespace stretto {

// The name that the kernel gave itself when it booted; "" if it does not say.  Virtual machines
// that were cloned while they ran have one name.
inline std::string boot_name() {
    const std::string text = contents("/proc/sys/kernel/random/boot_id");
    return text.substr(0, text.find('\n'));
}

// Equal on all hosts that are containers of one machine; 0 if it is not known.
inline std::uint64_t kernel_id() {
    const std::string name = boot_name();
    return name.empty() ? 0 : mix(name);
}

} // namespace stretto
