// SPDX-License-Identifier: BSD-3-Clause
#include "select/measured_json.hpp"

#include <algorithm>

#include "algorithms/algorithm.hpp"
#include "base/numbering.hpp"
#include "base/status.hpp"
#include "select/profile_json.hpp"
#include "select/select.hpp"

namespace stretto::select {

namespace {

using Json = nlohmann::ordered_json; // keys in the order of the page
using schedule::Value;

constexpr std::uint64_t kMostVectorBytes = std::uint64_t{1} << 50; // of a vector
constexpr std::int32_t kMostRanks = 65536, kMostCalls = 1 << 30;

Json written(const Timing &timing) {
    return {{"bytes", timing.bytes}, {"algorithm", timing.algorithm}, {"seconds", timing.seconds},
            {"skew", timing.skew},   {"calls", timing.calls},         {"by", name(timing.by)}};
}

double number(const Value &value, const Bounds &bounds) {
    return value.number(bounds.least, bounds.most);
}

// One of the library, that runs on so many ranks.
std::string algorithm(const Value &value, const Measured &of) {
    algorithms::Choice choice;
    try {
        choice = algorithms::parse(of.collective, value.string());
    } catch (const Error &error) {
        value.fail(error.what());
    }
    Situation there;
    there.ranks = of.ranks;
    there.hosts = of.hosts;
    there.host_of = of.host_of;
    const std::string why = algorithms::misfit(choice, problem_of(choice, there));
    if (!why.empty())
        value.fail(value.string() + " " + why);
    return algorithms::to_text(choice); // as prices are called
}

Timing timing(const Value &value, const Measured &of) {
    value.object({"bytes", "algorithm", "seconds"}, {"skew", "calls", "by"});
    Timing read;
    const std::uint64_t bytes = value["bytes"].natural();
    if (bytes > kMostVectorBytes)
        value["bytes"].fail("expected at most 2^50");
    read.bytes = static_cast<std::size_t>(bytes);
    read.algorithm = algorithm(value["algorithm"], of);
    read.seconds = number(value["seconds"], kCalls);
    read.skew = value.has("skew") ? number(value["skew"], kSkews) : 0;
    if (value.has("calls"))
        read.calls = static_cast<std::uint32_t>(value["calls"].integer(0, kMostCalls));
    if (!value.has("by"))
        return read;
    const std::string by = value["by"].string();
    for (const auto each : {Timing::By::trial, Timing::By::tune})
        if (by == name(each)) {
            read.by = each;
            return read;
        }
    value["by"].fail("expected \"trial\" or \"tune\"");
}

Measured measured(const Value &value) {
    value.object({"collective", "ranks", "hosts", "times"}, {"host_of"});
    Measured read;
    const auto collective = schedule::collective_named(value["collective"].string());
    if (!collective || *collective == schedule::Collective::custom)
        value["collective"].fail("there is no such collective");
    read.collective = *collective;
    read.ranks = value["ranks"].integer(1, kMostRanks);
    read.hosts = value["hosts"].integer(1, read.ranks);
    const bool several = read.hosts > 1 && read.hosts < read.ranks;
    if (several != value.has("host_of"))
        value.fail(several ? "missing key \"host_of\", which says where hosts have several ranks"
                           : "\"host_of\" is only for several hosts of which some have several "
                             "ranks");
    if (several) {
        const Value host_of = value["host_of"];
        read.host_of = host_of.integers(0, read.hosts - 1);
        if (read.host_of.size() > kMostPlacedRanks)
            host_of.fail("more than " + std::to_string(kMostPlacedRanks) + " ranks");
        if (read.host_of.size() != static_cast<std::size_t>(read.ranks))
            host_of.fail("expected the host of each of " + std::to_string(read.ranks) + " ranks");
        if (read.host_of != numbered_in_order(read.host_of) ||
            1 + *std::ranges::max_element(read.host_of) != read.hosts)
            host_of.fail("expected " + std::to_string(read.hosts) +
                         " hosts, numbered in the order in which ranks have them");
    }
    const Value times = value["times"];
    const std::size_t length = times.array(kMostTimings);
    for (std::size_t i = 0; i < length; ++i) {
        Timing next = timing(times[i], read);
        if (std::ranges::any_of(read.times,
                                [&](const Timing &before) { return before.repeats(next); }))
            times[i].fail("stands twice");
        read.times.push_back(std::move(next));
    }
    return read;
}

} // namespace

std::string calls_to_json(const std::vector<Measured> &calls) {
    std::string text = "[";
    for (const Measured &each : calls) {
        text += text.size() == 1 ? "\n    {\n" : ",\n    {\n";
        text += "      \"collective\": " + Json(schedule::name(each.collective)).dump() +
                ", \"ranks\": " + std::to_string(each.ranks) +
                ", \"hosts\": " + std::to_string(each.hosts);
        if (!each.host_of.empty())
            text += ", \"host_of\": " + Json(each.host_of).dump();
        text += ",\n      \"times\": [";
        for (const Timing &timing : each.times)
            text.append(&timing == each.times.data() ? "\n        " : ",\n        ")
                .append(written(timing).dump());
        text += "\n      ]\n    }";
    }
    return text + "\n  ]";
}

std::string tuning_candidates_to_json(const Measured &call, std::size_t bytes,
                                      const std::vector<std::string> &algorithms) {
    Json json = {{"collective", schedule::name(call.collective)},
                 {"ranks", call.ranks},
                 {"hosts", call.hosts}};
    if (!call.host_of.empty())
        json["host_of"] = call.host_of;
    json["bytes"] = bytes;
    json["algorithms"] = algorithms;
    return json.dump();
}

std::vector<Measured> calls_from_json(const Value &value) {
    std::vector<Measured> calls;
    const std::size_t length = value.array(kMostMeasuredKinds);
    std::size_t timings = 0;
    for (std::size_t i = 0; i < length; ++i) {
        Measured next = measured(value[i]);
        timings += next.times.size();
        if (timings > kMostTimings)
            value.fail("more than " + std::to_string(kMostTimings) + " times");
        if (std::ranges::any_of(calls, [&](const Measured &before) { return before.alike(next); }))
            value[i].fail("stands twice: the same collective, ranks and hosts");
        calls.push_back(std::move(next));
    }
    return calls;
}

} // namespace stretto::select
