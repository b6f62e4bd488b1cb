// SPDX-License-Identifier: BSD-3-Clause
#include "engine/stall_report.hpp"

#include <algorithm>
#include <unistd.h>

#include "base/clock.hpp"
#include "engine/stream.hpp"
#include "transport/bridge.hpp"

namespace stretto::engine {

using transport::Segment;
using transport::WaitState;

namespace {

constexpr std::size_t kMostGroups = 8; // of ranks that wait in the same way

bool answered(const Segment &segment, int rank) {
    return (segment.lines(rank).standing.load(std::memory_order_acquire) &
            WaitState::kAnsweredFlag) != 0;
}

} // namespace

std::string in_words(const WaitState &standing, const transport::RankNames &names) {
    const std::string who = standing.awaited == WaitState::kAnyRank ? "another rank"
                            : standing.awaited == WaitState::kItselfRank
                                ? "a copy or reduction of its own"
                                : names.of(standing.awaited);
    switch (standing.kind) {
    case WaitState::step:
        return who + " in step " + std::to_string(standing.at) + " of " +
               std::to_string(standing.of);
    case WaitState::incoming: return "a message from " + who;
    case WaitState::outgoing: return who + " to take a message";
    case WaitState::nowhere: break;
    }
    return "nobody";
}

void ask_where(const Segment &segment) {
    constexpr std::uint64_t kMomentNs = 200'000'000;
    if (segment.bridge() == nullptr)
        return;
    std::vector<int> asked;
    for (int rank = 0; rank < segment.ranks(); ++rank)
        if (!segment.here(rank) && segment.presence(rank) == transport::Presence::here) {
            segment.lines(rank).standing.store(0, std::memory_order_relaxed);
            segment.bridge()->inquire(rank);
            asked.push_back(rank);
        }
    const std::uint64_t start = now_ns();
    while (
        now_ns() - start < kMomentNs &&
        !std::all_of(asked.begin(), asked.end(), [&](int rank) { return answered(segment, rank); }))
        if (!segment.bridge()->carry())
            usleep(100);
}

std::string where_others_wait(const Segment &segment, int rank, std::uint64_t call) {
    struct Group {
        WaitState standing;
        std::uint64_t call; // of a collective
        std::vector<int> ranks;
    };
    std::vector<Group> groups;
    for (int other = 0; other < segment.ranks(); ++other) {
        const transport::LineBlock &lines = segment.lines(other);
        const WaitState standing =
            WaitState::unpacked(lines.standing.load(std::memory_order_acquire));
        if (other == rank || standing.kind == WaitState::nowhere ||
            segment.presence(other) != transport::Presence::here)
            continue;
        const std::uint64_t in = standing.kind == WaitState::step
                                     ? call_of(lines.progress.load(std::memory_order_acquire))
                                     : call;
        const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group &group) {
            return group.standing == standing && group.call == in;
        });
        if (same == groups.end())
            groups.push_back({standing, in, {other}});
        else
            same->ranks.push_back(other);
    }
    std::string words;
    for (std::size_t i = 0; i < std::min(kMostGroups, groups.size()); ++i) {
        const Group &group = groups[i];
        words +=
            "; " + segment.names().of(group.ranks) +
            (group.ranks.size() == 1 ? " waits for " : " wait for ") +
            in_words(group.standing, segment.names()) +
            (group.call != call ? " of call " + std::to_string(segment.number_of(group.call)) : "");
    }
    return words + (groups.size() > kMostGroups ? "; and so on" : "");
}

} // namespace stretto::engine
