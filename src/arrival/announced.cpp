// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/announced.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status.hpp"

namespace stretto::arrival {

std::string to_text(const AnnouncedDecision &decision) {
    return decision.algorithm + "\n" + to_text(decision.deviations, SIZE_MAX);
}

AnnouncedDecision announced_decision_from(std::string_view text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    return {std::string(text.substr(0, end)),
            deviations_from(text.substr(std::min(end + 1, text.size())))};
}

std::optional<cost::Arrivals> announced_arrivals(const cost::Arrivals &steady, double margin,
                                                 const std::vector<int> &ranks,
                                                 const Deviations &deviations) {
    if (margin <= 0)
        return std::nullopt;
    cost::Arrivals expected = steady;
    bool as_expected = true;
    for (std::size_t rank = 0; rank < expected.size(); ++rank)
        if (const auto of = deviations.find(ranks[rank]); of != deviations.end()) {
            const double margins = std::round(static_cast<double>(of->second) * 1e-9 / margin);
            expected[rank] += margins * margin;
            as_expected = as_expected && margins == 0;
        }
    if (as_expected)
        return std::nullopt;
    const double first = *std::ranges::min_element(expected);
    for (double &each : expected)
        each -= first;
    return expected;
}

// As arrivals may come out, if announcements are now as right as they were before.
static std::vector<cost::Arrivals> as_may_come(const cost::Arrivals &expected,
                                               const std::deque<cost::Arrivals> &errors) {
    std::vector<cost::Arrivals> cases;
    for (const cost::Arrivals &error : errors) {
        cost::Arrivals &one = cases.emplace_back(expected);
        for (std::size_t rank = 0; rank < one.size(); ++rank)
            one[rank] = std::max(0.0, one[rank] + error[rank]);
    }
    cases.push_back(expected);
    return cases;
}

// How far apart ranks move, in seconds, from the arrivals that the steady plan was made for.
static double farthest(const cost::Arrivals &expected, const cost::Arrivals &steady) {
    double least = 0, most = 0;
    for (std::size_t rank = 0; rank < expected.size(); ++rank) {
        const double moved = (expected[rank] - expected[0]) - (steady[rank] - steady[0]);
        least = std::min(least, moved);
        most = std::max(most, moved);
    }
    return most - least;
}

// How far ranks have come from when they were expected, on the average of the worst call.
static double worst(const std::deque<cost::Arrivals> &errors) {
    double most = 0;
    for (const cost::Arrivals &each : errors) {
        double sum = 0;
        for (const double error : each)
            sum += std::abs(error);
        most = std::max(most, sum / static_cast<double>(each.size()));
    }
    return most;
}

// Where something was found for such arrivals, that selected: to price takes long, and here ranks
// are about to come.
std::optional<std::string> Forecast::best_for(const cost::Arrivals &expected) const {
    if (forced)
        return forced_late(situation, synchronous, expected, as_may_come(expected, errors))
            .algorithm;
    if (wait(expected) < selected.margin)
        return std::nullopt;
    const double waits = farthest(expected, steady), error = worst(errors);
    std::optional<std::string> best = feedback->still_best(waits, error, selected.margin);
    if (!best && !feedback->backs_off(CostFeedback::call, waits) &&
        feedback->pays(waits, ranks.size()))
        best = price(expected, waits, error);
    return best;
}

void Forecast::learn() const {
    if (sample)
        feedback->record(*sample);
    if (!came || forced || wait(*came) < selected.margin)
        return;
    const double waits = farthest(*came, steady);
    if (!feedback->backs_off(CostFeedback::call, waits) && feedback->pays(waits, ranks.size()))
        (void)price(*came, waits, worst(errors));
}

std::string Forecast::price(const cost::Arrivals &expected, double waits, double error) const {
    const std::vector<cost::Arrivals> cases = as_may_come(expected, errors);
    const auto choose = [&] {
        return choose_late(situation, synchronous, expected, cases, {}, feedback->all(situation),
                           {.detection = false});
    };
    return feedback->priced(CostFeedback::call, waits, error, selected, choose).algorithm;
}

std::string Forecast::decide(const Deviations &announced, std::size_t most_bytes) const {
    constexpr std::size_t kMostNameBytes = 512;
    AnnouncedDecision decision{"",
                               deviations_from(to_text(announced, most_bytes - kMostNameBytes))};
    const auto expected = announced_arrivals(steady, selected.margin, ranks, decision.deviations);
    if (!expected)
        return "";
    const std::optional<std::string> best = best_for(*expected);
    if (!best || best->size() >= kMostNameBytes)
        return std::string(kRefused);
    decision.algorithm = *best;
    return to_text(decision);
}

std::optional<AnnouncedPlan> announced_plan(std::string_view text, const cost::Arrivals &steady,
                                            double margin, const std::vector<int> &ranks,
                                            const select::Situation &situation) {
    if (text.empty() || text == Forecast::kRefused)
        return std::nullopt;
    const AnnouncedDecision decision = announced_decision_from(text);
    auto expected = announced_arrivals(steady, margin, ranks, decision.deviations);
    if (!expected)
        throw Error(Status::internal,
                    "'" + std::string(text) + "' was decided for a call, and means nothing here");
    AnnouncedPlan plan{std::move(*expected), {.algorithm = decision.algorithm}};
    if (!decision.algorithm.empty())
        plan.late.order = placed_by_arrival(situation, decision.algorithm, plan.expected, margin);
    plan.late.why = "for what ranks have told of their computation";
    return plan;
}

void AnnouncedArrivals::refuse(std::uint64_t calls) {
    constexpr std::uint64_t kMostRefusals = 2, kLongestPauseCalls = 64;
    if (++refused > kMostRefusals)
        deaf_until = calls + std::min(refused, kLongestPauseCalls);
}

void AnnouncedArrivals::note(const History &history) {
    // What the call before took, if ranks announced something for it, is known now; and of this
    // one, when ranks came.
    const auto &elapsed = history.elapsed();
    if (latest && elapsed.size() > 1) {
        latest->elapsed = elapsed[elapsed.size() - 2];
        learned = std::move(latest);
    }
    latest = std::exchange(playing, {});
    if (latest)
        latest->came = history.recent().back();
    if (expected.empty())
        return;
    cost::Arrivals &error = errors.emplace_back(history.recent().back());
    for (std::size_t rank = 0; rank < error.size(); ++rank)
        error[rank] -= expected[rank];
    expected.clear();
    if (errors.size() > History::kCalls)
        errors.pop_front();
}

} // namespace stretto::arrival
