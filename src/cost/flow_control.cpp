// SPDX-License-Identifier: BSD-3-Clause
#include "cost/flow_control.hpp"

#include <algorithm>
#include <limits>

namespace stretto::cost {

FlowControl::FlowControl(const Pieces &pieces, const Streams &streams)
    : pieces_(pieces), streams_(streams) {
    if (streams.empty())
        return;
    positions_.resize(pieces.positions);
    passed_.resize(pieces.tasks.size());
}

bool FlowControl::keeps(TaskId task, CellId id) {
    const Streams::Cell &cell = streams_.cells[id];
    // A piece stands for several slices.  If they are longer than half a ring, the first of them
    // leave before the last have room.
    const double needs = cell.end - cell.bytes + std::min(cell.bytes, streams_.ring / 2);
    if (needs <= written_up_to(cell.position))
        return false;
    positions_[cell.position].held.emplace(needs, task);
    watch(cell.position);
    return true;
}

bool FlowControl::has_taken(TaskId reader) const {
    return streams_.turn[reader] < positions_[pieces_.tasks[reader].position].next;
}

double FlowControl::written_up_to(std::uint32_t position) {
    Stream &here = positions_[position];
    const std::vector<CellId> &stream = streams_.stream[position];
    const auto taken = [&](CellId cell) {
        return std::ranges::all_of(streams_.cells[cell].readers,
                                   [&](TaskId reader) { return has_taken(reader); });
    };
    while (here.oldest < stream.size() && taken(stream[here.oldest]))
        ++here.oldest;
    if (here.oldest == stream.size())
        return std::numeric_limits<double>::infinity();
    const Streams::Cell &oldest = streams_.cells[stream[here.oldest]];
    return oldest.end - oldest.bytes + streams_.ring;
}

// The position's next look at its held tasks is when a reader of its oldest cell has taken it.
void FlowControl::watch(std::uint32_t position) {
    Stream &here = positions_[position];
    if (here.watches)
        return;
    here.watches = true;
    for (const TaskId reader : streams_.cells[streams_.stream[position][here.oldest]].readers)
        if (!has_taken(reader)) {
            positions_[pieces_.tasks[reader].position].watchers.push_back(position);
            return;
        }
}

void FlowControl::progress(TaskId task) {
    if (passed_[task])
        return;
    passed_[task] = true;
    const std::uint32_t position = pieces_.tasks[task].position;
    const std::vector<TaskId> &sequence = streams_.sequence[position];
    Stream &here = positions_[position];
    const std::uint32_t before = here.next;
    while (here.next < sequence.size() && passed_[sequence[here.next]])
        ++here.next;
    if (here.next == before)
        return;
    for (const std::uint32_t watcher : here.watchers) {
        positions_[watcher].watches = false;
        moved_.push_back(watcher);
    }
    here.watchers.clear();
}

void FlowControl::take_freed(std::vector<TaskId> &tasks) {
    tasks.swap(freed_);
    freed_.clear();
    for (const std::uint32_t position : moved_) {
        Stream &here = positions_[position];
        const double most = written_up_to(position);
        for (; !here.held.empty() && here.held.top().first <= most; here.held.pop())
            tasks.push_back(here.held.top().second);
        if (!here.held.empty())
            watch(position);
    }
    moved_.clear();
}

bool FlowControl::open_for_one() {
    const auto found =
        std::ranges::find_if(positions_, [](const Stream &each) { return !each.held.empty(); });
    if (found == positions_.end())
        return false;
    freed_.push_back(found->held.top().second);
    found->held.pop();
    return true;
}

} // namespace stretto::cost
