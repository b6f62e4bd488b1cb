// SPDX-License-Identifier: BSD-3-Clause
// Calls that repeat are served for the times at which ranks come (arrival/, select/late.hpp).
//
// When each rank came, and what the call before took it, travels beside the call itself, so that
// after it all ranks know the same, and decide alike what serves the calls to come: nobody asks
// anybody.
#include <algorithm>
#include <cmath>

#include "algorithms/algorithm.hpp"
#include "arrival/history.hpp"
#include "base/clock.hpp"
#include "base/mix.hpp"
#include "comm/communicator.hpp"
#include "select/late.hpp"
#include "select/placed.hpp"

namespace stretto::comm {

// Vectors that take long enough for it to matter when who comes: that what is said of arrivals is
// nothing beside them, and that a pipeline pays.
static constexpr std::size_t kLeastWatched = 512u << 10;
// Calls before the first decision, and from one to the next: a decision takes milliseconds.  What
// has just been changed is looked at soon; the longer it has proved right, the seldomer, until
// ranks come at other times.
static constexpr std::uint64_t kFirst = 3, kSoon = 4, kEvery = 8, kSeldom = 128;
// Where ranks come together, one of so many calls says when: it costs messages.
static constexpr std::uint64_t kQuiet = 4;

bool Communicator::watches(const Request &request, const Chosen &chosen) const {
    return watches_ && request.collective == Collective::allreduce &&
           request.op != ReduceOp::user_in_order && request.operation_number == 0 &&
           vector_count(request) * size_of(request.dtype) >= kLeastWatched && size() > 2 &&
           terms().reproducible == select::Reproducible::off &&
           (!chosen.forced || made_for_arrivals(chosen));
}

// Forced, with nothing said of how: without its parameters, that is.
bool Communicator::made_for_arrivals(const Chosen &chosen) {
    return std::ranges::any_of(algorithms::all(), [&](const algorithms::Algorithm &each) {
        return each.collective == Collective::allreduce && each.for_arrivals != nullptr &&
               each.name == chosen.algorithm;
    });
}

// What a site that is made anew starts with: what it had, if it has been forgotten meanwhile.
void Communicator::resume_watch(const Key &key, Chosen &chosen) const {
    if (const auto found = watched_.find(key); found != watched_.end())
        serve_late(found->second.serves, chosen);
}

void Communicator::serve_late(const select::Late &late, Chosen &chosen) {
    if (late.algorithm.empty())
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

void Communicator::play_watched(const Request &request, Site &site) {
    const Key key = key_of(request);
    auto found = watched_.find(key);
    if (found == watched_.end() && watched_.size() < kMostWatched) {
        found = watched_.try_emplace(key).first;
        found->second.number = watched_.size();
    }
    if (found == watched_.end()) {
        site.watches = false;
        queue_.play(call(request, site, false), site.tally);
        return;
    }
    Watched &watched = found->second;
    const std::uint64_t came = now_ns();
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
    if (watched.told.asks)
        serve_as_told(request, watched);
    else if (watched.told.serves)
        serve_as_usual(request, watched);
    if (!watched.told.asks && watched.calls % watched.every != 0) {
        ++watched.calls;
        Site &alone = this->site(request);
        queue_.play(call(request, alone, false), alone.tally);
        return;
    }
    came_[static_cast<std::size_t>(rank())] = {common(came), watched.took,
                                               std::exchange(watched.edges, 0)};
    // The vector first: how far that is, is what its writers must hear of before all have come.
    const auto in_flight = [&](const Request &asked, const Site &where) {
        engine::Call made = call(asked, where, true);
        made.said.what = where.what | kAsRanksArrive; // nothing that the caller has started
        made.fingerprint = mix(made.fingerprint, kAsRanksArrive);
        return made;
    };
    const engine::Call stamps_call = in_flight(others, this->site(others));
    Site &of_vector = this->site(request);
    const engine::Call vector_call = in_flight(request, of_vector);
    engine::Queue::Flight *const vector = queue_.start(vector_call, of_vector.tally);
    count_own_call();
    engine::Queue::Flight *const stamps = queue_.start(stamps_call, uncounted_);
    try {
        queue_.land(vector);
        watched.took = static_cast<std::int64_t>(now_ns() - came);
    } catch (...) {
        try {
            queue_.land(stamps);
        } catch (...) { // of the same failure
        }
        throw;
    }
    queue_.land(stamps);
    learn_arrivals(request, watched);
}

// Whether ranks are expected at other times than those that were decided for.
static bool moved(const std::vector<double> &expected, const std::vector<double> &decided_for,
                  double margin) {
    constexpr double kPart = 0.25;
    if (decided_for.empty())
        return true;
    const double last =
        std::max(*std::ranges::max_element(expected), *std::ranges::max_element(decided_for));
    double most = 0;
    for (std::size_t rank = 0; rank < expected.size(); ++rank)
        most = std::max(most, std::abs(expected[rank] - decided_for[rank]));
    return most > std::max(kPart * last, margin);
}

// What has served since the last decision, which was at least as many calls ago as are looked at:
// of the last ones, whose times are known of all but the latest.
void Communicator::learn_prices(const select::Situation &here, const std::string &balanced,
                                std::span<const select::Arrivals> recent, Watched &watched) {
    const std::size_t known = std::min<std::size_t>(kFirst, recent.size() - 1);
    const std::span<const select::Arrivals> cases = recent.last(known + 1).first(known);
    const std::vector<double> elapsed(watched.history.elapsed().end() -
                                          static_cast<std::ptrdiff_t>(known + 1),
                                      watched.history.elapsed().end() - 1);
    const select::Late &served = watched.serves;
    const select::Placed placed(here, served.algorithm.empty() ? balanced : served.algorithm,
                                served.order);
    watched.experience.learn(placed.name(), cases, placed.means(cases), elapsed);
}

select::Late Communicator::late_for(const Request &request, const Chosen &balanced,
                                    const select::Arrivals &expected,
                                    std::span<const select::Arrivals> recent,
                                    const Watched &watched) const {
    const select::Situation here = free_situation(request);
    return balanced.forced ? select::forced_late(here, balanced.algorithm, expected, recent)
                           : select::choose_late(here, balanced.algorithm, expected, recent,
                                                 watched.serves, watched.experience);
}

// What serves if all come at once.
const Chosen &Communicator::balanced(const Request &request, Watched &watched) const {
    if (!watched.balanced) {
        Chosen chosen = choice_for(request);
        resume_trial(key_of(request), chosen);
        watched.balanced = std::move(chosen);
    }
    return *watched.balanced;
}

void Communicator::decide(const Request &request, Watched &watched) {
    const std::uint64_t calls = watched.history.calls();
    if (calls < kFirst || (calls - kFirst) % kSoon != 0)
        return;
    const std::vector<double> expected = watched.history.expected();
    const Chosen &usual = balanced(request, watched);
    // Plans that are forced and made for these arrivals need no prices.
    const bool settled = calls < watched.decided_at + watched.due_after ||
                         (usual.forced && !watched.serves.algorithm.empty());
    if (settled && !moved(expected, watched.decided_for, watched.serves.margin))
        return;
    const std::vector<select::Arrivals> recent(watched.history.recent().begin(),
                                               watched.history.recent().end());
    const bool at_once =
        watched.serves.margin > 0 && select::wait(expected) < watched.serves.margin;
    if (!at_once && !usual.forced &&
        (watched.told.last == 0 || watched.told.last + kFirst + 1 < watched.calls))
        learn_prices(free_situation(request), usual.algorithm, recent, watched);
    const select::Late next = late_for(request, usual, expected, recent, watched);
    const bool same =
        next.algorithm == watched.serves.algorithm && next.order == watched.serves.order;
    watched.due_after = same ? std::clamp(2 * watched.due_after, kEvery, kSeldom) : kSoon;
    watched.decided_at = calls;
    watched.decided_for = expected;
    watched.serves = next;
    if (same)
        return;
    Chosen chosen = usual;
    serve_late(next, chosen);
    serve(request, site(request), chosen);
}

// Whether ranks come together, as a rule and to the last call as well, and what serves is made for
// that.
static bool is_quiet(const Watched &watched) {
    constexpr double kWorthALook = 4; // margins
    const double margin = watched.serves.margin;
    if (!watched.serves.algorithm.empty() || watched.told.asks || margin <= 0)
        return false;
    const std::deque<select::Arrivals> &recent = watched.history.recent();
    const auto together = std::ranges::count_if(
        recent, [&](const auto &each) { return select::wait(each) < margin; });
    return 2 * static_cast<std::size_t>(together) > recent.size() &&
           select::wait(recent.back()) < kWorthALook * margin;
}

// After each call that carries stamps.
void Communicator::learn_arrivals(const Request &request, Watched &watched) {
    ++watched.calls;
    watched.told.asks =
        std::ranges::any_of(came_, [](const auto &each) { return each.edges != 0; });
    const std::uint64_t before = watched.history.calls();
    watched.history.add(came_);
    if (watched.history.calls() != before) {
        note_lesson(watched);
        note_errors(watched);
        decide(request, watched);
        watched.every = is_quiet(watched) ? kQuiet : 1;
    }
    expect_next(request, watched);
}

} // namespace stretto::comm
