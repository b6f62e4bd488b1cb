// SPDX-License-Identifier: BSD-3-Clause
// Options of calls beside their arguments: forced algorithms, reproducible results.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reduce/kernels.hpp"
#include "select/forced.hpp"
#include "select/select.hpp"

namespace stretto::calls {

struct CallPolicy {
    std::vector<select::ForcedRule> forced; // none: the library chooses
    std::string forced_by;                  // in words
    select::Reproducible reproducible = select::Reproducible::off;
    bool operator==(const CallPolicy &) const = default;

    // If the bits of a result must not depend on how operands are grouped, the sum of each pair is
    // rounded.
    reduce::Rounding rounding() const {
        return reproducible == select::Reproducible::full ? reduce::Rounding::each
                                                          : reduce::Rounding::once;
    }
};

// The policies of a communicator.  Each policy that was ever in force has a number, which is a part
// of the key of a call: so if a caller returns to an earlier policy, its calls find their entries.
class CallPolicies {
public:
    // `name`: this rank, as messages name it.
    CallPolicies(int ranks, int rank, std::string name)
        : ranks_(ranks), rank_(rank), name_(std::move(name)) {}

    const CallPolicy &now() const { return all_[now_]; }
    std::size_t number() const { return now_; }

    // Forces algorithms by rules (select/forced.hpp); empty or "auto": the library chooses.  `by`
    // names the source of the rules in errors, for instance "STRETTO_ALGORITHM".  Schedules that
    // the rules name are read and proved now.  Throws Error(argument) for an algorithm that does
    // not exist, Error(unsupported) for one that cannot run here; with `where_possible` the library
    // chooses in the latter case.
    void force(std::string_view rules, std::string by, bool where_possible = false);
    // How far results are reproducible, from the next call on; the same on all ranks.
    void set_reproducible(select::Reproducible mode);
    // Takes over the policy in force of `other`; its forced algorithms only if `algorithm`.
    void inherit(const CallPolicies &other, bool algorithm);

private:
    void set(CallPolicy policy);

    const int ranks_, rank_;
    const std::string name_;
    std::vector<CallPolicy> all_{{}};
    std::size_t now_ = 0;
};

} // namespace stretto::calls
