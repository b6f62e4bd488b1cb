// SPDX-License-Identifier: BSD-3-Clause
// The cases that tests of all algorithms walk through.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"

namespace stretto::test {

using algorithms::Algorithm;
using algorithms::Choice;
using schedule::Position;

// "reduce chain(segments=3), 5 ranks, root 2"
inline std::string label(const Choice &choice, Position ranks, Position root) {
    std::string text = std::string(schedule::name(choice.algorithm->collective)) + " " +
                       std::string(choice.algorithm->name);
    for (const auto &[name, value] : choice.parameters)
        text += " " + name + "=" + algorithms::shown(value);
    return text + ", " + std::to_string(ranks) + " ranks, root " + std::to_string(root);
}

inline std::vector<Position> roots(const Algorithm &algorithm, Position ranks) {
    if (!schedule::rooted(algorithm.collective))
        return {0};
    std::vector<Position> found = {0, std::min<Position>(1, ranks - 1), ranks / 2, ranks - 1};
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

// The defaults, and at few ranks a small odd value and the extremes.
inline std::vector<Choice> choices(const Algorithm &algorithm, Position ranks) {
    std::vector<Choice> found = {{&algorithm, {}}};
    const bool few = ranks == 1 || ranks == 2 || ranks == 3 || ranks == 8;
    for (const algorithms::Parameter &parameter : algorithm.parameters)
        if (few && !parameter.list)
            for (const std::int64_t value :
                 {parameter.least, std::min(parameter.least + 2, parameter.most_for(ranks)),
                  parameter.most_for(ranks)})
                if (const Choice choice{&algorithm, {{std::string(parameter.name), {value}}}};
                    misfit(choice, problem_of(choice, ranks)).empty())
                    found.push_back(choice);
    return found;
}

} // namespace stretto::test
