// SPDX-License-Identifier: BSD-3-Clause
#include "engine/stall.hpp"

#include <algorithm>
#include <new>

namespace stretto::engine {

void StallWatch::set(Raise raise, double factor, std::uint64_t floor_ns) {
    const std::lock_guard lock(mutex_);
    raise_ = std::move(raise);
    factor_ = factor;
    floor_ns_ = floor_ns;
}

StallWatch::Kind StallWatch::kind(const CallDescriptor &descriptor) const {
    const Kind exact{descriptor.packed, descriptor.count};
    return longest_.size() < kMostKinds || longest_.contains(exact) ? exact : Kind{~0ull, ~0ull};
}

std::optional<StallWatch::Due>
StallWatch::due(std::uint64_t sequence, const CallDescriptor &descriptor, std::uint64_t waited_ns) {
    const std::lock_guard lock(mutex_);
    if (!raise_ || sequence < unreported_)
        return {};
    const auto found = longest_.find(kind(descriptor));
    const std::uint64_t longest = found != longest_.end() ? found->second : 0;
    if (static_cast<double>(waited_ns) <=
        factor_ * static_cast<double>(longest) + static_cast<double>(floor_ns_))
        return {};
    unreported_ = sequence + 1;
    return Due{raise_, longest}; // a copy, since the function may set another one
}

void StallWatch::learn(const CallDescriptor &descriptor, std::uint64_t waited_ns) {
    const std::lock_guard lock(mutex_);
    if (!raise_)
        return;
    try {
        std::uint64_t &longest = longest_[kind(descriptor)];
        longest = std::max(longest, waited_ns);
    } catch (const std::bad_alloc &) { // the call must not fail because of that
    }
}

} // namespace stretto::engine
