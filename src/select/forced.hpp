// SPDX-License-Identifier: BSD-3-Clause
// What is forced: which algorithm runs which calls, by the rules of STRETTO_ALGORITHM.
//
//   RULE,RULE,...                the first that matches a call decides; commas in parentheses do
//                                not separate
//
//   ALGORITHM                    calls of every collective that has an algorithm of this name
//   COLLECTIVE=ALGORITHM         calls of this one
//   COLLECTIVE:SIZES=ALGORITHM   those whose whole vector has so many bytes
//
// SIZES are LOW-HIGH, LOW- or -HIGH, both included, with the units of all settings.  ALGORITHM is a
// name, with parameters; or file:PATH, a schedule of one's own, whose path has no comma; or auto:
// the library's choice, which also runs what no rule matches.
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
    std::shared_ptr<const Imported> imported;       // of a file, once it has been read

    bool automatic() const { return algorithm == "auto"; }
    bool of_file() const { return algorithm.starts_with("file:"); }
    // A rule of a file that has not been read matches no call, but where it says which.
    bool matches(schedule::Collective of, std::uint64_t bytes) const;
    // Of a file: with the same content.
    bool operator==(const ForcedRule &other) const;
};

// As it would be written: "allreduce:4K-64K=segmented_ring(segments=4)".
std::string to_text(const ForcedRule &rule);

// None of "" or "auto".  Throws Error(argument) that names the rule and lists what there is, if a
// collective, an algorithm, a parameter or a size makes no sense.
std::vector<ForcedRule> parse_forced(std::string_view text);

// Reads the files of rules and proves what they hold.  Throws Error that names the file if anything
// in it will not do on so many ranks, whatever is called.
void import_files(std::span<ForcedRule> rules, int ranks);

// Throws Error(unsupported) that lists those which can if what a rule names cannot run on so many
// ranks, whatever is called.
void require(std::span<const ForcedRule> rules, int ranks);

// The rules that can run on so many ranks, files read.  Where an algorithm cannot, the library
// chooses.  `obstacle` is what the first of these is refused with, or empty.  Throws for files that
// will not do on any number of ranks.
std::vector<ForcedRule> rules_that_run(const std::vector<ForcedRule> &rules, int ranks,
                                       std::string &obstacle);

// Throws as select::require does, for one call; of a rule that matches it and is not automatic.
// The root, and the elements of the vector, are for files.
void require(const ForcedRule &rule, const Situation &situation, schedule::Position root,
             std::size_t count);

// The rule that decides; null: the library chooses.
const ForcedRule *rule_for(std::span<const ForcedRule> rules, const Situation &situation);

} // namespace stretto::select
