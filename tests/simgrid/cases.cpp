// SPDX-License-Identifier: BSD-3-Clause
#include "cases.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "algorithms/lateness.hpp"

namespace stretto::test {

namespace {

using algorithms::Algorithm;
using algorithms::Choice;
using schedule::Position;

// Alpha, and what a byte takes, are whole picoseconds, as are arrivals.  So the model, which counts
// in them, rounds nothing, and what ends at one moment does so in both.
constexpr std::pair<const char *, simulate::Network> kNetworks[] = {
    {"Proficz 2018", {320e-6, 4.49e-9, 0.2e-9}},
    {"1 Gbit/s", {60e-6, 8.4e-9, 0.2e-9}},
    {"slow processors", {60e-6, 8.4e-9, 20e-9}}}; // so that what comes waits to be reduced

constexpr std::size_t kElement = 4; // bytes
// 4 MiB, and so little that some blocks are empty.
constexpr std::size_t kCounts[] = {1 << 20, 10};

std::vector<std::pair<std::string, std::vector<double>>> all_arrivals(Position ranks) {
    const auto positions = static_cast<std::size_t>(ranks);
    std::vector<double> one_late(positions, 0), random;
    one_late[1] = 0.05;
    std::mt19937 generator(static_cast<std::uint32_t>(ranks));
    for (std::size_t p = 0; p < positions; ++p)
        random.push_back(static_cast<double>(generator() % 50'000) * 1e-6);
    return {{"all together", {}}, {"one late", one_late}, {"all at random", random}};
}

} // namespace

std::vector<Case> cases_of(const Algorithm &found, std::span<const Position> all_ranks) {
    std::vector<Case> cases;
    for (const Position ranks : all_ranks)
        for (const auto &[network_name, network] : kNetworks)
            for (const std::size_t count : kCounts)
                for (const auto &[arrivals_name, arrivals] : all_arrivals(ranks)) {
                    const auto add = [&, &network = network, &network_name = network_name,
                                      &arrivals_name = arrivals_name](
                                         const Choice &choice, const std::vector<double> &when) {
                        schedule::Schedule schedule = algorithms::make(choice, ranks);
                        simulate::Problem problem;
                        problem.count = schedule.partition.fitting(count);
                        problem.element = kElement;
                        problem.arrivals = when;
                        problem.network = network;
                        const std::string told = schedule.name + ", P = " + std::to_string(ranks) +
                                                 ", " + network_name + ", " +
                                                 std::to_string(problem.count * kElement) +
                                                 " bytes, " + arrivals_name;
                        cases.push_back({told, std::move(schedule), problem});
                    };
                    if (!found.runs(ranks))
                        continue;
                    add({&found, {}}, arrivals);
                    if (found.for_arrivals == nullptr || arrivals.empty() || ranks < 3)
                        continue;
                    algorithms::Lateness lateness = {.arrivals = arrivals,
                                                     .bytes = count * kElement,
                                                     .elements = count,
                                                     .message = network.alpha,
                                                     .byte = network.beta,
                                                     .reduce = network.gamma};
                    std::ranges::sort(lateness.arrivals);
                    for (algorithms::Values &values : found.for_arrivals(lateness))
                        add({&found, std::move(values)}, lateness.arrivals);
                }
    return cases;
}

} // namespace stretto::test
