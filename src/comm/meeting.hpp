// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a job while it is being joined.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/settings.hpp"
#include "comm/bootstrap.hpp"

namespace stretto::comm {

// How long to wait, and for whom it is worth it.
class Patience {
public:
    explicit Patience(const Origin *origin)
        : origin_(origin), limit_ns_(nanoseconds(Setting::init_timeout)), start_(now_ns()) {}
    bool ended() const { return limit_ns_ != 0 && now_ns() - start_ > limit_ns_; }
    std::string seconds() const { return in_seconds(limit_ns_); }
    // Throws if somebody who is awaited will not come.  To be called as often as one likes.
    void watch() {
        constexpr std::uint64_t kEvery = 50'000'000; // ns
        if (origin_ == nullptr || now_ns() - watched_ < kEvery)
            return;
        watched_ = now_ns();
        origin_->watch();
    }

private:
    const Origin *origin_; // null: a job of its own
    std::uint64_t limit_ns_, start_, watched_ = start_;
};

// The founder has a socket to each of the others of its host, they have one to it.  A socket that
// closes before all have joined says that its rank cannot.
struct Meeting {
    std::shared_ptr<transport::Segment> segment;
    std::vector<Descriptor> sockets; // by rank
    int founder = 0;
};

// Who founds: the lowest rank on this host.
inline int founder(const Origin *origin) {
    int rank = 0;
    while (origin != nullptr && !origin->placement().here(rank))
        ++rank;
    return rank;
}

// founding.cpp: the founder waits for all others of its host to call, makes the segment and hands
// it out, or tells all who have called why there is none.
Meeting found(const Identity &me, const Origin *origin, const std::string &name);

// founding.cpp: an answer to those who have called at `listener`, but are not taken in yet.
void answer_callers(int listener, Status status, std::string_view message) noexcept;

// founding.cpp: what `rank` has said over its socket in place of joining, or that it has died.
Error refusal_of(int rank, int fd);
// founding.cpp: how a rank of this host is called in errors.
std::string rank_here(int rank);

// following.cpp: what a founder hands out.  Throws what it says instead.
struct Handed {
    Descriptor segment, heap;
    std::string note;
};
Handed receive_handed(int fd, const std::string &job, const std::string &founder);

// following.cpp: the others call the founder and are given the segment.
Meeting follow(const Identity &me, const Origin *origin, const std::string &name);

} // namespace stretto::comm
