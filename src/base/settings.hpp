// SPDX-License-Identifier: BSD-3-Clause
// The settings: every STRETTO_* variable, once, with its type, default, range and meaning.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace stretto {

enum class Setting {
    timeout_s,
    init_timeout_s,
    spin_us,
    ring_bytes,
    slice_bytes,
    plan_bytes,
    heap_bytes,
    algorithm,
    reproducible,
    isa,
};

struct SettingInfo {
    Setting setting;
    std::string_view variable; // "STRETTO_TIMEOUT"
    std::string_view kind;     // "seconds", "bytes", "microseconds", "text"
    std::string_view fallback; // the default, as text; "" for a choice made from the machine
    std::string_view meaning;
};

std::span<const SettingInfo> settings();

// The values in force, read from the environment now; a malformed one throws Error(argument) that
// names the variable, the value and what would do.
std::uint64_t number(Setting setting); // 0 when unset and the default is ""
std::string text(Setting setting);

} // namespace stretto
