// SPDX-License-Identifier: BSD-3-Clause
#include "comm/announced.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status.hpp"

namespace stretto::comm {

std::string to_text(const Sealed &sealed) {
    return sealed.algorithm + "\n" + arrival::to_text(sealed.deviations, SIZE_MAX);
}

Sealed sealed_from(std::string_view text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    return {std::string(text.substr(0, end)),
            arrival::deviations_from(text.substr(std::min(end + 1, text.size())))};
}

std::optional<select::Arrivals> arrivals_told(const select::Arrivals &usual, double margin,
                                              const std::vector<int> &ranks,
                                              const arrival::Deviations &deviations) {
    if (margin <= 0)
        return std::nullopt;
    select::Arrivals expected = usual;
    bool as_usual = true;
    for (std::size_t rank = 0; rank < expected.size(); ++rank)
        if (const auto of = deviations.find(ranks[rank]); of != deviations.end()) {
            const double margins = std::round(static_cast<double>(of->second) * 1e-9 / margin);
            expected[rank] += margins * margin;
            as_usual = as_usual && margins == 0;
        }
    if (as_usual)
        return std::nullopt;
    const double first = *std::ranges::min_element(expected);
    for (double &each : expected)
        each -= first;
    return expected;
}

// As arrivals may come out, if what is told now is as right as what was told before.
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

// How far apart ranks are moved, in seconds: what the usual was not made for.
static double farthest(const select::Arrivals &expected, const select::Arrivals &usual) {
    double least = 0, most = 0;
    for (std::size_t rank = 0; rank < expected.size(); ++rank) {
        const double moved = (expected[rank] - expected[0]) - (usual[rank] - usual[0]);
        least = std::min(least, moved);
        most = std::max(most, moved);
    }
    return most - least;
}

// How far ranks have come from when they were told to come, on the average of the worst call.
static double worst(const std::deque<select::Arrivals> &errors) {
    double most = 0;
    for (const select::Arrivals &each : errors) {
        double sum = 0;
        for (const double error : each)
            sum += std::abs(error);
        most = std::max(most, sum / static_cast<double>(each.size()));
    }
    return most;
}

// Where something was found for such arrivals, that serves: to price takes long, and here ranks are
// about to come.
std::optional<std::string> Forecast::best_for(const select::Arrivals &expected) const {
    if (forced)
        return select::forced_late(situation, balanced, expected, as_may_come(expected, errors))
            .algorithm;
    if (select::wait(expected) < serves.margin)
        return std::nullopt;
    const double waits = farthest(expected, usual), error = worst(errors);
    std::optional<std::string> best = feedback->still_best(waits, error, serves.margin);
    if (!best && !feedback->rests(CostFeedback::call, waits) && feedback->pays(waits, ranks.size()))
        best = price(expected, waits, error);
    return best;
}

void Forecast::learn() const {
    if (sample)
        feedback->learn(*sample);
    if (!came || forced || select::wait(*came) < serves.margin)
        return;
    const double waits = farthest(*came, usual);
    if (!feedback->rests(CostFeedback::call, waits) && feedback->pays(waits, ranks.size()))
        (void)price(*came, waits, worst(errors));
}

std::string Forecast::price(const select::Arrivals &expected, double waits, double error) const {
    const std::vector<select::Arrivals> cases = as_may_come(expected, errors);
    const auto choose = [&] {
        return select::choose_late(situation, balanced, expected, cases, {},
                                   feedback->all(situation), {.elections = false});
    };
    return feedback->priced(CostFeedback::call, waits, error, serves, choose).algorithm;
}

std::string Forecast::decide(const arrival::Deviations &told, std::size_t most_bytes) const {
    constexpr std::size_t kMostNameBytes = 512;
    Sealed sealed{"",
                  arrival::deviations_from(arrival::to_text(told, most_bytes - kMostNameBytes))};
    const auto expected = arrivals_told(usual, serves.margin, ranks, sealed.deviations);
    if (!expected)
        return "";
    const std::optional<std::string> best = best_for(*expected);
    if (!best || best->size() >= kMostNameBytes)
        return std::string(kRefused);
    sealed.algorithm = *best;
    return to_text(sealed);
}

std::optional<AnnouncedPlan> as_told(std::string_view text, const select::Arrivals &usual,
                                     double margin, const std::vector<int> &ranks) {
    if (text.empty() || text == Forecast::kRefused)
        return std::nullopt;
    const Sealed sealed = sealed_from(text);
    auto expected = arrivals_told(usual, margin, ranks, sealed.deviations);
    if (!expected)
        throw Error(Status::internal,
                    "'" + std::string(text) + "' was sealed for a call, and means nothing here");
    AnnouncedPlan told{std::move(*expected), {.algorithm = sealed.algorithm}};
    if (!sealed.algorithm.empty())
        told.late.order = select::sorted_by_arrival(told.expected, margin);
    told.late.why = "for what ranks have told of their computation";
    return told;
}

void AnnouncedArrivals::refuse(std::uint64_t calls) {
    constexpr std::uint64_t kMostRefusals = 2, kLongestPauseCalls = 64;
    if (++refused > kMostRefusals)
        deaf_until = calls + std::min(refused, kLongestPauseCalls);
}

void AnnouncedArrivals::note(const arrival::History &history) {
    // What the call before took, if it was served as told, is known now; and of this one, when
    // ranks came.
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
    select::Arrivals &error = errors.emplace_back(history.recent().back());
    for (std::size_t rank = 0; rank < error.size(); ++rank)
        error[rank] -= expected[rank];
    expected.clear();
    if (errors.size() > arrival::History::kCalls)
        errors.pop_front();
}

} // namespace stretto::comm
