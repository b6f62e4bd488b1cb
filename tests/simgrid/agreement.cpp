// SPDX-License-Identifier: BSD-3-Clause
#include "agreement.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "play.hpp"

namespace stretto::test {

namespace {

bool agree(const std::vector<double> &ours, const std::vector<double> &theirs) {
    return std::ranges::equal(ours, theirs, [](double a, double b) {
        return std::llround(a * 1e12) == std::llround(b * 1e12);
    });
}

std::string shown(const std::vector<double> &times) {
    std::string text;
    for (const double time : times)
        text += " " + std::to_string(time * 1e3);
    return text;
}

// Whether the two agree on a case where reductions take no time, so that no processor has to
// choose.
bool agree_but_for_processors(const Case &each, simulate::Problem problem) {
    problem.network.gamma = 0;
    return agree(simulate::simulate(each.schedule, problem).finish,
                 play(each.schedule, problem, Links::in_turn).finish);
}

} // namespace

Agreement compare(std::span<const Case> cases, simulate::Mode mode) {
    Agreement agreement;
    for (const Case &each : cases) {
        simulate::Problem problem = each.problem;
        problem.mode = mode;
        const std::vector<double> ours = simulate::simulate(each.schedule, problem).finish;
        const auto [theirs, tied] = play(each.schedule, problem, Links::in_turn);
        const bool same = agree(ours, theirs);
        ++agreement.cases;
        agreement.tied += tied > 0 ? 1 : 0;
        if (same)
            for (std::size_t p = 0; p < ours.size(); ++p)
                agreement.worst = std::max(agreement.worst, std::abs(ours[p] - theirs[p]) /
                                                                std::max(ours[p], 1e-12));
        else if (tied > 0 && agree_but_for_processors(each, problem))
            ++agreement.tied_differ;
        else
            agreement.wrong.push_back(each.told + "\n  Stretto, ms:" + shown(ours) +
                                      "\n  SimGrid, ms:" + shown(theirs));
    }
    return agreement;
}

bool sees_what_is_wrong() {
    constexpr std::array<schedule::Position, 1> kRanks = {5};
    const Case one =
        cases_of(algorithms::find(schedule::Collective::allreduce, "ring"), kRanks).front();
    simulate::Problem wrong = one.problem;
    wrong.network.beta *= 1 + 1e-6;
    const std::vector<double> right = simulate::simulate(one.schedule, one.problem).finish;
    return agree(right, play(one.schedule, one.problem, Links::in_turn).finish) &&
           !agree(right, play(one.schedule, wrong, Links::in_turn).finish);
}

} // namespace stretto::test
