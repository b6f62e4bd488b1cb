// SPDX-License-Identifier: BSD-3-Clause
// The rules on which the protocol's promises rest.
#pragma once

#include <compare>

namespace stretto::membership {

// All of them hold, except in the model check: it breaks one at a time to see that it finds out
// what goes wrong then.
struct Rules {
    bool lowest_breaks_ties = true; // else any half of the members is a quorum
    bool keeps_promises = true;     // who has promised a ballot accepts nothing of a lower one
    bool carries_votes = true;  // what may have been decided in a lower ballot is proposed again
    bool awaits_all = true;     // a view's members have all contributed to it
    bool fences = true;         // messages of another epoch are not taken for this one's
    bool forwards = true;       // who learns that an epoch ends tells all others ...
    bool forwards_first = true; // ... and only then its caller
    bool ends_calls = true;     // no call completes in a revoked epoch
    bool decides_once = true;   // what is decided stays as it is
    bool gives_up = true;       // who cannot reach a quorum says so
    friend auto operator<=>(const Rules &, const Rules &) = default;
};

} // namespace stretto::membership
