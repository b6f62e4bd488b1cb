// SPDX-License-Identifier: BSD-3-Clause
// Contributions that wait for the copy engine.  A rank knows its contributions from the beginning
// of a call, and its operands only when cells of other ranks are near.  If the rank gave the copy
// engine all contributions at once, every operand would come behind them, and results later still.
// So the engine's queue holds only as many bytes as the engine copies until a thread looks again.
// That number is measured.  If a thread finds the queue empty, it doubles.  If threads find the
// queue more than half full again and again, it halves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "device/staged_pass.hpp"

namespace stretto::device {

class ContributionQueue {
public:
    void add(PassPointer pass) { held_.push_back(std::move(pass)); }
    // The next one that is to be started; null: none is now.
    PassPointer next() {
        if (held_.empty() || started_bytes_ >= most_bytes_)
            return nullptr;
        PassPointer pass = std::move(held_.front());
        held_.pop_front();
        pass->counted = true;
        started_bytes_ += pass->bytes;
        return pass;
    }
    void ended(const StagedPass &pass) { started_bytes_ -= pass.counted ? pass.bytes : 0; }
    // Called when a thread has looked which copies have ended.
    void looked() {
        constexpr unsigned kCalmLooks = 64;
        if (held_.empty())
            return;
        if (started_bytes_ == 0) {
            most_bytes_ = std::min(2 * most_bytes_, kMostBytes);
            calm_looks_ = 0;
        } else if (2 * started_bytes_ > most_bytes_ && ++calm_looks_ == kCalmLooks) {
            most_bytes_ = std::max(most_bytes_ / 2, kLeastBytes);
            calm_looks_ = 0;
        }
    }

private:
    static constexpr std::size_t kLeastBytes = std::size_t{512} << 10,
                                 kMostBytes = std::size_t{16} << 20;

    Passes held_;
    std::size_t started_bytes_ = 0, most_bytes_ = kLeastBytes;
    unsigned calm_looks_ = 0;
};

} // namespace stretto::device
