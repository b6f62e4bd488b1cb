// SPDX-License-Identifier: BSD-3-Clause
// Ranks that know, while they compute, that they will come at another time than usual.
//
// Such a rank tells the arbiter of the coming call (arrival/phase.hpp).  Shortly before the first
// rank comes, as far as the arbiter's own phase lets it foresee that, the arbiter's agent decides
// what serves, for what was told, and that is sealed (control/seals.hpp): all ranks get the same,
// whatever reaches the arbiter later.  Who comes and has not got it asks.  Nobody waits for
// another's computation, only for the arbiter's agent; and only where ranks tell of their phases,
// which all know of an earlier call.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/mix.hpp"
#include "comm/communicator.hpp"
#include "comm/hosts/failure_detector.hpp"

namespace stretto::comm {

void Communicator::begin_phase() {
    const std::lock_guard lock(phase_mutex_);
    phase_.begin(now_ns());
    if (const auto next = next_.find(phase_.coming()); next != next_.end())
        next->second.timed = false;
}

void Communicator::edge(double fraction) {
    if (!(fraction > 0 && fraction <= 1))
        throw Error(Status::argument,
                    "a part of a phase is above 0 and at most 1, not " + std::to_string(fraction));
    const std::lock_guard lock(phase_mutex_);
    const auto foreseen = phase_.edge(now_ns(), fraction);
    const auto found = next_.find(phase_.coming());
    if (!foreseen || found == next_.end() || !found->second.asks)
        return;
    Next &next = found->second;
    const std::int64_t later = foreseen->late - next.usually;
    const bool news = std::abs(static_cast<double>(later - next.told)) * 1e-9 >= next.margin;
    if (news) {
        next.told = later;
        joined_.reach.watch->notify(next.key, next.arbiter, later);
    }
    if (next.decides && (news || !next.timed)) {
        next.timed = true;
        const std::int64_t ahead = std::max<std::int64_t>(0, foreseen->late); // of this rank
        joined_.reach.watch->seal_before(next.key,
                                         foreseen->end - static_cast<std::uint64_t>(ahead));
    }
}

bool Communicator::end_phase(const ArrivalState &watched, std::uint64_t now) {
    const std::lock_guard lock(phase_mutex_);
    next_[watched.number].asks = false; // it is too late for that
    return phase_.end(now, watched.number);
}

// What the call has shown of the phase before it.
void Communicator::learn_phase(const ArrivalState &watched) {
    const double late = watched.history.recent().back()[static_cast<std::size_t>(rank())];
    const std::lock_guard lock(phase_mutex_);
    phase_.came(static_cast<std::int64_t>(late * 1e9));
}

// The low half counts.
std::uint64_t Communicator::key_of(const ArrivalState &watched, Asked asked,
                                   std::uint64_t call) const {
    const std::uint64_t kind = watched.number << 2 | static_cast<std::uint64_t>(asked);
    return mix(segment_->header().key, kind) << 32 | (call & 0xffffffff);
}

// Nobody asks again for earlier ones of its kind.
void Communicator::forget_before(std::uint64_t key) {
    joined_.reach.watch->forget(key & ~0xffffffffull, key);
}

// The same of what was sealed for calls, now and then.
void Communicator::forget_sealed(std::uint64_t key, const ArrivalState &watched) {
    constexpr std::uint64_t kKeptCalls = 16; // calls
    if (watched.calls % kKeptCalls == 0)
        forget_before(key);
}

// A rank of the job.
int Communicator::arbiter_of(const ArrivalState &watched) const {
    return joined_.reach.ranks[watched.number % joined_.reach.ranks.size()];
}

bool Communicator::is_arbiter(const ArrivalState &watched) const {
    return arbiter_of(watched) == joined_.reach.ranks[static_cast<std::size_t>(rank())];
}

void Communicator::expect_next(const Request &request, ArrivalState &watched) {
    Next next;
    if (watched.told.listens(watched.calls) && watched.serves.margin > 0) {
        next.asks = true;
        next.key = key_of(watched, Asked::call);
        next.arbiter = arbiter_of(watched);
        next.margin = watched.serves.margin;
        const double usually = watched.decided_for[static_cast<std::size_t>(rank())];
        next.usually = static_cast<std::int64_t>(usually * 1e9);
        next.decides = is_arbiter(watched);
        if (next.decides) {
            const Chosen &usual = balanced(request, watched);
            Forecast forecast{free_situation(request),
                              usual.algorithm,
                              usual.forced,
                              watched.decided_for,
                              joined_.reach.ranks,
                              watched.serves,
                              watched.told.errors,
                              std::exchange(watched.told.learned, {}),
                              {},
                              watched.feedback};
            if (watched.told.latest)
                forecast.came = watched.told.latest->came;
            const auto shared = std::make_shared<const Forecast>(std::move(forecast));
            joined_.reach.watch->decide_by(next.key, [shared](const FailureDetector::Heard &heard) {
                return shared->decide(heard.told, control::kMostSealBytes);
            });
            joined_.reach.watch->soon([shared] { shared->learn(); });
        }
        prepare(request, watched, next.key);
    } else if (watched.serves.latecomers > 0 && is_arbiter(watched)) {
        call_the_roll(watched);
    }
    const std::lock_guard lock(phase_mutex_);
    next_[watched.number] = next;
}

// As soon as it is known what serves the next call, the agent makes its plan, unless there is one:
// what is told of a call is new each time, and the usual may have been needed by no call so far.
// And it warms the connections that this one will use (tcp_prewarm.cpp).
void Communicator::prepare(const Request &request, ArrivalState &watched, std::uint64_t key) {
    struct Served {
        std::string algorithm; // empty: not by one of the library's
        std::vector<int> order;
        std::shared_ptr<const engine::Plan> plan = nullptr; // null: it is to be made
    };
    const auto served = [&](const Chosen &chosen) -> Served {
        return {chosen.imported == nullptr ? chosen.algorithm : "", chosen.order,
                known_plan(request, chosen)};
    };
    watched.preparation->expect(key);
    joined_.reach.watch->when_sealed(
        key, [key, recipe = recipe(request), usual = served(usual(request, watched)),
              balanced = served(balanced(request, watched)), expected = watched.decided_for,
              margin = watched.serves.margin, ranks = joined_.reach.ranks,
              ahead = watched.preparation, warm = warm_for()](const std::string &sealed) {
            ahead->prepare(key, [&]() -> PlanPrefetch::Prepared {
                const auto told = as_told(sealed, expected, margin, ranks);
                Served next = usual;
                if (told && told->late.algorithm.empty())
                    next = balanced;
                else if (told)
                    next = {told->late.algorithm, told->late.order};
                if (next.plan == nullptr && next.algorithm.empty())
                    return {};
                if (next.plan != nullptr) {
                    warm(*next.plan);
                    return {};
                }
                auto plan = recipe.plan(next.algorithm, next.order);
                warm(*plan);
                return {next.algorithm, next.order, std::move(plan)};
            });
        });
}

// What serves when nobody tells anything.
Chosen Communicator::usual(const Request &request, ArrivalState &watched) const {
    Chosen chosen = balanced(request, watched);
    serve_late(watched.serves, chosen);
    return chosen;
}

void Communicator::serve_as_usual(const Request &request, ArrivalState &watched) {
    watched.told.serves = false;
    serve(request, site(request), usual(request, watched));
}

void Communicator::serve_prepared(const Request &request, ArrivalState &watched,
                                  const Chosen &chosen) {
    PlanPrefetch::Prepared ready = watched.preparation->come(key_of(watched, Asked::call));
    if (ready.algorithm == chosen.algorithm && ready.order == chosen.order)
        (void)plan(request, chosen, std::move(ready.plan));
    serve(request, site(request), chosen);
}

void Communicator::serve_as_told(const Request &request, ArrivalState &watched) {
    const std::uint64_t key = key_of(watched, Asked::call);
    const std::string text = sealed(key, watched);
    forget_sealed(key, watched);
    auto told = as_told(text, watched.decided_for, watched.serves.margin, joined_.reach.ranks);
    watched.told.serves = told.has_value();
    if (!told) {
        if (!text.empty())
            watched.told.refuse(watched.calls);
        serve_prepared(request, watched, usual(request, watched));
        return;
    }
    watched.told.refused = 0;
    Chosen chosen = balanced(request, watched);
    serve_late(told->late, chosen);
    watched.told.playing = {chosen.algorithm, {chosen.order.begin(), chosen.order.end()}, {}};
    watched.told.expected = std::move(told->expected);
    watched.told.last = watched.calls;
    serve_prepared(request, watched, chosen);
}

} // namespace stretto::comm
