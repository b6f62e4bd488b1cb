// SPDX-License-Identifier: BSD-3-Clause
// What needs no job: the list of algorithms, proofs, simulations, schedules as text.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "bindings.hpp"
#include "schedule/json.hpp"
#include "schedule/layout.hpp"
#include "schedule/verify.hpp"
#include "trace/events.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace stretto::python {

namespace {

using schedule::Collective;
using schedule::Position;
using schedule::Schedule;
using schedule::Topology;

Collective collective_named(const std::string &name) {
    if (const auto collective = schedule::collective_named(name))
        return *collective;
    throw Error(Status::argument, "there is no collective '" + name + "'");
}

Schedule make(const std::string &collective, const std::string &algorithm, Position ranks,
              Position root, const Topology &hosts) {
    const auto choice = algorithms::parse(collective_named(collective), algorithm);
    return algorithms::make(choice, ranks, root, {}, hosts);
}

nb::dict describe(const algorithms::Algorithm &algorithm) {
    nb::list parameters;
    for (const algorithms::Parameter &parameter : algorithm.parameters) {
        nb::dict entry;
        entry["name"] = parameter.name;
        if (parameter.list)
            entry["default"] = nb::none();
        else if (!parameter.names.empty())
            entry["default"] = parameter.names[static_cast<std::size_t>(parameter.fallback)];
        else
            entry["default"] = parameter.fallback;
        nb::list names; // of its values; none if they are numbers
        for (const std::string_view name : parameter.names)
            names.append(name);
        entry["names"] = names;
        entry["least"] = parameter.least;
        entry["most"] = parameter.most;
        entry["list"] = parameter.list;
        entry["meaning"] = parameter.meaning;
        parameters.append(entry);
    }
    nb::dict result;
    result["collective"] = schedule::name(algorithm.collective);
    result["name"] = algorithm.name;
    result["summary"] = algorithm.summary;
    result["source"] = algorithm.source;
    result["parameters"] = parameters;
    return result;
}

nb::list list_algorithms() {
    nb::list result;
    for (const algorithms::Algorithm &algorithm : algorithms::all())
        result.append(describe(algorithm));
    return result;
}

// (runs, order-preserving, consistent, canonical), as an algorithm with these parameters declares.
nb::tuple declared(const std::string &collective, const std::string &text, Position ranks,
                   const Topology &hosts) {
    const algorithms::Choice choice = algorithms::parse(collective_named(collective), text);
    const algorithms::Problem problem = algorithms::problem_of(choice, ranks, 0, {}, hosts);
    const algorithms::Algorithm &algorithm = *choice.algorithm;
    if (!algorithms::misfit(choice, problem).empty())
        return nb::make_tuple(false, false, false, false);
    return nb::make_tuple(true, algorithm.order_preserving(problem), algorithm.consistent(problem),
                          algorithm.canonical(problem));
}

// (whether ranks have parts, what a rank contributes, what it ends with, what "in place" means).
nb::tuple layout(const std::string &collective, bool root) {
    constexpr std::string_view holds[] = {"nothing", "own", "whole"};
    constexpr std::string_view places[] = {"over", "inside", "moved", "kept"};
    const Collective which = collective_named(collective);
    const schedule::Layout where = schedule::layout(which);
    const schedule::Buffers held = root ? where.root : where.others;
    return nb::make_tuple(schedule::in_parts(which), holds[static_cast<int>(held.input)],
                          holds[static_cast<int>(held.output)],
                          places[static_cast<int>(where.in_place)]);
}

nb::dict prove(const Schedule &schedule, std::size_t count, std::size_t element) {
    schedule::Verdict verdict;
    schedule::Accounting costs;
    count = schedule.partition.fitting(count);
    {
        const nb::gil_scoped_release released;
        verdict = schedule::verify(schedule);
        if (verdict.ok)
            costs = schedule::account(schedule, count, element);
    }
    nb::dict result;
    result["collective"] = schedule::name(schedule.contract.collective());
    result["algorithm"] = schedule.name;
    result["ranks"] = schedule.ranks;
    result["ok"] = verdict.ok;
    result["failure"] = verdict.failure;
    if (!verdict.ok)
        return result;
    result["order_preserving"] = verdict.order_preserving;
    result["consistent"] = verdict.consistent;
    result["canonical"] = verdict.canonical;
    result["tree"] = verdict.tree;
    result["steps"] = costs.steps;
    result["vector_bytes"] = count * element;
    result["messages"] = costs.most.sends;
    result["messages_total"] = costs.total.sends;
    result["bytes_sent"] = costs.most.bytes_sent;
    result["bytes_received"] = costs.most.bytes_received;
    result["bytes_reduced"] = costs.most.bytes_reduced;
    result["scratch_bytes"] = costs.most.scratch_bytes;
    return result;
}

} // namespace

void bind_tools(nb::module_ &module) {
    // Which ranks share a host; without a text, that is not known.
    nb::class_<Topology>(module, "Topology")
        .def(nb::init<>())
        .def(
            "__init__",
            [](Topology *self, const std::string &text, Position ranks) {
                new (self) Topology(Topology::parse(text, ranks));
            },
            "text"_a, "ranks"_a = 0)
        .def_static(
            "of", [](const std::vector<std::int32_t> &host_of) { return Topology(host_of); },
            "host_of"_a)
        .def("ordered", [](const Topology &self,
                           const std::vector<Position> &order) { return self.ordered(order); })
        .def_prop_ro("ranks", &Topology::ranks)
        .def_prop_ro("host_of", &Topology::host_of)
        .def_prop_ro("cache_of", &Topology::cache_of)
        .def("__bool__", &Topology::known)
        .def("__str__", &Topology::text)
        .def("__eq__", [](const Topology &a, const Topology &b) { return a == b; });
    nb::class_<Schedule>(module, "Schedule")
        .def_ro("name", &Schedule::name)
        .def_ro("ranks", &Schedule::ranks)
        .def_prop_ro("blocks", &Schedule::blocks)
        .def_ro("topology", &Schedule::topology)
        .def_prop_ro(
            "collective",
            [](const Schedule &self) { return schedule::name(self.contract.collective()); })
        .def("to_json", [](const Schedule &self) { return schedule::to_json(self); })
        .def("to_text", [](const Schedule &self) { return schedule::to_text(self); })
        .def("prove", &prove, "count"_a, "element"_a)
        .def("simulate", &simulate_schedule, "count"_a, "element"_a, "arrivals"_a, "alpha"_a,
             "beta"_a, "gamma"_a, "mode"_a, "events"_a = false,
             "hosts"_a = std::vector<std::uint32_t>(), "racks"_a = std::vector<std::uint32_t>(),
             "uplinks"_a = 1, "rows"_a = std::vector<std::uint32_t>(), "columns"_a = 0);
    // What a rank that was killed has left, as the JSON that it would have written.
    module.def(
        "write_trace",
        [](const std::string &raw, const std::string &path) {
            trace::write_events(trace::read_log(raw), path);
        },
        "raw"_a, "path"_a);
    module.def("schedule", &make, "collective"_a, "algorithm"_a, "ranks"_a, "root"_a,
               "hosts"_a = Topology());
    module.def("schedule_from_json", &schedule::from_json, "text"_a);
    module.def("algorithms", &list_algorithms);
    module.def("layout", &layout, "collective"_a, "root"_a);
    module.def("declared", &declared, "collective"_a, "algorithm"_a, "ranks"_a,
               "hosts"_a = Topology());
}

} // namespace stretto::python
