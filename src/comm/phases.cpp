// SPDX-License-Identifier: BSD-3-Clause
// Ranks that know, while they compute, that they will come at another time than usual.
//
// Such a rank tells the arbiter of the coming call (arrival/phase.hpp).  Who comes to the call
// first asks what was told, and that is sealed (control/seals.hpp): all ranks get the same,
// whatever reaches the arbiter later, and decide alike by it.  Nobody waits for another's
// computation, only for the arbiter's agent; and only where ranks tell of their phases, which all
// know of the call before.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/mix.hpp"
#include "comm/communicator.hpp"
#include "comm/hosts/peer_watch.hpp"

namespace stretto::comm {

// After so many calls, what was sealed for earlier ones is forgotten: nobody asks for it again.
static constexpr std::uint64_t kKept = 16;
// Arrivals that were told, and what serves for them.
static constexpr std::size_t kMostTold = 32;

void Communicator::begin_phase() {
    const std::lock_guard lock(phase_mutex_);
    phase_.begin(now_ns());
    next_.told = 0;
}

void Communicator::edge(double fraction) {
    if (!(fraction > 0 && fraction <= 1))
        throw Error(Status::argument,
                    "a part of a phase is above 0 and at most 1, not " + std::to_string(fraction));
    const std::lock_guard lock(phase_mutex_);
    const std::optional<std::int64_t> later = phase_.edge(now_ns(), fraction);
    if (!later || !next_.asks ||
        std::abs(static_cast<double>(*later - next_.told)) * 1e-9 < next_.margin)
        return;
    next_.told = *later;
    joined_.reach.watch->notify(next_.key, next_.arbiter, *later);
}

bool Communicator::end_phase(const Watched &watched, std::uint64_t now) {
    const std::lock_guard lock(phase_mutex_);
    next_.asks = false; // it is too late for that
    return phase_.end(now, watched.number);
}

// Of the next call: the low half counts.
std::uint64_t Communicator::key_of(const Watched &watched) const {
    return mix(segment_->header().key, watched.number) << 32 | (watched.calls & 0xffffffff);
}

// A rank of the job.
int Communicator::arbiter_of(const Watched &watched) const {
    return joined_.reach.ranks[watched.number % joined_.reach.ranks.size()];
}

void Communicator::expect_next(const Watched &watched) {
    const std::lock_guard lock(phase_mutex_);
    next_.asks = watched.told.asks && watched.serves.margin > 0;
    next_.key = key_of(watched);
    next_.arbiter = arbiter_of(watched);
    next_.margin = watched.serves.margin;
}

// Arrivals as they may come out, if what is told now is as right as what was told before.
static std::vector<select::Arrivals> as_may_come(const select::Arrivals &expected,
                                                 const std::deque<select::Arrivals> &errors) {
    std::vector<select::Arrivals> cases;
    for (const select::Arrivals &error : errors) {
        select::Arrivals &one = cases.emplace_back(expected);
        for (std::size_t rank = 0; rank < one.size(); ++rank)
            one[rank] = std::max(0.0, one[rank] + error[rank]);
    }
    cases.push_back(expected);
    return cases;
}

void Communicator::serve_as_told(const Request &request, Watched &watched) {
    const std::uint64_t key = key_of(watched);
    PeerWatch &watch = *joined_.reach.watch;
    const arrival::Deviations told = watch.deviations(key, arbiter_of(watched));
    if (watched.calls % kKept == 0)
        watch.forget(key & ~0xffffffffull, key);
    const double margin = watched.serves.margin;
    if (watched.decided_for.empty() || margin <= 0)
        return;
    // In whole margins, so that those who differ by less are decided for once.
    select::Arrivals expected = watched.decided_for;
    bool usual = true;
    for (std::size_t rank = 0; rank < expected.size(); ++rank)
        if (const auto of = told.find(joined_.reach.ranks[rank]); of != told.end()) {
            const double margins = std::round(static_cast<double>(of->second) * 1e-9 / margin);
            expected[rank] += margins * margin;
            usual = usual && margins == 0;
        }
    Chosen chosen = balanced(request, watched);
    if (usual) {
        serve_late(watched.serves, chosen);
    } else {
        const double first = *std::ranges::min_element(expected);
        for (double &each : expected)
            each -= first;
        if (watched.told.serves.size() == kMostTold && !watched.told.serves.contains(expected))
            watched.told.serves.clear();
        const auto [at, is_new] = watched.told.serves.try_emplace(expected);
        if (is_new)
            at->second = late_for(request, chosen, expected,
                                  as_may_come(expected, watched.told.errors), watched);
        serve_late(at->second, chosen);
        watched.told.expected = std::move(expected);
        watched.told.last = watched.calls;
    }
    serve(request, site(request), chosen);
}

// Of a call whose arrivals were told: how they came out.
void Communicator::note_errors(Watched &watched) {
    if (watched.told.expected.empty())
        return;
    select::Arrivals &error = watched.told.errors.emplace_back(watched.history.recent().back());
    for (std::size_t rank = 0; rank < error.size(); ++rank)
        error[rank] -= watched.told.expected[rank];
    watched.told.expected.clear();
    if (watched.told.errors.size() > arrival::History::kCalls)
        watched.told.errors.pop_front();
}

} // namespace stretto::comm
