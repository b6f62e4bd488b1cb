// SPDX-License-Identifier: BSD-3-Clause
#include "membership/model.hpp"

#include <algorithm>
#include <random>

#include "membership/checker.hpp"

namespace test {

namespace {

struct Frame {
    State state;
    std::vector<Step> steps;
    std::size_t taken = 0;
};

std::string history(const Checker &checker, const std::vector<Frame> &path) {
    std::string text;
    for (const Frame &frame : path)
        if (frame.taken > 0)
            text += checker.describe(frame.state, frame.steps[frame.taken - 1]) + "\n";
    return text;
}

void conclude(Findings &found, const Checker &checker, const std::vector<Frame> &path,
              const char *broken) {
    found.members = checker.local_states();
    found.epochs = checker.epochs();
    if (broken == nullptr)
        return;
    found.broken = broken;
    found.history = history(checker, path);
}

} // namespace

Findings explore(const World &world, std::size_t most_states) {
    Checker checker(world);
    Findings found;
    Visited visited;
    std::vector<Frame> path(1);
    path.back().state = checker.start();
    visited.insert(checker.print(path.back().state));
    checker.next(path.back().state, path.back().steps);
    const char *broken = nullptr;
    while (!path.empty() && broken == nullptr) {
        Frame &frame = path.back();
        if (frame.steps.empty()) {
            ++found.ends;
            broken = checker.at_end(frame.state);
        }
        if (frame.taken == frame.steps.size()) {
            if (broken == nullptr)
                path.pop_back();
            continue;
        }
        State state = frame.state;
        broken = checker.take(state, frame.steps[frame.taken++]);
        ++found.steps;
        if (broken != nullptr || !visited.insert(checker.print(state)))
            continue;
        if (visited.size() > most_states)
            broken = "the number of states is bounded";
        path.emplace_back();
        path.back().state = state;
        checker.next(state, path.back().steps);
    }
    found.states = visited.size();
    conclude(found, checker, path, broken);
    return found;
}

Findings wander(const World &world, unsigned seed, int histories) {
    std::mt19937 random(seed);
    Findings found;
    for (int i = 0; i < histories && found.broken.empty(); ++i) {
        Checker checker(world);
        std::vector<Frame> path(1);
        path.back().state = checker.start();
        const char *broken = nullptr;
        for (;;) {
            Frame &frame = path.back();
            checker.next(frame.state, frame.steps);
            ++found.states;
            if (frame.steps.empty()) {
                ++found.ends;
                broken = checker.at_end(frame.state);
                break;
            }
            State state = frame.state;
            const auto is_harmless = [](Step step) {
                return step.kind == Step::deliver || step.kind == Step::shrink ||
                       step.kind == Step::complete || step.kind == Step::ask;
            };
            const auto harmless = static_cast<std::size_t>(
                std::stable_partition(frame.steps.begin(), frame.steps.end(), is_harmless) -
                frame.steps.begin());
            const std::size_t choice =
                random() % (harmless > 0 && random() % 32 != 0 ? harmless : frame.steps.size());
            frame.taken = choice + 1;
            broken = checker.take(state, frame.steps[choice]);
            ++found.steps;
            if (broken != nullptr)
                break;
            path.emplace_back();
            path.back().state = state;
        }
        conclude(found, checker, path, broken);
    }
    return found;
}

} // namespace test
