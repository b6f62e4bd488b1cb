// SPDX-License-Identifier: BSD-3-Clause
// Kernels of passes in place that begin together.  A slice of 256 KiB costs the CPU 6 us to launch,
// and a device a tenth of that to reduce; all slices of a block are often ready at once.  So passes
// of which each begins, in all its buffers, where another one ends, are one pass.  Copies are not:
// what follows in memory may be another allocation, and a driver may refuse to copy over the end of
// one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "device/staged_pass.hpp"

namespace stretto::device {

class GatheredPasses {
public:
    // Takes a pass, or its work: then it gives back the pass, which is empty.
    PassPointer add(PassPointer &pass) {
        for (const PassPointer &each : passes_)
            if (ends_where(*each, *pass)) {
                each->completions.push_back(pass->completions[0]);
                each->bytes += pass->bytes;
                return std::move(pass);
            }
        passes_.push_back(std::move(pass));
        return nullptr;
    }
    // The next one that is to begin; null: there is none.
    PassPointer next() {
        if (passes_.empty())
            return nullptr;
        PassPointer pass = std::move(passes_.front());
        passes_.pop_front();
        return pass;
    }

private:
    // Long enough for what a launch costs to be hidden, also with two ranks.
    static constexpr std::size_t kMostBytes = std::size_t{16} << 20; // of each buffer

    static bool ends_where(const StagedPass &first, const StagedPass &second) {
        const auto follows = [&](const void *before, const void *after) {
            return static_cast<const std::byte *>(before) + first.bytes == after;
        };
        return first.function == second.function && first.context == second.context &&
               first.bytes + second.bytes <= kMostBytes &&
               std::ranges::equal(first.ins, second.ins, follows) &&
               std::ranges::equal(first.device_outs, second.device_outs, follows);
    }

    Passes passes_;
};

} // namespace stretto::device
