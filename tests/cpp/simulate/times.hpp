// SPDX-License-Identifier: BSD-3-Clause
// Milliseconds, to compare with published tables.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "simulate/simulate.hpp"

namespace stretto::test {

inline schedule::Schedule allreduce(const std::string &choice, schedule::Position ranks) {
    return algorithms::make(algorithms::parse(schedule::Collective::allreduce, choice), ranks);
}

// The pre-reduced ring, of positions that are so many steps ahead.
inline schedule::Schedule pre_reduced_ring(const algorithms::Value &ahead) {
    return allreduce("pre_reduced_ring(ahead=" + algorithms::shown(ahead) + ")",
                     static_cast<schedule::Position>(ahead.size()));
}

// A byte takes a second on its way and a quarter to reduce.
inline simulate::Problem units(simulate::Mode mode, std::vector<double> arrivals = {},
                               std::size_t count = 1) {
    simulate::Problem problem;
    problem.count = count;
    problem.element = 1;
    problem.network = {0, 1, 0.25};
    problem.mode = mode;
    problem.arrivals = std::move(arrivals);
    return problem;
}

struct Times {
    double mean;  // elapsed, ms
    double after; // last finish after the last arrival, ms
};

// All blocks are equal, as in the tables: of as many elements as blocks divide, each of them as
// many bytes, perhaps a fraction, as are missing.
inline Times times(const schedule::Schedule &schedule, std::size_t bytes,
                   const simulate::Network &network, const std::vector<double> &arrivals_ms,
                   simulate::Mode mode = simulate::Mode::posted) {
    simulate::Problem problem;
    problem.count = static_cast<std::size_t>(schedule.blocks());
    problem.element = 1;
    const double scale = static_cast<double>(bytes) / static_cast<double>(schedule.blocks());
    problem.network = {network.alpha, network.beta * scale, network.gamma * scale};
    problem.mode = mode;
    for (const double arrival : arrivals_ms)
        problem.arrivals.push_back(arrival * 1e-3);
    const simulate::Timeline timeline = simulate::simulate(schedule, problem);
    const double last = *std::max_element(arrivals_ms.begin(), arrivals_ms.end());
    return {timeline.mean_elapsed * 1e3, timeline.makespan * 1e3 - last};
}

// All at 0 but one.
inline std::vector<double> one_late(schedule::Position ranks, double late, schedule::Position who) {
    std::vector<double> arrivals(static_cast<std::size_t>(ranks), 0);
    arrivals[static_cast<std::size_t>(who)] = late;
    return arrivals;
}

// Equal as far as it is printed: to half a unit of its last digit.
inline bool as_printed(double value, double printed, double unit = 0.1) {
    return std::abs(value - printed) <= unit / 2 + 1e-9;
}

} // namespace stretto::test
