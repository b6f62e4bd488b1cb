// SPDX-License-Identifier: BSD-3-Clause
#include "base/warning.hpp"

#include <atomic>
#include <cstdio>

namespace stretto {

static constinit std::atomic<bool> warnings{true};

void set_warnings(bool on) noexcept {
    warnings.store(on, std::memory_order_relaxed);
}

void warn(std::string_view sentence) noexcept {
    if (warnings.load(std::memory_order_relaxed))
        std::fprintf(stderr, "stretto: %.*s (STRETTO_WARN=0 silences this)\n",
                     static_cast<int>(sentence.size()), sentence.data());
}

void log(std::string_view sentence) noexcept {
    std::fprintf(stderr, "stretto: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
}

} // namespace stretto
