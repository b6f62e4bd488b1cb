// SPDX-License-Identifier: BSD-3-Clause
// How long a rank waits for other ranks in one init, or while one communicator is made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/call_scope.hpp"
#include "base/clock.hpp"
#include "bootstrap/join.hpp"

namespace stretto::bootstrap {

class Patience {
public:
    // `limit_ns`: STRETTO_INIT_TIMEOUT.
    Patience(const ParentContext *origin, std::uint64_t limit_ns)
        : origin_(origin), limit_ns_(limit_ns), start_(now_ns()) {}
    void watch_by(const ParentContext &origin) { origin_ = &origin; }
    bool ended() const { return now_ns() > deadline(); }
    // Of now_ns(); UINT64_MAX: never.
    std::uint64_t deadline() const { return after(0); }
    // A rank that knows what is missing gives up first and tells the others.  A rank that waits for
    // such reports gives up half of the grace later, one that waits for an answer after all of it.
    bool ended_for_reports() const { return now_ns() > after(grace() / 2); }
    bool ended_for_word() const { return now_ns() > after(grace()); }
    std::uint64_t waited() const { return now_ns() - start_; } // ns
    std::string seconds() const { return in_seconds(limit_ns_); }
    // Throws if a rank that this one waits for will not come.  Callers call it as often as they
    // like.
    void watch() {
        interruption_point();
        constexpr std::uint64_t kEveryNs = 50'000'000; // ns
        if (origin_ == nullptr || now_ns() - watched_ < kEveryNs)
            return;
        watched_ = now_ns();
        origin_->watch();
    }

private:
    std::uint64_t after(std::uint64_t more) const {
        return limit_ns_ == 0 ? UINT64_MAX : start_ + limit_ns_ + more;
    }
    std::uint64_t grace() const {
        constexpr std::uint64_t kMostNs = 5'000'000'000, kLeastNs = 500'000'000; // ns
        return std::min(kMostNs, kLeastNs + limit_ns_ / 4);
    }

    const ParentContext *origin_; // null: a job of its own
    std::uint64_t limit_ns_, start_, watched_ = start_;
};

// How long the leader of a host, or rank 0 of several hosts, stays after a failure to tell it to
// ranks that call a little later.
inline constexpr std::uint64_t kStaysNs = 3'000'000'000; // ns

} // namespace stretto::bootstrap
