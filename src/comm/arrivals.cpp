// SPDX-License-Identifier: BSD-3-Clause
// Calls that repeat are served for the times at which ranks come (arrival/, select/late.hpp).
//
// When each rank came, and what the call before took it, travels beside the call itself, so that
// after it all ranks know the same, and when it is time to decide what serves the calls to come.
// One decides for all (retune.hpp).
#include <algorithm>
#include <cmath>

#include "algorithms/algorithm.hpp"
#include "arrival/history.hpp"
#include "base/clock.hpp"
#include "base/mix.hpp"
#include "comm/communicator.hpp"
#include "comm/hosts/failure_detector.hpp"
#include "comm/retune.hpp"
#include "select/elected.hpp"
#include "select/late.hpp"

namespace stretto::comm {

// Vectors that take long enough for it to matter when who comes: that what is said of arrivals is
// nothing beside them, and that a pipeline pays.
static constexpr std::size_t kLeastWatchedBytes = 512u << 10;
// Calls before the first decision, and from one to the next: a decision takes milliseconds.  The
// longer it has proved right, the seldomer, until ranks come at other times: that is looked at
// after so many calls.
static constexpr std::uint64_t kFirstDecisionCalls = 3, kEveryCalls = 8, kSeldomCalls = 128,
                               kLookEveryCalls = 4;
// The first call that an algorithm serves fills what it needs, memory and windows: it says little
// of what the others take.  How many of those count at most.
static constexpr std::uint64_t kWarmUpCalls = 1, kCountedCalls = 3;
// Where the balanced choice serves, one of so many calls says when ranks came: it costs messages.
static constexpr std::uint64_t kQuietEveryCalls = 4;

bool Communicator::watches(const Request &request, const Chosen &chosen) const {
    const bool one_host = segment_->placement().one_host();
    const Collective what = request.collective;
    const bool sums = what == Collective::allreduce || (what == Collective::reduce && !one_host);
    const bool moves =
        !one_host && (what == Collective::allgather || what == Collective::broadcast);
    if (!watches_ || size() <= 2 || request.memory != MemoryKind::host || (!sums && !moves) ||
        vector_count(request) * size_of(request.dtype) < kLeastWatchedBytes ||
        (chosen.forced && !made_for_arrivals(request, chosen)))
        return false;
    return sums ? request.op != ReduceOp::user_in_order && request.operation_number == 0 &&
                      terms().reproducible == select::Reproducible::off
                : request.shares == 0;
}

// Forced, with nothing said of how: without its parameters, that is.
bool Communicator::made_for_arrivals(const Request &request, const Chosen &chosen) const {
    if (segment_->placement().one_host())
        return made_for_musters(chosen);
    return std::ranges::any_of(algorithms::all(), [&](const algorithms::Algorithm &each) {
        return each.collective == request.collective && each.for_arrivals != nullptr &&
               each.name == chosen.algorithm;
    });
}

// What a site that is made anew starts with: what it had, if it has been forgotten meanwhile.
void Communicator::resume_watch(const Request &request, Chosen &chosen) {
    const auto found = watched_.find(key_of(request));
    if (found == watched_.end())
        return;
    if (segment_->placement().one_host())
        chosen = elected(request, found->second);
    else
        serve_late(found->second.serves, chosen);
}

void Communicator::serve_late(const select::Late &late, Chosen &chosen) {
    if (late.algorithm.empty() || late.latecomers > 0)
        return;
    chosen.algorithm = late.algorithm;
    chosen.why = late.why;
    chosen.order.assign(late.order.begin(), late.order.end());
}

// A time of this rank on the clock of the reference.
std::int64_t Communicator::common(std::uint64_t time) const {
    const std::optional<std::int64_t> offset = clock_offset();
    return offset ? static_cast<std::int64_t>(time) + *offset : arrival::kUnknown;
}

// Null if there are too many.
ArrivalState *Communicator::watched(const Request &request) {
    const Key key = key_of(request);
    auto found = watched_.find(key);
    if (found == watched_.end() && watched_.size() < kMostWatchedKinds) {
        found = watched_.try_emplace(key).first;
        found->second.number = watched_.size();
        found->second.feedback = std::make_shared<CostFeedback>();
        found->second.preparation = std::make_shared<PlanPrefetch>();
    }
    return found == watched_.end() ? nullptr : &found->second;
}

void Communicator::play_watched(const Request &request, CallEntry &site) {
    ArrivalState *const watched = this->watched(request);
    if (watched == nullptr) {
        site.watches = false;
        queue_.play(call(request, site, false), site.tally);
    } else if (segment_->placement().one_host()) {
        play_mustered(request, *watched);
    } else if (schedule::rooted(request.collective)) {
        play_rooted(request, *watched);
    } else {
        play_with_stamps(request, *watched);
    }
}

void Communicator::play_with_stamps(const Request &request, ArrivalState &watched) {
    const std::uint64_t came = now_ns();
    joined_.registration->warming()->end();
    came_.assign(static_cast<std::size_t>(size()), {});
    Request others;
    others.collective = Collective::allgather;
    others.input = nullptr; // in place
    others.output = came_.data();
    others.count = sizeof(arrival::Stamp) / size_of(Dtype::i64);
    others.dtype = Dtype::i64;
    others.own = true;
    if (end_phase(watched, came))
        watched.edges = 1;
    // What serves is the same on all ranks, and by that they know whether this call carries stamps.
    if (watched.told.listens(watched.calls))
        serve_as_told(request, watched);
    else if (watched.serves.latecomers > 0)
        serve_by_election(request, watched);
    else if (watched.told.serves)
        serve_as_usual(request, watched);
    if (!watched.told.serves && watched.calls % watched.every != 0) {
        ++watched.calls;
        CallEntry &alone = this->site(request);
        queue_.play(call(request, alone, false), alone.tally);
        adopt(request, watched);
        expect_next(request, watched);
        warm_for_next(request, watched, came);
        return;
    }
    came_[static_cast<std::size_t>(rank())] = {common(came), watched.took,
                                               std::exchange(watched.edges, 0)};
    // The vector first: how far that is, is what its writers must hear of before all have come.
    const auto in_flight = [&](const Request &asked, const CallEntry &where) {
        engine::Call made = call(asked, where, true);
        made.said.what = where.what | kAsRanksArriveFlag; // nothing that the caller has started
        made.fingerprint = mix(made.fingerprint, kAsRanksArriveFlag);
        return made;
    };
    const engine::Call stamps_call = in_flight(others, this->site(others));
    CallEntry &of_vector = this->site(request);
    const engine::Call vector_call = in_flight(request, of_vector);
    count_own_call(1); // the stamps, behind the vector
    queue_.play_with(vector_call, of_vector.tally, stamps_call, uncounted_,
                     [&] { watched.took = static_cast<std::int64_t>(now_ns() - came); });
    learn_arrivals(request, watched);
    warm_for_next(request, watched, came);
}

// Whether ranks are expected at other times than those that were decided for.
static bool moved(const std::vector<double> &expected, const std::vector<double> &decided_for,
                  double margin) {
    constexpr double kWorthwhileShare = 0.25;
    if (decided_for.empty())
        return true;
    const double last =
        std::max(*std::ranges::max_element(expected), *std::ranges::max_element(decided_for));
    double most = 0;
    for (std::size_t rank = 0; rank < expected.size(); ++rank)
        most = std::max(most, std::abs(expected[rank] - decided_for[rank]));
    return most > std::max(kWorthwhileShare * last, margin);
}

// What serves if all come at once.
const Chosen &Communicator::balanced(const Request &request, ArrivalState &watched) const {
    if (!watched.balanced) {
        Chosen chosen = choice_for(request);
        resume_trial(key_of(request), chosen);
        watched.balanced = std::move(chosen);
    }
    return *watched.balanced;
}

// Of the last calls but the latest, whose time is not known, how many say what the usual takes.
static std::size_t calls_that_teach(const ArrivalState &watched) {
    const bool told =
        watched.told.last != 0 && watched.told.last + kCountedCalls + 1 >= watched.calls;
    const std::uint64_t served = watched.history.calls() - watched.serves_since;
    return told || served < kWarmUpCalls + 1 ? 0
                                             : std::min(served - kWarmUpCalls - 1, kCountedCalls);
}

// Of calls since the last decision: whether who was expected last then came last.
static void note_misses(ArrivalState &watched) {
    constexpr std::size_t kRememberedCalls = 16;
    const double margin = watched.serves.margin;
    if (margin <= 0 || watched.decided_for.empty() ||
        *std::ranges::max_element(watched.decided_for) < margin)
        return;
    const std::deque<select::Arrivals> &recent = watched.history.recent();
    const std::uint64_t since = watched.history.calls() - watched.decided_at;
    for (std::size_t at = recent.size() - std::min<std::uint64_t>(since, recent.size());
         at < recent.size(); ++at)
        watched.missed.push_back(select::missed(watched.decided_for, recent[at], margin));
    while (watched.missed.size() > kRememberedCalls)
        watched.missed.pop_front();
}

static double part_missed(const ArrivalState &watched) {
    const auto misses = std::ranges::count(watched.missed, true);
    return misses == 0 ? 0
                       : static_cast<double>(misses) / static_cast<double>(watched.missed.size());
}

// Late ones are priced by the arbiter's agent, while its rank computes: what it makes of them
// serves after the next call.
void Communicator::decide(const Request &request, ArrivalState &watched) {
    const std::uint64_t calls = watched.history.calls();
    if (watched.pending || calls < kFirstDecisionCalls ||
        (calls - kFirstDecisionCalls) % kLookEveryCalls != 0)
        return;
    std::vector<double> expected = watched.history.expected();
    std::vector<select::Arrivals> recent(watched.history.recent().begin(),
                                         watched.history.recent().end());
    std::vector<double> shape = select::shape_of(recent);
    const Chosen &usual = balanced(request, watched);
    // Plans that are forced and made for these arrivals need no prices.
    const bool settled = calls < watched.decided_at + watched.due_after ||
                         (usual.forced && !watched.serves.algorithm.empty());
    if (settled && !moved(expected, watched.decided_for, watched.serves.margin) &&
        !moved(shape, watched.decided_shape, watched.serves.margin))
        return;
    note_misses(watched);
    watched.decided_at = calls;
    watched.decided_shape = shape;
    const select::Situation here = free_situation(request);
    if (usual.forced) {
        settle(request, watched, expected,
               select::forced_late(here, usual.algorithm, expected, recent));
        return;
    }
    if (watched.serves.margin > 0 &&
        std::max(select::wait(expected), select::wait(shape)) < watched.serves.margin) {
        settle(request, watched, expected,
               select::choose_late(here, usual.algorithm, expected, recent, watched.serves));
        return;
    }
    const std::uint64_t key = key_of(watched, Asked::usual);
    watched.pending = {key, expected};
    if (!is_arbiter(watched))
        return;
    const std::deque<double> &elapsed = watched.history.elapsed();
    Retune retune{here,
                  usual.algorithm,
                  watched.serves,
                  std::move(expected),
                  std::move(recent),
                  {elapsed.begin(), elapsed.end()},
                  calls_that_teach(watched),
                  watched.feedback};
    retune.missed = part_missed(watched);
    FailureDetector &watch = *joined_.reach.watch;
    watch.decide_by(key, [retune = std::move(retune)](const FailureDetector::Heard &) {
        return retune.decide(control::kMostSealBytes);
    });
    watch.seal_before(key, now_ns());
}

// After the call that follows a decision.
void Communicator::adopt(const Request &request, ArrivalState &watched) {
    if (!watched.pending)
        return;
    const ArrivalState::Decision decision = *std::exchange(watched.pending, std::nullopt);
    const std::string text = sealed(decision.key, watched);
    forget_before(decision.key);
    settle(request, watched, decision.expected,
           reviewed(text, free_situation(request), watched.serves, decision.expected));
}

void Communicator::settle(const Request &request, ArrivalState &watched,
                          const select::Arrivals &expected, const select::Late &next) {
    const bool same = next.same_as(watched.serves);
    watched.due_after =
        same ? std::clamp(2 * watched.due_after, kEveryCalls, kSeldomCalls) : kEveryCalls;
    watched.decided_for = expected;
    watched.serves = next;
    if (same)
        return;
    watched.serves_since = watched.history.calls();
    if (watched.told.listens(watched.calls))
        watched.told.serves = true; // the next call asks what serves, which may not be this
    else
        serve(request, site(request), usual(request, watched));
}

// Whether the balanced choice serves, and is likely to go on: since ranks come together as a rule,
// or since nothing was found better for the times at which they come; and they did so to the last
// call as well.
static bool is_quiet(const ArrivalState &watched) {
    constexpr double kLookFactor = 4; // margins
    const double margin = watched.serves.margin;
    if (!watched.serves.algorithm.empty() || watched.told.serves || margin <= 0)
        return false;
    const std::deque<select::Arrivals> &recent = watched.history.recent();
    const auto together = std::ranges::count_if(
        recent, [&](const auto &each) { return select::wait(each) < margin; });
    const bool confirmed = watched.due_after > kEveryCalls;
    const double usual = confirmed ? select::wait(watched.decided_shape) : 0;
    return (confirmed || 2 * static_cast<std::size_t>(together) > recent.size()) &&
           select::wait(recent.back()) < usual + kLookFactor * margin;
}

// After each call that carries stamps.
void Communicator::learn_arrivals(const Request &request, ArrivalState &watched) {
    ++watched.calls;
    watched.told.asks =
        std::ranges::any_of(came_, [](const auto &each) { return each.edges != 0; });
    const std::uint64_t before = watched.history.calls();
    watched.history.add(came_);
    adopt(request, watched);
    if (watched.history.calls() != before) {
        learn_phase(watched);
        watched.told.note(watched.history);
        decide(request, watched);
        watched.every = is_quiet(watched) ? kQuietEveryCalls : 1;
    }
    expect_next(request, watched);
}

} // namespace stretto::comm
