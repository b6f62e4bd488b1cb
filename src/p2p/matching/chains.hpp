// SPDX-License-Identifier: BSD-3-Clause
// Which chain of an index an envelope belongs to:
//
//   bins       the source, modulo the number of chains (Bayatpour et al., Cluster 2016)
//   by_source  the same with a chain for each source (Open MPI's ob1)
//   hash       a hash value of context, source and tag (UCX)
//
// A receive with a wildcard may lack the key that selects a chain.
#pragma once

#include "base/mix.hpp"
#include "p2p/matching/match_queue.hpp"

namespace stretto::p2p {

class Chains {
public:
    Chains() = default;
    Chains(Scheme scheme, std::size_t count)
        : scheme_(scheme), count_(static_cast<std::uint32_t>(count)),
          spread_(static_cast<std::uint32_t>(UINT32_MAX / count + 1)) {}

    bool operator==(const Chains &) const = default;
    Scheme scheme() const { return scheme_; }
    std::size_t count() const { return count_; }

    bool has_key(const Envelope &envelope) const {
        return envelope.source != kAny && (scheme_ != Scheme::hash || envelope.tag != kAny);
    }
    // The envelope has a key.
    std::size_t of(const Envelope &envelope) const {
        std::uint32_t key = static_cast<std::uint32_t>(envelope.source) * spread_;
        if (scheme_ == Scheme::hash)
            key = static_cast<std::uint32_t>(
                mix(std::uint64_t{static_cast<std::uint32_t>(envelope.source)} << 32 |
                        static_cast<std::uint32_t>(envelope.tag),
                    envelope.context));
        return (std::uint64_t{key} * count_) >> 32;
    }

private:
    Scheme scheme_ = Scheme::list;
    std::uint32_t count_ = 0;
    // 2^32 / count_, rounded up: (source * spread_ mod 2^32) * count_ / 2^32 is the source modulo
    // count_ if both are at most 65536, without a division (Lemire, Kaser and Kurz, "Faster
    // remainder by direct computation", 2019).
    std::uint32_t spread_ = 0;
};

} // namespace stretto::p2p
