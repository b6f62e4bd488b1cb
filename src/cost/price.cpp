// SPDX-License-Identifier: BSD-3-Clause
#include "cost/price.hpp"

#include "base/status.hpp"
#include "cost/indexed_network.hpp"
#include "cost/pieces.hpp"
#include "cost/walk.hpp"

namespace stretto::cost {

Price price(const schedule::Schedule &schedule, std::size_t count, std::size_t element,
            std::size_t slice, const Network &network, const Limits &limits) {
    return price(schedule, count, element, slice, IndexedNetwork(network, schedule.ranks), limits);
}

Price price(const schedule::Schedule &schedule, std::size_t count, std::size_t element,
            std::size_t slice, const IndexedNetwork &network, const Limits &limits) {
    const Pieces pieces = pieces_of(schedule, count, element, slice, network, limits);
    const auto beyond = [&](double seconds) {
        return Price{.seconds = seconds, .work = pieces.counts.work};
    };
    if (pieces.counts.seconds > limits.seconds)
        return beyond(pieces.counts.seconds);
    const Walk walked = walk(pieces, limits.seconds);
    if (walked.seconds > limits.seconds)
        return beyond(walked.seconds);
    if (!walked.ended)
        throw Error(Status::argument,
                    "price: '" + schedule.name + "' deadlocks; verify() tells where");
    Price result = pieces.counts;
    result.seconds = with_common(walked.seconds, walked, pieces, network.as_given());
    result.steps = walked.steps;
    return result;
}

} // namespace stretto::cost
