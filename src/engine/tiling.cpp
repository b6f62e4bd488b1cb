// SPDX-License-Identifier: BSD-3-Clause
#include "engine/tiling.hpp"

#include <algorithm>

#include "transport/shm/cell.hpp"

namespace stretto::engine {

using schedule::Position;
using schedule::Schedule;

namespace {

std::size_t work_of(const schedule::Program &program) {
    std::size_t work = 0;
    for (const schedule::Op &op : schedule::path(program))
        work += op.blocks.size() * std::max<std::size_t>(1, op.sources.size());
    return work;
}

} // namespace

bool one_for_all(const Schedule &schedule, const Blocks &blocks, std::size_t element) {
    return schedule.alike && blocks.least() > 0 && blocks.longest() - blocks.least() <= element;
}

std::size_t work_of_layer(const Schedule &schedule, Position position, bool alike) {
    if (schedule.symmetry) {
        const std::size_t own = work_of(schedule.program(position));
        return alike ? own : own * static_cast<std::size_t>(schedule.ranks);
    }
    std::size_t all = 0;
    for (Position each = 0; each < schedule.ranks; ++each)
        all += work_of(schedule.program(each));
    return all;
}

Tiling tiling(const Blocks &blocks, std::size_t element, std::size_t slice,
              const std::function<std::size_t()> &layers) {
    constexpr std::size_t kFewLayers = 2; // with fewer, ranks would wait at the end of every tile
    const std::size_t least = blocks.least(), differ = blocks.longest() - least;
    if (least < 2 * kFewLayers * slice)
        return {};
    const std::size_t most = std::max(kFewLayers, layers()) * slice;
    const std::size_t tiles = (least + most - 1) / most;
    const std::size_t grain =
        transport::kLineBytes % element == 0 ? transport::kLineBytes : element;
    const std::size_t stride = least / tiles / grain * grain;
    // The last tile has a plan as well, so it must not be much longer.
    if (tiles == 1 || stride == 0 || differ > stride)
        return {};
    return {static_cast<std::uint32_t>(least / stride), stride};
}

} // namespace stretto::engine
