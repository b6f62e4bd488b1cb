// SPDX-License-Identifier: BSD-3-Clause
#include "fluid.hpp"

#include <algorithm>

#include "programs.hpp"

namespace stretto::test {

namespace {

using schedule::OpKind;
using schedule::Position;

std::vector<double> arrivals_of(const Case &each) {
    std::vector<double> arrivals = each.problem.arrivals;
    arrivals.resize(static_cast<std::size_t>(each.schedule.ranks));
    return arrivals;
}

// The seconds from its arrival in which a position cannot be done, however links are shared:
// whatever it sends goes through its one link after it has come, and so does what it receives.
double least(const Case &each, Position position) {
    const std::vector<std::size_t> bounds = each.schedule.partition.bounds(each.problem.count);
    double sent = 0, received = 0; // bytes
    for (const schedule::Op &op : each.schedule.program(position).ops) {
        const auto bytes = static_cast<double>(bytes_of(op, bounds, each.problem.element));
        sent += op.kind == OpKind::send ? bytes : 0;
        received += op.kind == OpKind::recv ? bytes : 0;
    }
    const double most = std::max(sent, received);
    return most > 0 ? each.problem.network.alpha + each.problem.network.beta * most : 0;
}

struct Elapsed {
    double last = 0, mean = 0;
};

Elapsed elapsed(const std::vector<double> &arrivals, const std::vector<double> &finish) {
    Elapsed elapsed;
    for (std::size_t p = 0; p < finish.size(); ++p)
        elapsed.mean += (finish[p] - arrivals[p]) / static_cast<double>(finish.size());
    elapsed.last = *std::ranges::max_element(finish) - *std::ranges::max_element(arrivals);
    return elapsed;
}

} // namespace

void Ratios::add(double ratio) {
    least = std::min(least, ratio);
    most = std::max(most, ratio);
    sum += ratio;
    ++count;
}

Movement move(std::span<const Case> cases, simulate::Mode mode, Links links) {
    Movement movement;
    for (const Case &each : cases) {
        simulate::Problem problem = each.problem;
        problem.mode = mode;
        const std::vector<double> arrivals = arrivals_of(each);
        const std::vector<double> shared = play(each.schedule, problem, links).finish;
        const Elapsed ours = elapsed(arrivals, simulate::simulate(each.schedule, problem).finish);
        const Elapsed theirs = elapsed(arrivals, shared);
        movement.last.add(theirs.last / ours.last);
        movement.mean.add(theirs.mean / ours.mean);
        for (std::size_t p = 0; p < shared.size(); ++p)
            if (shared[p] - arrivals[p] < least(each, static_cast<Position>(p)) * (1 - 1e-9)) {
                movement.wrong.push_back(each.told);
                break;
            }
    }
    return movement;
}

} // namespace stretto::test
