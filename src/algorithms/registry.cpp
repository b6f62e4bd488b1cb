// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include "algorithms/catalog.hpp"
#include "base/lazy.hpp"
#include "base/spelling.hpp"
#include "base/status.hpp"

namespace stretto::algorithms {

namespace {

std::vector<Algorithm> catalog() {
    return {
        allreduce::one_shot(),
        allreduce::one_shot_canonical(),
        allreduce::direct(),
        allreduce::direct_canonical(),
        allreduce::linear(),
        allreduce::binomial(),
        allreduce::chain(),
        allreduce::recursive_doubling(),
        allreduce::ring(),
        allreduce::segmented_ring(),
        allreduce::rabenseifner(),
        allreduce::rabenseifner_32(),
        allreduce::hybrid(),
        allreduce::generalized(),
        allreduce::circulant(),
        allreduce::bruck(),
        allreduce::dissemination(),
        allreduce::pre_reduced_ring(),
        allreduce::late_rooted(),
        allreduce::stragglar(),
        allreduce::early_direct(),
        allreduce::late_last(),
        allreduce::hierarchical(),
        allreduce::salar(),
        reduce::linear(),
        reduce::binomial(),
        reduce::generalized(),
        reduce::chain(),
        reduce::direct(),
        reduce::direct_canonical(),
        reduce::hierarchical(),
        broadcast::linear(),
        broadcast::binomial(),
        broadcast::generalized(),
        broadcast::chain(),
        broadcast::scatter_allgather(),
        broadcast::hierarchical(),
        reduce_scatter::direct(),
        reduce_scatter::direct_canonical(),
        reduce_scatter::recursive_halving(),
        reduce_scatter::ring(),
        reduce_scatter::circulant(),
        reduce_scatter::generalized(),
        reduce_scatter::bruck(),
        reduce_scatter::hierarchical(),
        allgather::direct(),
        allgather::circulant(),
        allgather::generalized(),
        allgather::bruck(),
        allgather::ring(),
        allgather::late_last(),
        allgather::hierarchical(),
        gather::linear(),
        gather::binomial(),
        scatter::linear(),
        scatter::binomial(),
        alltoall::direct(),
        alltoall::pairwise(),
        alltoall::bruck(),
        barrier::one_shot(),
        barrier::linear(),
        barrier::binomial(),
        barrier::recursive_doubling(),
        barrier::dissemination(),
    };
}

[[noreturn]] void refuse(Status status, const std::string &what) {
    throw Error(status, what);
}

// "a, b, c"
template<class Range, class Name>
std::string listed(const Range &range, Name &&name) {
    std::string text;
    for (const auto &item : range)
        if (const std::string next(name(item)); !next.empty())
            text += (text.empty() ? "" : ", ") + next;
    return text;
}

std::string title(const Algorithm &algorithm) {
    return std::string(schedule::name(algorithm.collective)) + " algorithm " +
           std::string(algorithm.name);
}

const Parameter &declared(const Algorithm &algorithm, std::string_view name) {
    for (const Parameter &parameter : algorithm.parameters)
        if (parameter.name == name)
            return parameter;
    refuse(Status::argument,
           title(algorithm) + " has no parameter \"" + std::string(name) + "\"; " +
               (algorithm.parameters.empty()
                    ? "it has none"
                    : "it has: " +
                          listed(algorithm.parameters, [](const Parameter &p) { return p.name; })));
}

// "4", "2x3" for a list, or a name; nothing if the text is none of these.
Value numbers(const Parameter &parameter, std::string_view text) {
    if (!parameter.names.empty()) {
        const auto name = std::ranges::find(parameter.names, text);
        return name == parameter.names.end() ? Value{} : Value{name - parameter.names.begin()};
    }
    Value found;
    for (const char *at = text.data(), *all = at + text.size();; ++at) {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(at, all, value);
        if (error != std::errc() || value < parameter.least || value > parameter.most)
            return {};
        found.push_back(value);
        if (end == all)
            return found;
        if (!parameter.list || *end != 'x')
            return {};
        at = end;
    }
}

// "segments=4"
std::pair<std::string, Value> assignment(const Algorithm &algorithm, std::string_view text) {
    const std::size_t equals = text.find('=');
    const Parameter &parameter = declared(algorithm, trimmed(text.substr(0, equals)));
    Value value = numbers(parameter,
                          equals == std::string_view::npos ? "" : trimmed(text.substr(equals + 1)));
    const auto values = [&]() -> std::string {
        if (!parameter.names.empty())
            return " is one of " + listed(parameter.names, [](auto name) { return name; });
        return (parameter.list ? " is 2x3 or the like, of numbers from " : " is a number from ") +
               std::to_string(parameter.least) + " to " + std::to_string(parameter.most);
    };
    if (value.empty())
        refuse(Status::argument, title(algorithm) + ": \"" + std::string(text) + "\"; " +
                                     std::string(parameter.name) + values());
    return {std::string(parameter.name), std::move(value)};
}

constinit Lazy<std::vector<Algorithm>> algorithms;

} // namespace

std::span<const Algorithm> all() {
    return algorithms.get(catalog);
}

const Algorithm &find(Collective collective, std::string_view name) {
    for (const Algorithm &algorithm : all())
        if (algorithm.collective == collective && algorithm.name == name)
            return algorithm;
    refuse(Status::argument,
           "no " + std::string(schedule::name(collective)) + " algorithm \"" + std::string(name) +
               "\"; there are: " + listed(all(), [&](const Algorithm &algorithm) {
                   return algorithm.collective == collective ? algorithm.name : "";
               }));
}

Choice parse(Collective collective, std::string_view text) {
    const std::string_view whole = trimmed(text);
    const std::size_t open = whole.find('(');
    Choice choice;
    choice.algorithm = &find(collective, trimmed(whole.substr(0, open)));
    if (open == std::string_view::npos)
        return choice;
    if (whole.back() != ')')
        refuse(Status::argument, title(*choice.algorithm) + ": \"" + std::string(whole) +
                                     "\" lacks its closing parenthesis");
    std::string_view rest = trimmed(whole.substr(open + 1, whole.size() - open - 2));
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        auto [name, value] = assignment(*choice.algorithm, trimmed(rest.substr(0, comma)));
        if (!choice.parameters.emplace(name, std::move(value)).second)
            refuse(Status::argument, title(*choice.algorithm) + ": " + name + " is given twice");
        rest = comma == std::string_view::npos ? "" : trimmed(rest.substr(comma + 1));
    }
    return choice;
}

bool names(std::string_view text, const Algorithm &algorithm) {
    if (trimmed(name_in(text)) != algorithm.name)
        return false;
    try {
        (void)parse(algorithm.collective, text);
        return true;
    } catch (const Error &) {
        return false;
    }
}

std::string shown(const Value &value) {
    std::string text;
    for (const std::int64_t number : value)
        text += (text.empty() ? "" : "x") + std::to_string(number);
    return text;
}

std::string to_text(const Choice &choice) {
    std::string text(choice.algorithm->name);
    if (choice.parameters.empty())
        return text;
    const auto given = [&](const auto &one) {
        const Parameter &parameter = declared(*choice.algorithm, one.first);
        return one.first + "=" +
               (parameter.names.empty()
                    ? shown(one.second)
                    : std::string(parameter.names[static_cast<std::size_t>(one.second.front())]));
    };
    return text.append("(").append(listed(choice.parameters, given)).append(")");
}

Problem problem_of(const Choice &choice, Position ranks, Position root,
                   std::vector<std::uint64_t> shares, Topology topology) {
    Problem problem{ranks, schedule::rooted(choice.algorithm->collective) ? root : 0,
                    choice.parameters, std::move(shares), std::move(topology)};
    for (const Parameter &parameter : choice.algorithm->parameters)
        problem.parameters.try_emplace(
            std::string(parameter.name),
            parameter.list ? Value{}
                           : Value{std::min(parameter.fallback, parameter.most_for(ranks))});
    return problem;
}

std::string misfit(const Choice &choice, const Problem &problem) {
    const Algorithm &algorithm = *choice.algorithm;
    if (!algorithm.runs(problem.ranks))
        return "cannot run on " + std::to_string(problem.ranks) + " ranks";
    if (!problem.shares.empty() && !algorithm.unequal_shares)
        return "cannot run with unequal shares";
    for (const Parameter &parameter : algorithm.parameters) {
        const std::int64_t most = parameter.most_for(problem.ranks);
        const auto given = choice.parameters.find(std::string(parameter.name));
        if (!parameter.list && given != choice.parameters.end() && given->second.front() > most)
            return "cannot run with " + given->first + "=" + shown(given->second) + " on " +
                   std::to_string(problem.ranks) + " ranks, which have " +
                   std::to_string(parameter.least) + " to " + std::to_string(most);
    }
    if (algorithm.misfit != nullptr)
        if (const std::string why = algorithm.misfit(problem); !why.empty())
            return "cannot run with " + why;
    return "";
}

Schedule make(const Choice &choice, Position ranks, Position root,
              std::vector<std::uint64_t> shares, Topology topology) {
    const Algorithm &algorithm = *choice.algorithm;
    if (ranks < 1)
        refuse(Status::argument,
               title(algorithm) + ": " + std::to_string(ranks) + " ranks; at least 1 is needed");
    const Problem problem = problem_of(choice, ranks, root, std::move(shares), std::move(topology));
    if (problem.topology.known() && problem.topology.ranks() != ranks)
        refuse(Status::argument, title(algorithm) + ": hosts of " +
                                     std::to_string(problem.topology.ranks()) + " ranks for " +
                                     std::to_string(ranks));
    if (const std::string why = misfit(choice, problem); !why.empty())
        refuse(Status::unsupported, title(algorithm) + " " + why + "; choose another, or auto");
    if (!problem.shares.empty() && problem.shares.size() != static_cast<std::size_t>(ranks))
        refuse(Status::argument, title(algorithm) + ": " + std::to_string(problem.shares.size()) +
                                     " shares for " + std::to_string(ranks) + " ranks");
    Schedule made = algorithm.make(problem);
    made.name = to_text(choice);
    return made;
}

} // namespace stretto::algorithms
