// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/knowledge.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/status.hpp"

namespace stretto::schedule {

namespace {

bool suffixes_differ(const Program &program) {
    return std::any_of(
        program.suffixes.begin(), program.suffixes.end(),
        [&](const std::vector<Op> &suffix) { return suffix != program.suffixes[0]; });
}

// The ops that wait, directly or not, for every one of the first `prefix` ops.
std::vector<char> after_all(const std::vector<std::vector<std::int32_t>> &before,
                            std::int32_t prefix) {
    const auto size = static_cast<std::size_t>(prefix);
    // It is enough to wait for the last of them: the ops that no other of them waits for.
    std::vector<char> last(size, 1);
    for (std::size_t i = 0; i < size; ++i)
        for (const std::int32_t earlier : before[i])
            last[static_cast<std::size_t>(earlier)] = 0;

    constexpr std::size_t most_looks = 1u << 31;
    const auto roots = static_cast<std::size_t>(std::count(last.begin(), last.end(), 1));
    if (roots > most_looks / (before.size() + 1))
        throw Error(Status::argument, "the arbiter issues the token after " +
                                          std::to_string(roots) +
                                          " ops that do not wait for one another; too many to "
                                          "follow, order them by `after`");
    std::vector<char> after(before.size(), 1);
    for (std::size_t root = 0; root < size; ++root) {
        if (!last[root])
            continue;
        std::vector<char> reached(before.size(), 0);
        reached[root] = 1;
        for (std::size_t i = root + 1; i < before.size(); ++i)
            reached[i] = std::any_of(before[i].begin(), before[i].end(), [&](std::int32_t earlier) {
                return reached[static_cast<std::size_t>(earlier)] != 0;
            });
        reached[root] = 0;
        for (std::size_t i = 0; i < before.size(); ++i)
            after[i] = after[i] && reached[i];
    }
    return after;
}

} // namespace

Knowledge::Knowledge(const Schedule &schedule, const std::vector<Program> &programs,
                     const Waits &before) {
    if (!schedule.token || schedule.token->arbiter < 0)
        return;
    arbiter_ = schedule.token->arbiter;
    issued_after_ = missing_ = schedule.token->issued_after;
    after_issue_ = after_all(before[at(arbiter_)], issued_after_);
    known_.assign(programs.size(), 0);
    known_[at(arbiter_)] = missing_ == 0;
    for (std::size_t p = 0; p < programs.size(); ++p) {
        gates_.push_back(suffixes_differ(programs[p])
                             ? static_cast<std::int32_t>(programs[p].ops.size())
                             : std::numeric_limits<std::int32_t>::max());
        informed_.emplace_back(before[p].size(), 0);
    }
}

bool Knowledge::gated(OpRef op) const {
    return !gates_.empty() && op.index >= gates_[at(op.position)];
}

bool Knowledge::inherits(OpRef op, const Waits &before) const {
    if (gated(op) || (op.position == arbiter_ && after_issue_[at(op.index)]))
        return true;
    const std::vector<std::int32_t> &waits = before[at(op.position)][at(op.index)];
    return std::any_of(waits.begin(), waits.end(), [&](std::int32_t earlier) {
        return informed_[at(op.position)][at(earlier)] != 0;
    });
}

bool Knowledge::carries(OpRef send, const Waits &before) const {
    return !known_.empty() && inherits(send, before);
}

void Knowledge::complete(OpRef op, bool carried, const Waits &before) {
    if (known_.empty())
        return;
    if (op.position == arbiter_ && op.index < issued_after_ && --missing_ == 0)
        known_[at(arbiter_)] = 1;
    if (carried)
        known_[at(op.position)] = 1;
    informed_[at(op.position)][at(op.index)] = carried || inherits(op, before);
}

} // namespace stretto::schedule
