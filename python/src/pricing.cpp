// SPDX-License-Identifier: BSD-3-Clause
// What a schedule costs over a network, the equations of Kolmakov & Zhang, and SALaR's model.
#include <limits>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "cost/indexed_network.hpp"
#include "cost/price.hpp"
#include "equations.hpp"
#include "salar.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace stretto::python {

namespace {

using Numbers = std::tuple<double, double, double, double>; // of a link: latency, overhead, ...

// `host_of`: the host of each rank; empty: each has its own.  `inside`: the link between ranks of a
// host; none: as between hosts.  `reads`: a rank reads memory of other ranks of its host
// (indexed_network.hpp).  `work`: the most work for this price.
nb::dict price(const schedule::Schedule &schedule, std::size_t count, std::size_t element,
               std::optional<std::size_t> slice, double latency, double overhead, double byte,
               double reduce, std::vector<int> host_of, const std::optional<Numbers> &inside,
               bool reads, std::size_t work) {
    const cost::Link link{latency, overhead, byte, reduce};
    cost::Network network{.host_of = std::move(host_of), .inside = link, .between = link};
    if (inside) {
        const auto [late, over, each, reduced] = *inside;
        network.inside = {late, over, each, reduced};
    }
    cost::Price price;
    {
        const nb::gil_scoped_release released;
        const cost::IndexedNetwork indexed(std::move(network), schedule.ranks,
                                           reads ? cost::Inside::reads : cost::Inside::messages);
        price = cost::price(schedule, schedule.partition.fitting(count), element,
                            slice.value_or(std::numeric_limits<std::size_t>::max()), indexed,
                            {.work = work});
    }
    nb::dict result;
    result["seconds"] = price.seconds;
    result["steps"] = price.steps;
    result["messages"] = price.messages;
    result["bytes_sent"] = price.bytes_sent;
    result["bytes_received"] = price.bytes_received;
    result["bytes_reduced"] = price.bytes_reduced;
    return result;
}

nb::dict kolmakov_zhang(int ranks, double bytes, double alpha, double beta, double gamma) {
    const equations::Network network{alpha, beta, gamma};
    std::vector<double> proposed, exact;
    for (int removed = 0; removed <= equations::log2_ceil(ranks); ++removed) {
        proposed.push_back(equations::proposed(network, ranks, bytes, removed));
        exact.push_back(equations::exact(network, ranks, bytes, removed));
    }
    nb::dict result;
    result["recursive_doubling"] = equations::recursive_doubling(network, ranks, bytes);
    result["recursive_halving"] = equations::recursive_halving(network, ranks, bytes);
    result["ring"] = equations::ring(network, ranks, bytes);
    result["proposed"] = proposed;
    result["exact"] = exact;
    return result;
}

nb::dict kolmakov_zhang_counts(int ranks, int removed) {
    const equations::Counts counts = equations::counts(ranks, removed);
    nb::dict result;
    result["steps"] = counts.steps;
    result["sent"] = counts.sent;
    result["reduced"] = counts.reduced;
    result["results"] = counts.results;
    return result;
}

namespace salar = equations::salar;

nb::dict salar_times(int nodes, int ranks_per_node, double bytes, int network_chunks, int chunks,
                     double gap, double gap_inside, double compute, double per_iteration) {
    const salar::Costs costs{gap, gap_inside, compute, per_iteration};
    const salar::Job job{nodes, ranks_per_node, bytes, network_chunks, chunks};
    nb::dict result;
    result["inter"] = salar::inter(costs, job);
    result["intra"] = salar::intra(costs, job);
    result["distribution"] = salar::distribution(costs, job);
    result["total"] = salar::total(costs, job);
    result["simplified"] = salar::simplified(costs, bytes);
    result["filling"] = salar::filling(costs, job);
    result["pipelined"] = salar::pipelined(costs, job);
    result["network_bound"] = salar::bandwidth_bound(nodes, gap, bytes);
    result["node_bound"] = salar::bandwidth_bound(ranks_per_node, gap_inside, bytes);
    return result;
}

nb::dict salar_chunks(int nodes, int ranks_per_node, double bytes, int network_chunks, int most,
                      double gap, double gap_inside, double compute, double per_iteration) {
    const salar::Costs costs{gap, gap_inside, compute, per_iteration};
    const salar::Job job{nodes, ranks_per_node, bytes, network_chunks};
    nb::dict result;
    result["best"] = salar::best_chunks(costs, job, most);
    result["free"] = salar::free_chunks(costs, job, most);
    return result;
}

} // namespace

void bind_pricing(nb::module_ &module) {
    module.def("price", &price, "schedule"_a, "count"_a, "element"_a, "slice"_a.none(), "latency"_a,
               "overhead"_a, "byte"_a, "reduce"_a, "host_of"_a = std::vector<int>(),
               "inside"_a = nb::none(), "reads"_a = false, "work"_a = cost::Limits().work);
    module.def("kolmakov_zhang", &kolmakov_zhang, "ranks"_a, "bytes"_a, "alpha"_a, "beta"_a,
               "gamma"_a);
    module.def("kolmakov_zhang_counts", &kolmakov_zhang_counts, "ranks"_a, "removed"_a);
    const salar::Costs costs;
    module.def("salar", &salar_times, "nodes"_a, "ranks_per_node"_a, "bytes"_a,
               "network_chunks"_a = 1, "chunks"_a = 1, "gap"_a = costs.gap,
               "gap_inside"_a = costs.gap_inside, "compute"_a = costs.compute,
               "per_iteration"_a = costs.per_iteration);
    module.def("salar_chunks", &salar_chunks, "nodes"_a, "ranks_per_node"_a, "bytes"_a,
               "network_chunks"_a = 1, "most"_a = 65536, "gap"_a = costs.gap,
               "gap_inside"_a = costs.gap_inside, "compute"_a = costs.compute,
               "per_iteration"_a = costs.per_iteration);
}

} // namespace stretto::python
