// SPDX-License-Identifier: BSD-3-Clause
// Schedules in simulated time: results, and the timeline that drawings are made of.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string_view>
#include <utility>

#include "algorithms/early_steps.hpp"
#include "bindings.hpp"
#include "simulate/lower_bound.hpp"
#include "simulate/occupancy.hpp"
#include "simulate/simulate.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace stretto::python {

namespace {

using schedule::Block;
using schedule::Op;

simulate::Mode mode_named(const std::string &name) {
    constexpr std::string_view names[] = {"posted", "arrived", "eager", "ordered"};
    for (int i = 0; i < 4; ++i)
        if (names[i] == name)
            return static_cast<simulate::Mode>(i);
    throw Error(Status::argument,
                "there is no mode '" + name + "'; posted, arrived, eager and ordered exist");
}

// The ops of all positions, for what an event says of itself by number only.
std::vector<std::vector<Op>> paths(const schedule::Schedule &schedule) {
    std::vector<std::vector<Op>> all;
    for (schedule::Position p = 0; p < schedule.ranks; ++p)
        all.push_back(schedule::path(schedule.program(p)));
    return all;
}

nb::list describe(const schedule::Schedule &schedule, const simulate::Problem &problem,
                  const std::vector<simulate::Event> &events) {
    const auto programs = paths(schedule);
    const auto bounds = schedule.partition.bounds(problem.count);
    nb::list result;
    for (const simulate::Event &event : events) {
        const auto from = static_cast<std::size_t>(event.from);
        const auto to = static_cast<std::size_t>(event.to);
        const bool message = from != to;
        const Op &begin = programs[from][static_cast<std::size_t>(event.from_op)];
        const Op &end = programs[to][static_cast<std::size_t>(event.to_op)];
        std::size_t elements = 0;
        for (const Block block : end.blocks)
            elements += bounds[static_cast<std::size_t>(block) + 1] -
                        bounds[static_cast<std::size_t>(block)];
        nb::dict entry;
        entry["kind"] = message ? "message" : "reduce";
        entry["from"] = event.from;
        entry["to"] = event.to;
        entry["send_op"] = event.from_op;
        entry["recv_op"] = event.to_op;
        entry["lane"] = begin.lane;
        entry["blocks"] = end.blocks;
        entry["sent_blocks"] = begin.blocks; // the labels that the sender gives them
        entry["bytes"] = elements * problem.element;
        entry["reduces"] = event.reduces;
        entry["start"] = event.start;
        entry["end"] = event.end;
        result.append(entry);
    }
    return result;
}

// Floats, row by row.
nb::bytes raw(const simulate::Occupancy::Shares &shares) {
    return nb::bytes(shares.data(), shares.size() * sizeof(float));
}

// (least mean of finish - arrival, least last finish) of an allreduce.
nb::tuple lower_bound(std::size_t bytes, const std::vector<double> &arrivals, double alpha,
                      double beta) {
    const simulate::LowerBound bound = simulate::lower_bound(bytes, arrivals, {alpha, beta, 0});
    return nb::make_tuple(bound.mean_elapsed, bound.last_finish);
}

// `ahead` of a pre-reduced ring, for arrivals in ascending order.
algorithms::Value early_steps(const std::vector<double> &arrivals, std::size_t bytes, double alpha,
                              double beta, double gamma) {
    const auto ranks = static_cast<schedule::Position>(arrivals.size());
    return algorithms::early_steps(arrivals,
                                   algorithms::ring_step(ranks, bytes, alpha, beta, gamma));
}

} // namespace

nb::dict simulate_schedule(const schedule::Schedule &schedule, std::size_t count,
                           std::size_t element, std::vector<double> arrivals, double alpha,
                           double beta, double gamma, const std::string &mode, bool events,
                           std::vector<std::uint32_t> hosts, std::vector<std::uint32_t> racks,
                           std::uint32_t uplinks, std::vector<std::uint32_t> rows,
                           std::uint32_t columns) {
    simulate::Problem problem;
    problem.count = schedule.partition.fitting(count);
    problem.element = element;
    problem.arrivals = std::move(arrivals);
    problem.network = {alpha, beta, gamma};
    problem.sharing = {std::move(hosts), std::move(racks), uplinks};
    problem.mode = mode_named(mode);
    std::vector<simulate::Event> seen;
    if (events)
        problem.watch = [&](const simulate::Event &event) { seen.push_back(event); };
    simulate::Timeline timeline;
    std::optional<simulate::Occupancy> occupancy;
    {
        const nb::gil_scoped_release released;
        timeline = simulate::simulate(schedule, problem);
        if (columns > 0) {
            occupancy.emplace(schedule.ranks, std::move(rows), columns, timeline.makespan);
            problem.watch = [&](const simulate::Event &event) { occupancy->add(event); };
            simulate::simulate(schedule, problem);
        }
    }
    nb::dict result;
    result["finish"] = timeline.finish;
    result["makespan"] = timeline.makespan;
    result["mean_elapsed"] = timeline.mean_elapsed;
    if (events)
        result["events"] = describe(schedule, problem, seen);
    if (occupancy)
        result["occupancy"] = nb::make_tuple(
            raw(occupancy->to_reduce()), raw(occupancy->as_it_is()), raw(occupancy->reducing()));
    return result;
}

void bind_simulation(nb::module_ &module) {
    module.def("lower_bound", &lower_bound, "bytes"_a, "arrivals"_a, "alpha"_a, "beta"_a);
    module.def("early_steps", &early_steps, "arrivals"_a, "bytes"_a, "alpha"_a, "beta"_a,
               "gamma"_a);
}

} // namespace stretto::python
