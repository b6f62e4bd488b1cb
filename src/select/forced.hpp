// SPDX-License-Identifier: BSD-3-Clause
// Forced algorithms: which algorithm runs which calls, by the rules of STRETTO_ALGORITHM.
//
//   RULE,RULE,...                the first that matches a call decides; commas in parentheses do
//                                not separate
//
//   ALGORITHM                    calls of every collective that has an algorithm of this name
//   COLLECTIVE=ALGORITHM         calls of this collective
//   COLLECTIVE:SIZES=ALGORITHM   calls of this collective whose whole vector has these sizes
//
// SIZES are LOW-HIGH, LOW- or -HIGH, both included, with the units of all settings.  ALGORITHM is a
// name, with parameters; or file:PATH, a schedule from a file, whose path has no comma; or auto:
// the library's choice, which also runs calls that no rule matches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/contract.hpp"
#include "select/imported.hpp"
#include "select/select.hpp"

namespace stretto::select {

struct ForcedRule {
    std::optional<schedule::Collective> collective; // nothing: all that have the algorithm
    std::uint64_t low = 0, high = UINT64_MAX;       // bytes of the whole vector
    std::string algorithm;                          // with parameters
    std::shared_ptr<const Imported> imported;       // the schedule of a file that has been read

    bool automatic() const { return algorithm == "auto"; }
    bool of_file() const { return algorithm.starts_with("file:"); }
    // If its file has not been read, a rule matches only calls of the collective that it names.
    bool matches(schedule::Collective of, std::uint64_t bytes) const;
    // Of a file: with the same content.
    bool operator==(const ForcedRule &other) const;
};

// As it would be written: "allreduce:4K-64K=segmented_ring(segments=4)".
std::string to_text(const ForcedRule &rule);

// "" and "auto" give no rules.  If a collective, an algorithm, a parameter or a size makes no
// sense, throws Error(argument) that names the rule and lists what exists.
std::vector<ForcedRule> parse_forced(std::string_view text);

// Reads the files of rules and proves their schedules.  Throws Error that names the file if its
// schedule can run no call of this number of ranks.
void import_files(std::span<ForcedRule> rules, int ranks);

// If the algorithm of a rule can run no call of this number of ranks, throws Error(unsupported)
// that lists the algorithms that can.
void require(std::span<const ForcedRule> rules, int ranks);

// The rules that can run on this number of ranks, with their files read.  For the others the
// library chooses; `obstacle` is the error of the first of these, or empty.  Throws for files that
// can run on no number of ranks.
std::vector<ForcedRule> rules_that_run(const std::vector<ForcedRule> &rules, int ranks,
                                       std::string &obstacle);

// For one call, and a rule that matches it and is not automatic: throws as select::require does.
// The root and the elements of the vector are for schedules of files.
void require(const ForcedRule &rule, const Situation &situation, schedule::Position root,
             std::size_t count);

// The rule that decides; null: the library chooses.
const ForcedRule *rule_for(std::span<const ForcedRule> rules, const Situation &situation);

} // namespace stretto::select
