// SPDX-License-Identifier: BSD-3-Clause
#include "cost/elapsed.hpp"

#include <string>

#include "base/status.hpp"
#include "cost/pieces.hpp"
#include "cost/streams.hpp"
#include "cost/walk.hpp"

namespace stretto::cost {

std::vector<Elapsed> elapsed(const schedule::Schedule &schedule, std::size_t count,
                             std::size_t element, std::size_t slice, const IndexedNetwork &network,
                             std::span<const Arrivals> cases, const Limits &limits) {
    const Pieces pieces = pieces_of(schedule, count, element, slice, network, limits, true);
    const Streams streams = streams_of(pieces, network.as_given().ring);
    std::vector<Elapsed> found;
    for (const Arrivals &arrivals : cases) {
        if (arrivals.size() != pieces.positions)
            throw Error(Status::argument, "elapsed: " + std::to_string(arrivals.size()) +
                                              " arrivals for " + std::to_string(pieces.positions) +
                                              " positions of '" + schedule.name + "'");
        const Walk walked = walk(pieces, limits.seconds, arrivals, streams);
        if (!walked.ended && walked.seconds <= limits.seconds)
            throw Error(Status::argument,
                        "elapsed: '" + schedule.name + "' deadlocks; verify() tells where");
        Elapsed each{0, with_common(walked.seconds, walked, pieces, network.as_given())};
        for (std::size_t p = 0; p < arrivals.size(); ++p)
            each.mean +=
                with_common(walked.finish[p], walked, pieces, network.as_given()) - arrivals[p];
        each.mean /= static_cast<double>(arrivals.size());
        found.push_back(each);
    }
    return found;
}

} // namespace stretto::cost
