// SPDX-License-Identifier: BSD-3-Clause
#include "select/rules.hpp"

#include <algorithm>
#include <bit>

namespace stretto::select {

using schedule::Collective;

namespace {

// Measured in shared memory (docs/performance.md).  For a small vector, one exchange of all ranks
// with all is fastest, since a second phase costs a second latency.  For a longer one, the owner of
// a block reduces it in one n-ary pass (direct), and all ranks read the result.  With several ranks
// on a core, the second phase costs a round of context switches: up to 48 KiB at 4 ranks on 2
// cores, and 12 KiB at 8 ranks, one phase in which all ranks together read P^2 vectors is cheaper.
// With a core for each of 8 or 16 ranks, a rank reads P vectors in one phase, and two vectors in
// two phases; the lines through the times at 1 and 4 KiB (one phase) and at 16 and 64 KiB (two)
// cross at 2.1 and 1.6 KiB.
std::size_t one_phase_most(const Situation &s) {
    if (s.ranks <= 2)
        return 24 << 10;
    const auto ranks = static_cast<std::size_t>(s.ranks);
    if (ranks > s.cores)
        return std::min<std::size_t>(48 << 10, (768 << 10) / (ranks * ranks));
    return s.ranks <= 4 ? 12 << 10 : (16 << 10) / ranks;
}

std::string sizes(std::size_t bytes) {
    return bytes >= 1024 && bytes % 1024 == 0 ? std::to_string(bytes / 1024) + " KiB"
                                              : std::to_string(bytes) + " B";
}

Rule in_shared_memory(const Situation &s) {
    switch (s.collective) {
    case Collective::allreduce: {
        const std::size_t most = one_phase_most(s);
        const std::string at = " " + sizes(most) + " at " + std::to_string(s.ranks) + " ranks on " +
                               std::to_string(s.cores) + (s.cores == 1 ? " core" : " cores");
        if (s.bytes <= most)
            return {{"one_shot", "one_shot_canonical"},
                    "measured rule: up to" + at + " one exchange of all with all is fastest"};
        return {{"direct", "direct_canonical"},
                "measured rule: beyond" + at + " the owner of a block best reduces it for all"};
    }
    case Collective::reduce:
        // Either the root reads P vectors alone; or every rank reads P parts and reduces them, and
        // the root reads the results.  With a core for each rank, the second is predicted to take
        // 0.8 of the time at 4 ranks, and half of it at 8.
        if (s.ranks >= 4 && static_cast<unsigned>(s.ranks) <= s.cores && s.bytes >= 64 << 10)
            return {
                {"direct", "direct_canonical"},
                "rule: where all have a core, they reduce together what the root then collects"};
        return {{"linear", "binomial"}, "rule: in shared memory all read what one has written"};
    case Collective::reduce_scatter:
        return {{"direct", "direct_canonical"},
                "rule: one step, and the owner of a block reduces it in one pass"};
    case Collective::allgather:
        return {{"direct", ""}, "rule: one step, and each byte is read once"};
    case Collective::alltoall:
        return {{"direct", ""}, "rule: one step, and each byte is read once"};
    case Collective::barrier: return {{"one_shot", ""}, "rule: one step"};
    default:
        return {{"linear", "binomial"}, "rule: in shared memory all read what one has written"};
    }
}

// Measured over TCP on 4, 6 and 8 hosts with links of 1 Gbit/s (docs/performance.md).  For a small
// vector, the algorithm with the fewest messages one after another is fastest; for a large one, the
// algorithm with the fewest bytes, in a continuous stream to one neighbour.  For sizes between,
// algorithms with few messages and few bytes are.
Rule between_hosts(const Situation &s) {
    const std::size_t block = s.bytes / static_cast<unsigned>(s.ranks);
    const std::string between = "measured rule between hosts: ";
    switch (s.collective) {
    case Collective::allreduce:
        if (s.bytes <= 16 << 10)
            return {{"recursive_doubling", "binomial"},
                    between + "up to 16 KiB the fewest messages one after another are fastest"};
        if (s.bytes <= 32 << 10)
            return {{"rabenseifner_32", "binomial"},
                    between + "from 16 to 32 KiB halving and doubling are fastest"};
        // Two ranks that send to each other acknowledge with their own data: on 16 hosts, 64 to
        // 256 KiB take 0.4 to 0.9 of circulant's time; on 8 hosts, as long or less.
        if (block <= 64 << 10 && std::has_single_bit(static_cast<unsigned>(s.ranks)))
            return {{"rabenseifner_32", "direct_canonical"},
                    between + "blocks of up to 64 KiB best are halved and doubled between pairs"};
        if (block <= 64 << 10)
            return {{"circulant", "direct_canonical"},
                    between + "blocks of up to 64 KiB best go a logarithmic number of steps"};
        return {{"ring", "direct_canonical"},
                between + "blocks beyond 64 KiB best go round in a ring"};
    case Collective::broadcast:
    case Collective::reduce:
        if (s.bytes <= 16 << 10 && s.ranks <= 8)
            return {{"linear", "binomial"},
                    between + "up to 16 KiB and 8 ranks one step of the root is fastest"};
        if (s.bytes <= 48 << 10)
            return {{"binomial", ""}, between + "up to 48 KiB a tree is fastest"};
        return {{"chain", "binomial"},
                between + "beyond 48 KiB each byte best goes once, in a chain"};
    case Collective::reduce_scatter:
        if (s.bytes <= 256 << 10)
            return {{"circulant", "direct_canonical"},
                    between + "up to 256 KiB a logarithmic number of steps is fastest"};
        return {{"ring", "direct_canonical"}, between + "beyond 256 KiB a ring is fastest"};
    case Collective::allgather:
        if (s.bytes <= 256 << 10)
            return {{"circulant", ""},
                    between + "up to 256 KiB a logarithmic number of steps is fastest"};
        return {{"ring", ""}, between + "beyond 256 KiB a ring is fastest"};
    case Collective::gather:
    case Collective::scatter:
        return {{s.bytes <= 4 << 10 ? "binomial" : "linear", ""},
                between + "up to 4 KiB a tree is fastest, beyond it each byte best goes once"};
    case Collective::alltoall:
        return {{s.bytes <= 256 << 10 ? "pairwise" : "direct", ""},
                between + "up to 256 KiB one pair after another, beyond it all at once"};
    case Collective::barrier:
        return {{"recursive_doubling", ""},
                between + "the fewest messages one after another are fastest"};
    default: return in_shared_memory(s);
    }
}

// Measured in slow motion on 8, 100, 127 and 128 hosts (docs/papers/kolmakov-zhang.md).  If two
// ranks that are not in step send messages of some 100 KiB to a third at the same time, the queue
// of its port overflows, and lost packets are sent again.  If the number of ranks is a power of
// two, ranks exchange in pairs, which wait for each other.
bool overflows_ports(const Situation &s) {
    const auto ranks = static_cast<unsigned>(s.ranks);
    return s.collective == Collective::allreduce && s.bytes >= 1 << 20 &&
           s.bytes / ranks >= 8 << 10 && !std::has_single_bit(ranks);
}

} // namespace

Rule rule(const Situation &s) {
    constexpr int kMostHosts = 16; // hosts, of most measurements
    if (s.hosts == 1)
        return in_shared_memory(s);
    if (s.hosts > kMostHosts && overflows_ports(s))
        return {{"segmented_ring", "direct_canonical"},
                "measured rule between many hosts: from 1 MiB on short messages in a ring are "
                "fastest"};
    Rule found = between_hosts(s);
    found.holds = s.hosts <= kMostHosts;
    return found;
}

} // namespace stretto::select
