// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/lower_bound.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/status.hpp"

namespace stretto::simulate {

namespace {

// Rounds until a rank has the data of rank 0, if every rank that has it sends it to one more in
// each round.
//
//   rank     0   1   2 3   4 5 6 7
//   rounds   0   1   2 2   3 3 3 3
std::size_t rounds(std::size_t rank) {
    return static_cast<std::size_t>(std::bit_width(rank));
}

double mean(const std::vector<double> &values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The counting argument at time t: the mean finish is not earlier.
double mean_finish_after(double t, double vector, const std::vector<double> &arrivals) {
    const auto ranks = static_cast<double>(arrivals.size());
    double late = 0;
    std::vector<double> open; // when each in-port opens, after t
    for (const double arrival : arrivals) {
        late += arrival >= t ? 1 : 0;
        open.push_back(std::max(t, arrival));
    }
    const double holders = late < ranks ? late + 1 : late;
    return mean(open) + (holders + ranks - 2) / ranks * vector;
}

} // namespace

LowerBound lower_bound(std::size_t bytes, const std::vector<double> &arrivals,
                       const Network &network) {
    if (arrivals.empty())
        throw Error(Status::argument, "lower_bound: there are no arrivals; give one for each rank");
    const std::size_t ranks = arrivals.size();
    const double last = *std::max_element(arrivals.begin(), arrivals.end());
    if (ranks == 1)
        return {0, last};
    const double vector = network.beta * static_cast<double>(bytes);

    // The last to arrive, rank 0 of the rounds, needs a message as well.
    std::size_t messages = 1;
    for (std::size_t rank = 1; rank < ranks; ++rank)
        messages += rounds(rank);
    double mean_finish =
        last + vector + network.alpha * static_cast<double>(messages) / static_cast<double>(ranks);
    double last_finish = last + vector + network.alpha * static_cast<double>(rounds(ranks - 1));
    for (const double t : arrivals)
        mean_finish = std::max(mean_finish, mean_finish_after(t, vector, arrivals));
    // The last is not earlier than the mean.
    last_finish = std::max(last_finish, mean_finish);
    return {mean_finish - mean(arrivals), last_finish};
}

} // namespace stretto::simulate
