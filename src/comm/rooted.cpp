// SPDX-License-Identifier: BSD-3-Clause
// Reduces and broadcasts are served for the times at which ranks come, too.
//
// Their ranks need not wait for one another: the root of a broadcast may be gone before others
// come.  So what each says of its arrival does not travel beside the call, as it does where all
// wait for all (arrivals.cpp).  Of some calls before the next decision each tells the arbiter's
// agent when it came, which alone knows what the others told, decides, and seals what serves and in
// which order (retune.hpp).  All know at which call they have to ask for it; then, and only then,
// they may wait, for that agent.
#include <algorithm>
#include <cmath>
#include <utility>

#include "arrival/history.hpp"
#include "base/clock.hpp"
#include "comm/communicator.hpp"
#include "comm/hosts/failure_detector.hpp"
#include "comm/reports.hpp"
#include "comm/retune.hpp"

namespace stretto::comm {

// Calls to the first decision; from one to the next, at least and at most; and from the last of
// which ranks tell to that which asks, so that those have told who come behind the others.
static constexpr std::uint64_t kFirstRootedCalls = 12, kLeastAfterCalls = 16, kMostAfterCalls = 32,
                               kStampAheadCalls = 4;
static constexpr std::uint64_t kStampedCalls = arrival::History::kCalls;
static constexpr std::size_t kEnoughCalls = 3; // of these calls
static_assert(kFirstRootedCalls > kStampedCalls + kStampAheadCalls);

// Sealed where too little was told so far: clocks are compared only after a while.
static constexpr std::string_view kNotYet = "?";

void Communicator::play_rooted(const Request &request, ArrivalState &watched) {
    const std::uint64_t came = now_ns(), due = watched.decided_at + watched.due_after;
    joined_.registration->warming()->end();
    if (watched.due_after == 0)
        expect_decision(request, watched, kFirstRootedCalls);
    else if (watched.calls == due)
        adopt_rooted(request, watched);
    else if (watched.calls + kStampAheadCalls + kStampedCalls >= due &&
             watched.calls + kStampAheadCalls < due)
        report(watched, came);
    else if (watched.calls + 1 == due && is_arbiter(watched))
        joined_.reach.watch->seal_before(key_of(watched, Asked::usual, due), came);
    CallEntry &here = site(request);
    queue_.play(call(request, here, false), here.tally);
    watched.took = static_cast<std::int64_t>(now_ns() - came);
    ++watched.calls;
    warm_for_next(request, watched, came);
}

void Communicator::report(const ArrivalState &watched, std::uint64_t came) {
    FailureDetector &watch = *joined_.reach.watch;
    const int arbiter = arbiter_of(watched);
    watch.notify(key_of(watched, Asked::came), arbiter, common(came));
    watch.notify(key_of(watched, Asked::took), arbiter, watched.took);
}

void Communicator::adopt_rooted(const Request &request, ArrivalState &watched) {
    const std::uint64_t key = key_of(watched, Asked::usual);
    const std::string text = sealed(key, watched);
    forget_before(key);
    if (text == kNotYet) {
        expect_decision(request, watched, kFirstRootedCalls);
        return;
    }
    settle(request, watched, {}, reviewed(text, free_situation(request), watched.serves, {}));
    expect_decision(request, watched,
                    std::clamp(watched.due_after, kLeastAfterCalls, kMostAfterCalls));
}

// After so many calls.  At the arbiter its agent may be asked for it from now on: this rank may be
// the one who comes last to each call.
void Communicator::expect_decision(const Request &request, ArrivalState &watched,
                                   std::uint64_t after) {
    watched.decided_at = watched.calls;
    watched.due_after = after;
    if (!is_arbiter(watched))
        return;
    const std::uint64_t due = watched.calls + after, first = due - kStampAheadCalls - kStampedCalls;
    const Chosen &usual = balanced(request, watched);
    Retune retune{.situation = free_situation(request),
                  .balanced = usual.algorithm,
                  .serves = watched.serves,
                  .expected = {},
                  .recent = {},
                  .elapsed = {},
                  .feedback = watched.feedback,
                  .forced = usual.forced};
    Reports reports{key_of(watched, Asked::came, first), key_of(watched, Asked::took, first),
                    joined_.reach.ranks};
    joined_.reach.watch->decide_by(
        key_of(watched, Asked::usual, due),
        [retune = std::move(retune),
         reports = std::move(reports)](const FailureDetector::Heard &heard) {
            const arrival::History history = reports.taken_from(heard.notices);
            if (history.recent().size() < kEnoughCalls)
                return std::string(kNotYet);
            Retune full = retune;
            full.expected = history.expected();
            full.recent.assign(history.recent().begin(), history.recent().end());
            full.elapsed.assign(history.elapsed().begin(), history.elapsed().end());
            // The latest ones of which it is known what they took; all by what serves.
            const auto known =
                std::ranges::find_if(full.elapsed.rbegin() + 1, full.elapsed.rend(),
                                     [](double seconds) { return std::isnan(seconds); });
            full.served = static_cast<std::size_t>(known - full.elapsed.rbegin()) - 1;
            return full.decide(control::kMostSealBytes);
        });
}

} // namespace stretto::comm
