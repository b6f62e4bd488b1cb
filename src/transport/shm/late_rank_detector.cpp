// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/late_rank_detector.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "transport/wait/doorbell.hpp"
#include "transport/wait/wait_policy.hpp"

namespace stretto::transport {

namespace {

constexpr int kSumShift = 32;  // of ArrivalCounter::come
constexpr int kTurnShift = 24; // of ArrivalCounter::decision; below: 1 + late rank, or 0
constexpr std::uint64_t kRankMask = (1u << kTurnShift) - 1;
// Larger than any sum of known times; sums of it do not overflow.
constexpr std::uint64_t kUnknown = std::uint64_t{1} << 48;

std::uint64_t ranks_in(std::uint64_t come) {
    return come & ((std::uint64_t{1} << kSumShift) - 1);
}

std::uint64_t since(std::uint64_t then, std::uint64_t now) {
    return now - std::min(then, now);
}

} // namespace

LateRankDetector::LateRankDetector(Segment &segment, int rank)
    : segment_(segment), rank_(rank), took_(kUnknown) {}

void LateRankDetector::come(std::uint64_t now) {
    ArrivalCounter &all = arrival_counter();
    const auto ranks = static_cast<std::uint64_t>(segment_.ranks());
    ++turn_;
    came_ = now;
    times().took.fetch_add(took_, std::memory_order_relaxed);
    before_ = all.come.fetch_add(1 + (static_cast<std::uint64_t>(rank_ + 1) << kSumShift),
                                 std::memory_order_acq_rel);
    const std::uint64_t come = ranks_in(before_) + 1;
    last_ = come == ranks;
    if (come + 1 == ranks)
        times().others.store(now, std::memory_order_relaxed);
    if (!last_)
        return;
    times().last.store(now, std::memory_order_relaxed);
    // No rank enters the next turn before this one ends, which needs this rank.  And all ranks have
    // read the result of the turn before.
    all.times[(turn_ + 1) & 1].took.store(0, std::memory_order_relaxed);
    all.come.store(0, std::memory_order_release);
}

void LateRankDetector::leave(std::uint64_t now, bool counts) {
    took_ = counts ? since(times().last.load(std::memory_order_relaxed), now) : kUnknown;
}

std::uint64_t LateRankDetector::gap() const {
    return since(times().others.load(std::memory_order_relaxed),
                 times().last.load(std::memory_order_relaxed));
}

std::uint64_t LateRankDetector::last_took() const {
    const std::uint64_t sum = times().took.load(std::memory_order_relaxed);
    return sum >= kUnknown ? 0 : sum / static_cast<std::uint64_t>(segment_.ranks());
}

bool LateRankDetector::decided(int &late) const {
    const std::uint64_t word = arrival_counter().decision.load(std::memory_order_acquire);
    if (word >> kTurnShift != turn_)
        return false;
    late = static_cast<int>(word & kRankMask) - 1;
    return true;
}

void LateRankDetector::decide(int late) {
    std::atomic<std::uint64_t> &decision = arrival_counter().decision;
    const std::uint64_t mine =
        turn_ << kTurnShift | static_cast<std::uint64_t>(late == kNoRank ? 0 : late + 1);
    std::uint64_t known = decision.load(std::memory_order_relaxed);
    while (known >> kTurnShift < turn_)
        if (decision.compare_exchange_weak(known, mine, std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
            if (anybody_sleeps(segment_.header().signals))
                for (int rank = 0; rank < segment_.ranks(); ++rank)
                    if (rank != rank_)
                        Doorbell(segment_, rank).ring();
            return;
        }
}

class LateRankDetector::Wait final : public Waitable {
public:
    Wait(LateRankDetector &detector, std::uint64_t due, int missing, std::uint64_t patience_ns,
         const std::function<void()> &meanwhile)
        : late_rank_detector_(detector), due_(due), missing_(missing), patience_(patience_ns),
          meanwhile_(meanwhile) {}

    bool attempt() override {
        if (late_rank_detector_.decided(late))
            return true;
        meanwhile_();
        if (missing_ == kNoRank || now_ns() < due_)
            return false;
        late_rank_detector_.decide(missing_);
        return late_rank_detector_.decided(late);
    }

    void diagnose(std::uint64_t waited_ns) override {
        const Segment &segment = late_rank_detector_.segment_;
        bool gone = waited_ns > patience_;
        for (int rank = 0; rank < segment.ranks() && !gone; ++rank)
            gone = segment.presence(rank) != Presence::here;
        if (gone)
            late_rank_detector_.decide(kNoRank);
    }

    int late = kNoRank;

private:
    LateRankDetector &late_rank_detector_;
    const std::uint64_t due_;
    const int missing_; // the last but one decides
    const std::uint64_t patience_;
    const std::function<void()> &meanwhile_;
};

int LateRankDetector::latecomer(std::uint64_t grace_ns, std::uint64_t patience_ns,
                                const std::function<void()> &meanwhile) {
    const auto ranks = static_cast<std::uint64_t>(segment_.ranks());
    int missing = kNoRank;
    if (last_)
        decide(kNoRank);
    else if (ranks_in(before_) + 2 == ranks)
        missing = static_cast<int>(ranks * (ranks + 1) / 2 - (before_ >> kSumShift) -
                                   static_cast<std::uint64_t>(rank_ + 1)) -
                  1;
    Wait waitable(*this, came_ + grace_ns, missing, patience_ns, meanwhile);
    if (!waitable.attempt())
        wait(segment_, rank_, waitable, caller(0));
    return waitable.late;
}

} // namespace stretto::transport
