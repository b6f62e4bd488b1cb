// SPDX-License-Identifier: BSD-3-Clause
// What holds for calls besides their arguments: forced algorithms, reproducible results.
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

    // Where bits must not depend on how operands are put together, each pair is rounded.
    reduce::Rounding rounding() const {
        return reproducible == select::Reproducible::full ? reduce::Rounding::each
                                                          : reduce::Rounding::once;
    }
};

// The policy of a communicator.  Each policy that was ever in force has a number, which is a part
// of the key of a call: so calls under an earlier policy find their entries again.
class CallPolicies {
public:
    // `name`: this rank, as messages name it.
    CallPolicies(int ranks, int rank, std::string name)
        : ranks_(ranks), rank_(rank), name_(std::move(name)) {}

    const CallPolicy &now() const { return all_[now_]; }
    std::size_t number() const { return now_; }

    // Rules as of select/forced.hpp; empty or "auto": the library chooses.  Throws Error(argument)
    // for what does not exist, Error(unsupported) for what cannot run here.  `by` is who wants it,
    // in words.  `where_possible`: the library chooses for those.  Files that they name are read,
    // and proved, now.
    void force(std::string_view rules, std::string by, bool where_possible = false);
    // How far results repeat, from the next call on; the same on all ranks.
    void set_reproducible(select::Reproducible mode);
    // What was set for `other` holds here as well: the algorithm only if asked for.
    void inherit(const CallPolicies &other, bool algorithm);

private:
    void set(CallPolicy policy);

    const int ranks_, rank_;
    const std::string name_;
    std::vector<CallPolicy> all_{{}};
    std::size_t now_ = 0;
};

} // namespace stretto::calls
