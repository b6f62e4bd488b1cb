// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/cores.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <unistd.h>

#include "base/control_groups.hpp"

namespace stretto::bootstrap {

CoreSet affinity(int (*ask)(pid_t, std::size_t, cpu_set_t *)) {
    struct Free {
        void operator()(cpu_set_t *mask) const { CPU_FREE(mask); }
    };
    constexpr std::size_t kLargestProcessors = std::size_t{1} << 20;
    CoreSet set;
    // The kernel refuses a mask that is shorter than its own, and does not say how long that is.
    for (std::size_t most = CPU_SETSIZE; most <= kLargestProcessors; most *= 2) {
        const std::unique_ptr<cpu_set_t, Free> mask(CPU_ALLOC(most));
        if (mask == nullptr)
            break;
        const std::size_t bytes = CPU_ALLOC_SIZE(most);
        CPU_ZERO_S(bytes, mask.get());
        if (ask(0, bytes, mask.get()) == 0) {
            for (std::size_t processor = 0; processor < most; ++processor)
                if (CPU_ISSET_S(processor, bytes, mask.get()))
                    set.add(processor);
            break;
        }
        if (errno != EINVAL)
            break;
    }
    return set;
}

unsigned online() {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 0 ? static_cast<unsigned>(processors) : 0;
}

unsigned quota() {
    return cores_left_by_groups().value_or(UINT_MAX);
}

unsigned cores_worth(const CoreSet &allowed, unsigned quota) {
    const unsigned known = allowed.count();
    return std::max(1u, std::min(known != 0 ? known : online(), quota));
}

std::vector<std::int32_t> caches_of(std::span<const CoreSet> ranks, const Caches &caches) {
    std::vector<std::int32_t> found;
    for (const CoreSet &rank : ranks) {
        const std::optional<std::int32_t> cache = caches.shared_by(rank.processors());
        if (!cache)
            return {};
        found.push_back(*cache);
    }
    return found;
}

} // namespace stretto::bootstrap
