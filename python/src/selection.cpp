// SPDX-License-Identifier: BSD-3-Clause
// The choice of an algorithm, explained.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "select/explain.hpp"
#include "select/forced.hpp"
#include "select/profile_json.hpp"

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
    entry["corrected_seconds"] = nb::none(); // by measured calls
    if (candidate.corrected)
        entry["corrected_seconds"] = *candidate.corrected;
    entry["measured"] = candidate.measured;
    entry["steps"] = costs.steps;
    entry["messages"] = costs.most.sends; // of the rank that has most; so is what follows
    entry["messages_total"] = costs.total.sends;
    entry["bytes_sent"] = costs.most.bytes_sent;
    entry["bytes_received"] = costs.most.bytes_received;
    entry["bytes_reduced"] = costs.most.bytes_reduced;
    return entry;
}

using Numbers = std::tuple<std::optional<double>, std::optional<double>, std::optional<double>,
                           std::optional<double>, std::optional<double>>;

// Of the file at this path, with other numbers where they are given.
select::Profile profile_of(const std::optional<std::string> &path, const Numbers &given) {
    select::Profile profile;
    if (path)
        profile = select::load_profile(*path);
    cost::Link &link = profile.between;
    bool any = false;
    const auto take = [&](const std::optional<double> &number, double &place) {
        place = number.value_or(place);
        any = any || number;
    };
    take(std::get<0>(given), link.latency);
    take(std::get<1>(given), link.overhead);
    take(std::get<2>(given), link.byte);
    take(std::get<3>(given), link.reduce);
    take(std::get<4>(given), profile.common);
    if (!path || any || !profile.of_links) {
        profile.source =
            !path ? "the network that was given" : profile.source + ", and what was given";
        profile.date = "today";
        profile.of_links = true;
    }
    return profile;
}

// So many hosts are shared evenly.
schedule::Topology topology_of(const std::variant<int, schedule::Topology> &placed, int ranks) {
    if (const int *hosts = std::get_if<int>(&placed))
        return schedule::Topology::parse(std::to_string(*hosts), ranks);
    return std::get<schedule::Topology>(placed);
}

nb::dict explain(const std::string &collective, int ranks, unsigned cores, std::size_t bytes,
                 std::size_t element, bool commutative, const std::string &reproducible, bool exact,
                 const std::variant<int, schedule::Topology> &placed, const Numbers &link,
                 const std::optional<std::string> &profile, const std::string &forced,
                 bool one_machine) {
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
    const schedule::Topology where = topology_of(placed, ranks);
    const int hosts = where.hosts();
    situation.hosts = hosts;
    situation.one_machine = one_machine;
    if (hosts > 1 || profile)
        situation.profile = profile_of(profile, link);
    situation.reproducible = select::reproducible_named(reproducible);
    if (profile && situation.reproducible != select::Reproducible::off)
        situation.profile = {}; // as the communicator does
    if (hosts > 1 && hosts < ranks)
        situation.host_of = where.host_of();
    select::Explanation all;
    std::vector<select::ForcedRule> rules;
    const select::ForcedRule *rule = nullptr;
    {
        const nb::gil_scoped_release released;
        rules = select::parse_forced(forced);
        select::import_files(rules, ranks);
        select::require(rules, ranks);
        rule = select::rule_for(rules, situation);
        all = select::explain(situation);
        if (rule != nullptr) {
            select::Situation asked = situation; // a forced algorithm need not give the same bits
            asked.consistent = false;
            select::require(*rule, asked, 0, all.count);
        }
    }
    nb::list candidates;
    for (const select::Candidate &candidate : all.candidates)
        candidates.append(describe(candidate));
    nb::dict result;
    result["chosen"] = all.choice.algorithm;
    result["why"] = all.choice.why;
    result["forced"] = nb::none(); // what serves in place of that, and the rule that says so
    if (rule != nullptr) {
        nb::dict served;
        served["algorithm"] = rule->algorithm;
        served["rule"] = select::to_text(*rule);
        result["forced"] = served;
    }
    result["profile"] = situation.profile.source;
    result["cheapest"] = all.cheapest;
    result["candidates"] = candidates;
    return result;
}

} // namespace

void bind_selection(nb::module_ &module) {
    module.def("explain", &explain, "collective"_a, "ranks"_a, "cores"_a, "bytes"_a, "element"_a,
               "commutative"_a, "reproducible"_a, "exact"_a, "hosts"_a, "link"_a,
               "profile"_a = nb::none(), "forced"_a = "", "one_machine"_a = false);
    module.def(
        "checked_profile",
        [](const std::string &text) {
            return select::to_json(select::profile_from_json(text), stretto_version());
        },
        "text"_a);
}

} // namespace stretto::python
