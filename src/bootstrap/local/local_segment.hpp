// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a job while it is being joined.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/call_scope.hpp"
#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "bootstrap/join.hpp"

namespace stretto::bootstrap {

// How long a rank waits in one init, or while one communicator is made, and for whom it is worth
// it.
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
    // Throws if somebody who is awaited will not come.  To be called as often as one likes.
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

// How long the founder of a host, or rank 0 of several, stays after a failure that ranks which call
// a little later will not learn of otherwise.
inline constexpr std::uint64_t kStaysNs = 3'000'000'000; // ns

// The founder has a socket to each of the others of its host, they have one to it.  A socket that
// closes before all have joined says that its rank cannot.
struct LocalSegment {
    std::shared_ptr<transport::Segment> segment;
    std::vector<Descriptor> sockets; // by rank
    int founder = 0;
};

// Who founds: the lowest rank on this host.
inline int founder(const ParentContext *origin) {
    int rank = 0;
    while (origin != nullptr && !origin->placement().here(rank))
        ++rank;
    return rank;
}

// create.cpp: the founder waits for all others of its host to call, makes the segment and hands
// it out, or tells all who have called why there is none.
LocalSegment create_segment(const Config &config, const Identity &me, const ParentContext *origin,
                            const std::string &name, Patience &patience);

// create.cpp: a rank whose socket has something to say or has closed; -1: there is none.
int heard_from(const std::vector<Descriptor> &peers);
// create.cpp: what `rank` has said over its socket in place of joining, or that it has died.
Error refusal_of(int rank, int fd);
// create.cpp: throws what a rank says, in place of a greeting, keeps it from joining.
void throw_refusal(std::span<const std::byte> greeting);
// create.cpp: how a rank of this host is called in errors.
std::string rank_here(int rank);
// create.cpp: what else may be wrong if the ranks of a job do not find one another; "": nothing.
std::string launch_hint(const Identity &me);
// create.cpp: " 3 5 7", and of many the first.
std::string listed(const std::vector<int> &ranks);

// attach.cpp: what a founder hands out.
struct Handed {
    Descriptor segment, heap;
    std::string note;
};
// attach.cpp: greets whom `fd` is connected to and waits for what it hands out.  Nothing, if the
// connection is closed before the founder has let this rank in: it is to call again.  Throws what
// the founder says instead.
std::optional<Handed> greet(int fd, std::span<const std::byte> greeting, const Identity &me,
                            const std::string &founder, Patience &patience);

// attach.cpp: the others call the founder and are given the segment.
LocalSegment join_segment(const Config &config, const Identity &me, const ParentContext *origin,
                          const std::string &name, Patience &patience);

} // namespace stretto::bootstrap
