// SPDX-License-Identifier: BSD-3-Clause
// A random sample of the items of a queue.  One walk through the list takes it; it tells what the
// items have in common, and how long the chains of any index would be, without making the index.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "p2p/matching/chains.hpp"

namespace stretto::p2p {

class Sample {
public:
    // Of so many items, of which the list begins with `oldest`.
    Sample(const Item *oldest, std::uint32_t count);

    // The looks that a search for an item takes in an index with these chains, in the mean over
    // all items.
    double mean_looks(const Chains &chains) const;
    // What most of the items have.
    Filling filling() const;

private:
    static constexpr std::size_t kMostEntries = 768;

    std::array<Envelope, kMostEntries> envelopes_; // the first size_ of them
    std::size_t size_ = 0;
    std::uint32_t count_;
};

// The items of a queue, and their sample, which is taken when it is first needed.
class Items {
public:
    Items(Item *oldest, std::uint32_t count) : oldest_(oldest), count_(count) {}

    Item *oldest() const { return oldest_; }
    std::uint32_t count() const { return count_; }
    const Sample &sample() { return sample_ ? *sample_ : sample_.emplace(oldest_, count_); }

private:
    Item *oldest_;
    std::uint32_t count_;
    std::optional<Sample> sample_;
};

} // namespace stretto::p2p
