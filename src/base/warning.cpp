// SPDX-License-Identifier: BSD-3-Clause
#include "base/warning.hpp"

#include <cstdio>

#include "base/settings.hpp"

namespace stretto {

void warn(std::string_view sentence) noexcept {
    try {
        if (enabled(Setting::warn))
            std::fprintf(stderr, "stretto: %.*s (STRETTO_WARN=0 silences this)\n",
                         static_cast<int>(sentence.size()), sentence.data());
    } catch (...) { // a malformed setting is reported elsewhere
    }
}

void log(std::string_view sentence) noexcept {
    std::fprintf(stderr, "stretto: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
}

} // namespace stretto
