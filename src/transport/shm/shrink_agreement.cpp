// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/shrink_agreement.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unistd.h>

#include "base/call_scope.hpp"
#include "base/clock.hpp"

namespace stretto::transport {

namespace {

constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max(); // no further round

} // namespace

std::uint64_t ShrinkAgreement::pack(const Decision &decision) {
    return static_cast<std::uint64_t>(decision.round) << 32 |
           static_cast<std::uint64_t>(decision.proposer) << 8 |
           static_cast<std::uint64_t>(decision.phase);
}

ShrinkAgreement::Decision ShrinkAgreement::unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<int>(word >> 8 & 0xffffff),
            static_cast<Phase>(word & 0xff)};
}

ShrinkAgreement::ShrinkAgreement(Segment &segment, int rank, std::uint64_t completed)
    : segment_(segment), rank_(rank), candidates_(static_cast<std::size_t>(segment.ranks())) {
    std::iota(candidates_.begin(), candidates_.end(), 0);
    if (shrink_record(rank).come.load(std::memory_order_relaxed) == kNever)
        late();
    shrink_record(rank).completed.store(completed, std::memory_order_release);
}

ShrinkAgreement::~ShrinkAgreement() {
    if (!confirmed_)
        shrink_record(rank_).come.store(kNever, std::memory_order_release);
}

bool ShrinkAgreement::gone(int rank) const {
    return shrink_record(rank).come.load(std::memory_order_acquire) == kNever ||
           segment_.presence(rank) != Presence::here;
}

bool ShrinkAgreement::has_come(int rank) const {
    const std::uint32_t come = shrink_record(rank).come.load(std::memory_order_acquire);
    return come != kNever && come >= round_;
}

bool ShrinkAgreement::all_have_come() const {
    return std::all_of(candidates_.begin(), candidates_.end(),
                       [this](int rank) { return has_come(rank) || gone(rank); });
}

ShrinkAgreement::List ShrinkAgreement::hold(std::uint64_t patience_ns) {
    ++round_;
    shrink_record(rank_).come.store(round_, std::memory_order_release);
    const std::uint64_t start = now_ns();
    unsigned nap = 20; // microseconds
    for (;;) {
        const Decision now = decision();
        if (now.round >= round_)
            return take(now);
        if (all_have_come() || (patience_ns != 0 && now_ns() - start > patience_ns)) {
            propose(now);
            continue;
        }
        interruption_point();
        usleep(nap);
        nap = std::min(2 * nap, 1000u);
    }
}

void ShrinkAgreement::propose(Decision before) {
    ShrinkRecord &own = shrink_record(rank_);
    std::atomic<std::uint64_t> *list = segment_.shrink_members(rank_);
    own.listed.store(0, std::memory_order_release);
    for (int rank = 0; rank < segment_.ranks(); rank += 64)
        list[rank / 64].store(0, std::memory_order_release);
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (const int rank : candidates_)
        if (rank == rank_ || (has_come(rank) && !gone(rank))) {
            list[rank / 64].fetch_or(std::uint64_t{1} << (rank % 64), std::memory_order_release);
            least = std::min(least, shrink_record(rank).completed.load(std::memory_order_acquire));
        }
    own.least.store(least, std::memory_order_release);
    own.listed.store(round_, std::memory_order_release);
    std::uint64_t expected = pack(before);
    (void)word().compare_exchange_strong(expected, pack({round_, rank_, Phase::open}),
                                         std::memory_order_acq_rel);
}

ShrinkAgreement::List ShrinkAgreement::take(const Decision &decision) {
    if (decision.round != round_)
        late();
    const ShrinkRecord &proposer = shrink_record(decision.proposer);
    const std::atomic<std::uint64_t> *list = segment_.shrink_members(decision.proposer);
    const bool whole = proposer.listed.load(std::memory_order_acquire) == round_;
    List result{round_, {}, proposer.least.load(std::memory_order_acquire)};
    for (const int rank : candidates_)
        if ((list[rank / 64].load(std::memory_order_acquire) >> (rank % 64) & 1) != 0)
            result.members.push_back(rank);
    if (!whole || proposer.listed.load(std::memory_order_acquire) != round_ ||
        !std::binary_search(result.members.begin(), result.members.end(), rank_))
        late();
    candidates_ = result.members;
    return result;
}

bool ShrinkAgreement::end(Phase phase) {
    Decision now = decision();
    while (now.round == round_ && now.phase == Phase::open) {
        std::uint64_t expected = pack(now);
        if (word().compare_exchange_strong(expected, pack({round_, now.proposer, phase}),
                                           std::memory_order_acq_rel))
            return true;
        now = unpack(expected);
    }
    return now.round == round_ && now.phase == phase;
}

bool ShrinkAgreement::confirm() {
    confirmed_ = end(Phase::confirmed);
    return confirmed_;
}

bool ShrinkAgreement::give_up() {
    return end(Phase::given_up) || decision().round > round_;
}

bool ShrinkAgreement::given_up() const {
    const Decision now = decision();
    return now.round > round_ || (now.round == round_ && now.phase == Phase::given_up);
}

void ShrinkAgreement::late() const {
    throw Error(Status::excluded, segment_.names().of(rank_) +
                                      " is excluded: the other ranks went on without it, since it "
                                      "had not come when they agreed on the remaining ranks");
}

} // namespace stretto::transport
