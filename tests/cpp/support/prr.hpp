// SPDX-License-Identifier: BSD-3-Clause
// The pre-reduced ring (Proficz, section 4.2, with the printed pseudo-code corrected): a schedule
// whose finish times are published.  Positions are ranks sorted by arrival.
#pragma once

#include <vector>

#include "support/schedules.hpp"

namespace stretto::test {

// Steps that each position's reduce loop is shifted by: `arrivals` ascending, `tau` the time of one
// segment.
inline std::vector<int> prr_shifts(const std::vector<double> &arrivals, double tau) {
    const std::size_t ranks = arrivals.size();
    std::vector<int> k(ranks, 0);
    for (std::size_t i = ranks - 1; i-- > 0;)
        k[i] = k[i + 1] + (arrivals.back() - arrivals[i + 1] >= (k[i + 1] + 1) * tau ? 1 : 0);
    return k;
}

inline Schedule prr(const std::vector<int> &k) {
    const auto ranks = static_cast<Position>(k.size());
    std::vector<Position> start(k.size()); // where each segment starts
    Position i = 0;
    for (Position j = 0; j < ranks; ++j) {
        while (i + k[static_cast<std::size_t>(i)] < j)
            ++i;
        start[static_cast<std::size_t>(j)] = i;
    }
    const auto first_of = [&](Position s) { return start[static_cast<std::size_t>(s)]; };
    const auto last_of = [&](Position s) { return (first_of(s) + ranks - 1) % ranks; };
    auto programs = empty_programs(ranks);
    for (Position me = 0; me < ranks; ++me) {
        const Position next = (me + 1) % ranks, previous = (me + ranks - 1) % ranks;
        auto &ops = ops_of(programs, me);
        Position s = (me + k[static_cast<std::size_t>(me)]) % ranks;
        constexpr Lane kReduce = 0, kOverride = 1;
        for (Position step = 0; step < ranks; ++step, s = (s + ranks - 1) % ranks) {
            if (first_of(s) != me)
                ops.push_back(recv_reduce(previous, {s}, Side::left, kWork, kWork, kReduce));
            // Who reduced a segment last sends the first copy of the result.
            ops.push_back(send(next, {s}, kWork, last_of(s) == me ? kOverride : kReduce));
        }
        for (Position step = 0; step < ranks; ++step, s = (s + ranks - 1) % ranks)
            if (last_of(s) != me) {
                ops.push_back(recv(previous, {s}, kWork, kOverride));
                if ((last_of(s) + ranks - 1) % ranks != me)
                    ops.push_back(send(next, {s}, kWork, kOverride));
            }
    }
    return assemble("prr", Contract(Collective::allreduce, ranks, ranks), std::move(programs));
}

} // namespace stretto::test
