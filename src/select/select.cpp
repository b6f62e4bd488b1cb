// SPDX-License-Identifier: BSD-3-Clause
#include "select/select.hpp"

#include <algorithm>
#include <bit>

namespace stretto::select {

using schedule::Collective;

// Measured in shared memory (docs/performance.md): while a vector is small, one exchange of all
// with all beats everything, as a second phase costs a second latency; then the owner of a block
// reduces it in one n-ary pass (direct) and everybody reads the result.  With several ranks on a
// core the second phase costs a round of context switches: up to 48 KiB at 4 ranks on 2 cores, and
// 12 KiB at 8, what all ranks read in one phase, P^2 vectors, is cheaper.
static std::size_t one_phase_most(const Situation &s) {
    if (s.ranks <= 2)
        return 24 << 10;
    const auto ranks = static_cast<std::size_t>(s.ranks);
    if (ranks > s.cores)
        return std::min<std::size_t>(48 << 10, (768 << 10) / (ranks * ranks));
    return s.ranks <= 4 ? 12 << 10 : 4 << 10;
}

std::string choose(const Situation &s) {
    switch (s.collective) {
    case Collective::allreduce: return s.bytes <= one_phase_most(s) ? "one_shot" : "direct";
    case Collective::reduce_scatter:
    case Collective::allgather: return "direct";
    case Collective::barrier: return "one_shot";
    default: return "linear";
    }
}

std::size_t slice_bytes(const Situation &s) {
    return s.bytes <= (1u << 20) ? 64u << 10 : 256u << 10;
}

std::size_t ring_bytes(int ranks) {
    // Long enough that a line has left its reader's private cache before it is written again, and
    // so short that all rings stay in the shared cache beside the vectors.  Measured on 2 cores:
    // 4 MiB for each of 8 ranks takes 1.4 to 1.7 times as long.
    constexpr std::size_t kAll = 4u << 20; // of all ranks together
    constexpr std::size_t kLeast = 512u << 10, kMost = 2u << 20;
    return std::clamp(std::bit_floor(kAll / static_cast<unsigned>(ranks)), kLeast, kMost);
}

} // namespace stretto::select
