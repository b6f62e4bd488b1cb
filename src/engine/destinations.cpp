// SPDX-License-Identifier: BSD-3-Clause
#include "engine/destinations.hpp"

#include "engine/alike.hpp"
#include "schedule/access.hpp"

namespace stretto::engine {

using schedule::Op;

std::size_t Destinations::offset(const Reader &reader) {
    const Pass &pass =
        lowered_.passes[lowered_.index(reader.position)][static_cast<std::size_t>(reader.pass)];
    if (!lowered_.symmetry)
        return pass.result->offset;
    // If a message has the same blocks at both ends, the sent blocks give the destination;
    // otherwise the reader's program gives it.
    const bool same = schedule_.relative != nullptr &&
                      labels(lowered_.representative).receives[static_cast<std::size_t>(pass.op)];
    const Labels &list = labels(same ? lowered_.representative : reader.position);
    const std::size_t at = list.first[static_cast<std::size_t>(same ? reader.send : pass.op)] +
                           static_cast<std::size_t>(pass.block);
    return blocks_.first(list.blocks[at]) + pass.within;
}

const Destinations::Labels &Destinations::labels(Position position) {
    const auto [found, is_new] = labels_.try_emplace(position);
    Labels &labels = found->second;
    if (is_new)
        for (const Op &op : path_alike(schedule_, position)) {
            labels.first.push_back(static_cast<std::uint32_t>(labels.blocks.size()));
            labels.receives.push_back(op.kind == schedule::OpKind::recv);
            const std::vector<schedule::Block> &written = schedule::targets_of(op);
            labels.blocks.insert(labels.blocks.end(), written.begin(), written.end());
        }
    return labels;
}

} // namespace stretto::engine
