// SPDX-License-Identifier: BSD-3-Clause
#include "select/price.hpp"

#include <algorithm>

#include "base/status.hpp"
#include "select/pieces.hpp"
#include "select/walk.hpp"

namespace stretto::select {

Price price(const schedule::Schedule &schedule, std::size_t count, std::size_t element,
            std::size_t slice, const Topology &topology, std::size_t work) {
    const Pieces pieces = pieces_of(schedule, count, element, slice, topology, work);
    const Walk walked = walk(pieces);
    if (!walked.ended)
        throw Error(Status::argument,
                    "price: '" + schedule.name + "' deadlocks; verify() tells where");
    Price result = pieces.counts;
    result.seconds = std::max(walked.seconds, topology.common * result.pieces);
    result.steps = walked.steps;
    return result;
}

} // namespace stretto::select
