// SPDX-License-Identifier: BSD-3-Clause
#include "select/forced.hpp"

#include <algorithm>

#include "algorithms/algorithm.hpp"
#include "base/settings.hpp"
#include "base/spelling.hpp"
#include "base/status.hpp"

namespace stretto::select {

using algorithms::Algorithm;
using schedule::Collective;

namespace {

constexpr std::string_view kFile = "file:";

[[noreturn]] void refuse(const std::string &what) {
    throw Error(Status::argument, what);
}

// Where `wanted` is first outside of parentheses; npos if nowhere.
std::size_t find_outside(std::string_view text, char wanted) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == wanted && depth == 0)
            return i;
        depth += text[i] == '(' ? 1 : text[i] == ')' && depth > 0 ? -1 : 0;
    }
    return std::string_view::npos;
}

// Where a rule ends: at a comma, but in parentheses; those of a path are nothing special.
std::size_t end_of_rule(std::string_view text) {
    const std::size_t comma = find_outside(text, ','), equals = find_outside(text, '=');
    const bool named = !trimmed(text).starts_with(kFile) && equals < comma;
    const std::string_view algorithm = trimmed(named ? text.substr(equals + 1) : text);
    return algorithm.starts_with(kFile) ? text.find(',') : comma;
}

// Whatever is refused while a rule is looked at is refused with the rule.
template<class Body>
void within(std::string_view rule, Body &&body) {
    try {
        body();
    } catch (const Error &error) {
        throw Error(error.status(), "forced algorithm '" + shown(rule) + "': " + error.what());
    }
}

// The algorithms that a rule names: one, or one of each collective that has it.
template<class Visit>
void each_named(const ForcedRule &rule, Visit &&visit) {
    for (const Algorithm &algorithm : algorithms::all())
        if (rule.matches(algorithm.collective, rule.low) &&
            algorithms::names(rule.algorithm, algorithm))
            visit(algorithm);
}

Collective collective_of(std::string_view text) {
    const auto collective = schedule::collective_named(text);
    if (collective && *collective != Collective::custom)
        return *collective;
    std::string names;
    for (auto each = Collective{}; each != Collective::custom;
         each = static_cast<Collective>(static_cast<int>(each) + 1))
        names.append(names.empty() ? "" : ", ").append(schedule::name(each));
    refuse("there is no collective '" + shown(text) + "'; there are: " + names);
}

std::uint64_t size_of(std::string_view text, std::uint64_t open) {
    if (text.empty())
        return open;
    if (const auto bytes = bytes_in(text))
        return *bytes;
    refuse("'" + shown(text) + "' is no size; bytes are written as 65536, 64K or 2M");
}

void read_sizes(std::string_view text, ForcedRule &rule) {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos || trimmed(text) == "-")
        refuse("'" + shown(text) + "' are no sizes; they are written as 4K-64K, 4K- or -64K");
    if (rule.collective == Collective::barrier)
        refuse("a barrier has no size; write barrier=ALGORITHM");
    rule.low = size_of(trimmed(text.substr(0, dash)), rule.low);
    rule.high = size_of(trimmed(text.substr(dash + 1)), rule.high);
    if (rule.low > rule.high)
        refuse(written_bytes(rule.low) + " is more than " + written_bytes(rule.high) +
               "; the lower bound comes first");
}

// That it exists, with these parameters.
void check_algorithm(const ForcedRule &rule) {
    if (rule.automatic())
        return;
    if (rule.of_file()) {
        if (rule.algorithm.size() == kFile.size())
            refuse("it names no file; write file:PATH, where the path has no comma");
        return;
    }
    if (rule.collective) {
        (void)algorithms::parse(*rule.collective, rule.algorithm);
        return;
    }
    if (rule.algorithm.empty())
        refuse("it names no algorithm; rules are separated by one comma each");
    if (schedule::collective_named(rule.algorithm))
        refuse("that is a collective; write " + rule.algorithm + "=ALGORITHM");
    bool known = false;
    each_named(rule, [&](const Algorithm &) { known = true; });
    if (known)
        return;
    // Throws, listing what there is: parameters of the name, or names.
    const std::string_view name = trimmed(algorithms::name_in(rule.algorithm));
    for (const Algorithm &each : algorithms::all())
        if (each.name == name)
            (void)algorithms::parse(each.collective, rule.algorithm);
    algorithms::find(Collective::allreduce, name);
}

ForcedRule parse_rule(std::string_view text) {
    ForcedRule rule;
    const std::size_t equals = find_outside(text, '=');
    if (equals != std::string_view::npos && !text.starts_with(kFile)) {
        const std::string_view calls = trimmed(text.substr(0, equals));
        const std::size_t colon = calls.find(':');
        rule.collective = collective_of(trimmed(calls.substr(0, colon)));
        if (colon != std::string_view::npos)
            read_sizes(trimmed(calls.substr(colon + 1)), rule);
        text = text.substr(equals + 1);
    }
    rule.algorithm = trimmed(text);
    check_algorithm(rule);
    return rule;
}

} // namespace

bool ForcedRule::matches(Collective of, std::uint64_t bytes) const {
    if (collective)
        return *collective == of && bytes >= low && bytes <= high;
    if (automatic())
        return true;
    const auto named = [&](const Algorithm &each) {
        return each.collective == of && algorithms::names(algorithm, each);
    };
    return std::any_of(algorithms::all().begin(), algorithms::all().end(), named);
}

bool ForcedRule::operator==(const ForcedRule &other) const {
    const auto content = [](const ForcedRule &rule) {
        return rule.imported == nullptr ? 0 : rule.imported->hash;
    };
    return collective == other.collective && low == other.low && high == other.high &&
           algorithm == other.algorithm && content(*this) == content(other);
}

std::string to_text(const ForcedRule &rule) {
    if (!rule.collective)
        return rule.algorithm;
    std::string text(schedule::name(*rule.collective));
    if (rule.low != 0 || rule.high != UINT64_MAX) {
        text.append(":").append(rule.low == 0 ? "" : written_bytes(rule.low)).append("-");
        text.append(rule.high == UINT64_MAX ? "" : written_bytes(rule.high));
    }
    return text + "=" + rule.algorithm;
}

std::vector<ForcedRule> parse_forced(std::string_view text) {
    std::vector<ForcedRule> rules;
    if (trimmed(text).empty() || trimmed(text) == "auto")
        return rules;
    for (bool last = false; !last;) {
        const std::size_t comma = end_of_rule(text);
        const std::string_view one = trimmed(text.substr(0, comma));
        within(one, [&] { rules.push_back(parse_rule(one)); });
        last = comma == std::string_view::npos;
        text.remove_prefix(last ? text.size() : comma + 1);
    }
    return rules;
}

void import_files(std::span<ForcedRule> rules, int ranks) {
    for (ForcedRule &rule : rules) {
        if (!rule.of_file())
            continue;
        const auto same = std::find_if(rules.begin(), rules.end(), [&](const ForcedRule &each) {
            return each.imported != nullptr && each.algorithm == rule.algorithm;
        });
        rule.imported = same != rules.end()
                            ? same->imported
                            : import_schedule(rule.algorithm.substr(kFile.size()), ranks);
        const Collective of = rule.imported->schedule.contract.collective();
        if (rule.collective.value_or(of) != of)
            within(to_text(rule), [&] {
                refuse("the file has a schedule of " + std::string(schedule::name(of)) +
                       "; write " + std::string(schedule::name(of)) + "=" + rule.algorithm);
            });
        rule.collective = of;
    }
}

void require(std::span<const ForcedRule> rules, int ranks) {
    for (const ForcedRule &rule : rules)
        within(to_text(rule), [&] {
            each_named(rule, [&](const Algorithm &algorithm) {
                Situation here;
                here.collective = algorithm.collective;
                here.ranks = ranks;
                require(algorithms::parse(algorithm.collective, rule.algorithm), here);
            });
        });
}

std::vector<ForcedRule> rules_that_run(const std::vector<ForcedRule> &rules, int ranks,
                                       std::string &obstacle) {
    std::vector<ForcedRule> made;
    // Adds the rule, or the library's choice for the same calls.
    const auto add = [&](ForcedRule rule) {
        try {
            import_files({&rule, 1}, ranks);
            require(std::span<const ForcedRule>{&rule, 1}, ranks);
        } catch (const Error &error) {
            if (error.status() != Status::unsupported)
                throw;
            if (obstacle.empty())
                obstacle = error.what();
            if (!rule.collective) // of a file that was not read: it matches no call
                return;
            rule.algorithm = "auto";
        }
        made.push_back(std::move(rule));
    };
    for (const ForcedRule &rule : rules) {
        if (rule.collective || rule.automatic() || rule.of_file()) {
            add(rule);
            continue;
        }
        each_named(rule, [&](const Algorithm &algorithm) { // one of them may run alone
            ForcedRule one = rule;
            one.collective = algorithm.collective;
            add(std::move(one));
        });
    }
    return made;
}

void require(const ForcedRule &rule, const Situation &situation, schedule::Position root,
             std::size_t count) {
    if (rule.imported != nullptr) // and as it is, for ranks that may not agree
        return require(*rule.imported, situation, root, count);
    within(to_text(rule),
           [&] { require(algorithms::parse(situation.collective, rule.algorithm), situation); });
}

const ForcedRule *rule_for(std::span<const ForcedRule> rules, const Situation &situation) {
    for (const ForcedRule &rule : rules)
        if (rule.matches(situation.collective, situation.bytes))
            return rule.automatic() ? nullptr : &rule;
    return nullptr;
}

} // namespace stretto::select
