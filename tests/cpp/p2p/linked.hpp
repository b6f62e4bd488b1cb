// SPDX-License-Identifier: BSD-3-Clause
// The items of a queue, as a list links them.
#pragma once

#include <cstddef>
#include <vector>

#include "p2p/matching/match_queue.hpp"

namespace test {

class Linked {
public:
    // `envelope(i)` is that of the i-th item.
    template<class EnvelopeOf>
    Linked(int count, const EnvelopeOf &envelope) : items_(static_cast<std::size_t>(count)) {
        for (int i = 0; i < count; ++i) {
            at(i).envelope = envelope(i);
            if (i > 0) {
                at(i).before = &at(i - 1);
                at(i - 1).after = &at(i);
            }
        }
    }
    stretto::p2p::Item &at(int i) { return items_[static_cast<std::size_t>(i)]; }
    stretto::p2p::Item *oldest() { return items_.empty() ? nullptr : items_.data(); }
    std::uint32_t count() const { return static_cast<std::uint32_t>(items_.size()); }
    // Takes an item out of the list.
    void unlink(int i) {
        stretto::p2p::Item &item = at(i);
        if (item.before != nullptr)
            item.before->after = item.after;
        if (item.after != nullptr)
            item.after->before = item.before;
    }

private:
    std::vector<stretto::p2p::Item> items_;
};

} // namespace test
