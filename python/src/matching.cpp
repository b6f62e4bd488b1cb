// SPDX-License-Identifier: BSD-3-Clause
// `stretto bench matching`: sequences of receives and messages, and what matchers do with them.
#include <memory>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>

#include "bindings.hpp"
#include "matching/patterns.hpp"
#include "matching/player.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace stretto::python {

namespace {

using matching::Player;
using matching::Sequence;

std::optional<p2p::Scheme> scheme_named(const std::optional<std::string> &name) {
    if (!name)
        return std::nullopt;
    for (const p2p::Scheme scheme : p2p::kSchemes)
        if (p2p::name(scheme) == *name)
            return scheme;
    throw Error(Status::argument, "there is no matching scheme '" + *name + "'");
}

// A sequence, and memory for its receives and messages.
class MatchingBench {
public:
    MatchingBench(const std::string &pattern, int peers, int depth, std::size_t matches,
                  unsigned seed)
        : ranks_(peers + 1) {
        const nb::gil_scoped_release released;
        sequence_ = matching::make_sequence(pattern, {peers, depth, matches, seed});
        player_ = std::make_unique<Player>(sequence_);
    }

    const Sequence &sequence() const { return sequence_; }

    nb::dict check(const std::optional<std::string> &scheme, std::size_t chains,
                   std::uint32_t calls, std::uint32_t attempts) {
        const auto matcher = make(scheme, chains, calls, attempts);
        matching::Checked checked;
        {
            const nb::gil_scoped_release released;
            checked = player_->check(*matcher);
        }
        nb::dict result;
        result["wrong"] = checked.wrong;
        result["bytes"] = checked.bytes;
        result["searches"] = checked.effort.searches;
        result["looks"] = checked.effort.looks;
        result["conversions"] = checked.effort.conversions;
        result["posted_scheme"] = std::string(p2p::name(checked.posted));
        result["unexpected_scheme"] = std::string(p2p::name(checked.unexpected));
        return result;
    }

    // (nanoseconds of each part, wrong operations)
    nb::tuple time(const std::optional<std::string> &scheme, std::size_t chains,
                   std::uint32_t calls, std::uint32_t attempts) {
        const auto matcher = make(scheme, chains, calls, attempts);
        matching::Timed timed;
        {
            const nb::gil_scoped_release released;
            timed = player_->time(*matcher);
        }
        return nb::make_tuple(timed.ns, timed.wrong);
    }

    // (median, 99th percentile of the nanoseconds of an operation that matches, wrong ones)
    nb::tuple time_each(const std::optional<std::string> &scheme, std::size_t chains,
                        std::uint32_t calls, std::uint32_t attempts) {
        const auto matcher = make(scheme, chains, calls, attempts);
        matching::Tail tail;
        {
            const nb::gil_scoped_release released;
            tail = player_->time_each(*matcher);
        }
        return nb::make_tuple(tail.p50_ns, tail.p99_ns, tail.wrong);
    }

private:
    std::unique_ptr<p2p::Matcher> make(const std::optional<std::string> &scheme, std::size_t chains,
                                       std::uint32_t calls, std::uint32_t attempts) const {
        return p2p::make_matcher({.fixed = scheme_named(scheme),
                                  .bins = chains,
                                  .ranks = ranks_,
                                  .calls = calls,
                                  .attempts = attempts});
    }

    const int ranks_;
    Sequence sequence_;
    std::unique_ptr<Player> player_;
};

nb::dict pattern_meanings() {
    nb::dict meanings;
    for (const matching::Pattern &each : matching::patterns())
        meanings[std::string(each.name).c_str()] = std::string(each.meaning);
    return meanings;
}

template<auto Member>
std::size_t get(const MatchingBench &bench) {
    return bench.sequence().*Member;
}

} // namespace

void bind_matching(nb::module_ &module) {
    module.def("matching_patterns", &pattern_meanings);
    const p2p::MatchingOptions usual;
    nb::class_<MatchingBench>(module, "MatchingBench")
        .def(nb::init<const std::string &, int, int, std::size_t, unsigned>(), "pattern"_a,
             "peers"_a, "depth"_a, "matches"_a, "seed"_a = 1)
        .def_prop_ro("operations",
                     [](const MatchingBench &bench) { return bench.sequence().operations.size(); })
        .def_prop_ro("rounds", &get<&Sequence::rounds>)
        .def_prop_ro("matches", &get<&Sequence::matches>)
        .def_prop_ro("most_posted", &get<&Sequence::most_posted>)
        .def_prop_ro("most_unexpected", &get<&Sequence::most_unexpected>)
        .def("check", &MatchingBench::check, "scheme"_a = nb::none(), "chains"_a = 0,
             "calls"_a = usual.calls, "attempts"_a = usual.attempts)
        .def("time", &MatchingBench::time, "scheme"_a = nb::none(), "chains"_a = 0,
             "calls"_a = usual.calls, "attempts"_a = usual.attempts)
        .def("time_each", &MatchingBench::time_each, "scheme"_a = nb::none(), "chains"_a = 0,
             "calls"_a = usual.calls, "attempts"_a = usual.attempts);
}

} // namespace stretto::python
