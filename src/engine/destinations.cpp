// SPDX-License-Identifier: BSD-3-Clause
#include "engine/destinations.hpp"

#include "engine/memory.hpp"
#include "schedule/access.hpp"

namespace stretto::engine {

using schedule::Op;
using schedule::OpKind;

Destinations::Destinations(const schedule::Schedule &schedule, const Lowered &lowered,
                           const PlanOptions &options)
    : schedule_(schedule), lowered_(lowered),
      bounds_(byte_bounds(schedule.partition, options.count, options.element)) {}

std::size_t Destinations::offset(const Reader &reader) {
    const Pass &pass =
        lowered_.passes[lowered_.index(reader.position)][static_cast<std::size_t>(reader.pass)];
    if (!lowered_.symmetry)
        return pass.result->offset;
    const Labels &theirs = labels(reader.position);
    const std::size_t at =
        theirs.first[static_cast<std::size_t>(pass.op)] + static_cast<std::size_t>(pass.block);
    return bounds_[static_cast<std::size_t>(theirs.blocks[at])] + pass.within;
}

const Destinations::Labels &Destinations::labels(Position position) {
    const auto [found, is_new] = labels_.try_emplace(position);
    Labels &labels = found->second;
    if (is_new)
        for (const Op &op : schedule::path(schedule_.program(position))) {
            labels.first.push_back(static_cast<std::uint32_t>(labels.blocks.size()));
            const std::vector<schedule::Block> &written = schedule::targets_of(op);
            if (op.kind != OpKind::send)
                labels.blocks.insert(labels.blocks.end(), written.begin(), written.end());
        }
    return labels;
}

} // namespace stretto::engine
