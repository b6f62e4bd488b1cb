// SPDX-License-Identifier: BSD-3-Clause
// What MPI demands of matching, too simple to be wrong: two vectors in order, looked through from
// the front.  The tests and `stretto bench matching` check matchers by it; the library has no use
// for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "p2p/matching/match_queue.hpp"

namespace stretto::p2p {

class MatchingModel {
public:
    // Receives and messages have numbers; this one stands for "none".
    static constexpr std::int32_t kNone = -1;

    struct Entry {
        Envelope envelope;
        std::int32_t number;
    };

    // The message that the receive takes.
    std::int32_t post(std::int32_t number, const Envelope &wanted) {
        return take(arrived_, posted_, {wanted, number},
                    [&](const Envelope &has) { return fits(wanted, has); });
    }
    // The receive that takes the message.
    std::int32_t arrive(std::int32_t number, const Envelope &has) {
        return take(posted_, arrived_, {has, number},
                    [&](const Envelope &wanted) { return fits(wanted, has); });
    }
    // The message that a receive for `wanted` would take.
    std::int32_t find(const Envelope &wanted) const {
        for (const Entry &entry : arrived_)
            if (fits(wanted, entry.envelope))
                return entry.number;
        return kNone;
    }
    void withdraw(std::int32_t number) {
        std::erase_if(posted_, [&](const Entry &entry) { return entry.number == number; });
    }
    std::int32_t take_oldest_receive() { return take_oldest(posted_); }
    std::int32_t take_oldest_message() { return take_oldest(arrived_); }

    // From the oldest on.
    const std::vector<Entry> &posted() const { return posted_; }
    const std::vector<Entry> &arrived() const { return arrived_; }

private:
    // Not the function that matchers use: it is checked, too.
    static bool fits(const Envelope &wanted, const Envelope &has) {
        if (wanted.context != has.context)
            return false;
        if (wanted.source >= 0 && wanted.source != has.source)
            return false;
        return wanted.tag < 0 || wanted.tag == has.tag;
    }
    // The first entry of `queue` that fits, which leaves it; if there is none, `mine` waits.
    template<class Wanted>
    static std::int32_t take(std::vector<Entry> &queue, std::vector<Entry> &waiting,
                             const Entry &mine, const Wanted &is_wanted) {
        const auto found = std::find_if(queue.begin(), queue.end(), [&](const Entry &entry) {
            return is_wanted(entry.envelope);
        });
        if (found == queue.end()) {
            waiting.push_back(mine);
            return kNone;
        }
        const std::int32_t number = found->number;
        queue.erase(found);
        return number;
    }

    static std::int32_t take_oldest(std::vector<Entry> &queue) {
        if (queue.empty())
            return kNone;
        const std::int32_t number = queue.front().number;
        queue.erase(queue.begin());
        return number;
    }

    std::vector<Entry> posted_, arrived_;
};

} // namespace stretto::p2p
