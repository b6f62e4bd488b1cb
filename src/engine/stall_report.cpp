// SPDX-License-Identifier: BSD-3-Clause
#include "engine/stall_report.hpp"

#include <algorithm>
#include <unistd.h>

#include "base/clock.hpp"
#include "engine/stream.hpp"
#include "transport/remote/remote_peers.hpp"

namespace stretto::engine {

using transport::Segment;
using transport::WaitState;

namespace {

constexpr std::size_t kMostGroups = 8; // of ranks that wait in the same way

bool answered(const Segment &segment, int rank) {
    return (segment.lines(rank).wait_state.load(std::memory_order_acquire) &
            WaitState::kAnsweredFlag) != 0;
}

} // namespace

std::string in_words(const WaitState &wait_state, const transport::RankNames &names) {
    if (wait_state.awaited == WaitState::kDriverRank)
        return "the driver of its device, as another thread of its process is in a call that waits "
               "for the device (such as cudaFree or cudaMemcpy)";
    const std::string who = wait_state.awaited == WaitState::kAnyRank ? "another rank"
                            : wait_state.awaited == WaitState::kItselfRank
                                ? "a copy, reduction or stream of its own"
                                : names.of(wait_state.awaited);
    if (wait_state.awaited == WaitState::kItselfRank && wait_state.kind != WaitState::step)
        return who; // of a message
    switch (wait_state.kind) {
    case WaitState::step:
        return who + " in step " + std::to_string(wait_state.at) + " of " +
               std::to_string(wait_state.of);
    case WaitState::incoming: return "a message from " + who;
    case WaitState::outgoing: return who + " to take a message";
    case WaitState::nowhere: break;
    }
    return "no rank";
}

void ask_where(const Segment &segment) {
    constexpr std::uint64_t kMomentNs = 200'000'000;
    if (segment.remote_peers() == nullptr)
        return;
    std::vector<int> asked;
    for (int rank = 0; rank < segment.ranks(); ++rank)
        if (!segment.here(rank) && segment.presence(rank) == transport::Presence::here) {
            segment.lines(rank).wait_state.store(0, std::memory_order_relaxed);
            segment.remote_peers()->inquire(rank);
            asked.push_back(rank);
        }
    const std::uint64_t start = now_ns();
    while (
        now_ns() - start < kMomentNs &&
        !std::all_of(asked.begin(), asked.end(), [&](int rank) { return answered(segment, rank); }))
        if (!segment.remote_peers()->make_progress())
            usleep(100);
}

std::string where_others_wait(const Segment &segment, int rank, std::uint64_t call) {
    struct Group {
        WaitState wait_state;
        std::uint64_t call; // of a collective
        std::vector<int> ranks;
    };
    std::vector<Group> groups;
    for (int other = 0; other < segment.ranks(); ++other) {
        const transport::LineBlock &lines = segment.lines(other);
        const WaitState wait_state =
            WaitState::unpacked(lines.wait_state.load(std::memory_order_acquire));
        if (other == rank || wait_state.kind == WaitState::nowhere ||
            segment.presence(other) != transport::Presence::here)
            continue;
        const std::uint64_t in = wait_state.kind == WaitState::step
                                     ? call_of(lines.progress.load(std::memory_order_acquire))
                                     : call;
        const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group &group) {
            return group.wait_state == wait_state && group.call == in;
        });
        if (same == groups.end())
            groups.push_back({wait_state, in, {other}});
        else
            same->ranks.push_back(other);
    }
    std::string words;
    for (std::size_t i = 0; i < std::min(kMostGroups, groups.size()); ++i) {
        const Group &group = groups[i];
        words +=
            "; " + segment.names().of(group.ranks) +
            (group.ranks.size() == 1 ? " waits for " : " wait for ") +
            in_words(group.wait_state, segment.names()) +
            (group.call != call ? " of call " + std::to_string(segment.number_of(group.call)) : "");
    }
    return words + (groups.size() > kMostGroups ? "; and so on" : "");
}

} // namespace stretto::engine
