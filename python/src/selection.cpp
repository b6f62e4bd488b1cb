// SPDX-License-Identifier: BSD-3-Clause
// The choice of an algorithm, explained.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <string>
#include <tuple>

#include "bindings.hpp"
#include "select/explain.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace stretto::python {

namespace {

nb::dict describe(const select::Candidate &candidate) {
    nb::dict entry;
    entry["algorithm"] = candidate.algorithm;
    entry["excluded"] = candidate.excluded;
    if (!candidate.excluded.empty())
        return entry;
    const schedule::Accounting &costs = candidate.prediction.costs;
    entry["predicted_seconds"] = candidate.prediction.seconds;
    entry["steps"] = costs.steps;
    entry["messages"] = costs.most.sends; // of the rank that has most; so is what follows
    entry["messages_total"] = costs.total.sends;
    entry["bytes_sent"] = costs.most.bytes_sent;
    entry["bytes_received"] = costs.most.bytes_received;
    entry["bytes_reduced"] = costs.most.bytes_reduced;
    return entry;
}

nb::dict explain(const std::string &collective, int ranks, unsigned cores, std::size_t bytes,
                 std::size_t element, bool commutative, const std::string &reproducible, bool exact,
                 int hosts, std::tuple<double, double, double, double, double> link) {
    const auto which = schedule::collective_named(collective);
    if (!which)
        throw Error(Status::argument, "there is no collective '" + collective + "'");
    select::Situation situation;
    situation.collective = *which;
    situation.ranks = ranks;
    situation.cores = cores;
    situation.bytes = bytes;
    situation.element = element;
    situation.commutative = commutative;
    situation.consistent = !exact; // as the communicator asks
    situation.hosts = hosts;
    if (hosts > 1) {
        auto &[latency, overhead, byte, reduce, common] = link;
        situation.profile.between = {latency, overhead, byte, reduce};
        situation.profile.common = common;
        situation.profile.date = "today";
        situation.profile.source = "the network that was given";
        for (int rank = 0; rank < ranks && hosts < ranks; ++rank)
            situation.host_of.push_back(static_cast<int>(std::int64_t{rank} * hosts / ranks));
    }
    situation.reproducible = select::reproducible_named(reproducible);
    select::Explanation all;
    {
        const nb::gil_scoped_release released;
        all = select::explain(situation);
    }
    nb::list candidates;
    for (const select::Candidate &candidate : all.candidates)
        candidates.append(describe(candidate));
    nb::dict result;
    result["chosen"] = all.choice.algorithm;
    result["why"] = all.choice.why;
    result["cheapest"] = all.cheapest;
    result["candidates"] = candidates;
    return result;
}

} // namespace

void bind_selection(nb::module_ &module) {
    module.def("explain", &explain, "collective"_a, "ranks"_a, "cores"_a, "bytes"_a, "element"_a,
               "commutative"_a, "reproducible"_a, "exact"_a, "hosts"_a, "link"_a);
}

} // namespace stretto::python
