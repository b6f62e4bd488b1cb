// SPDX-License-Identifier: BSD-3-Clause
// The rules on which the protocol's promises rest.
#pragma once

#include <compare>

namespace stretto::membership {

// All of them hold, except in the model check: it switches off one at a time, to test that it finds
// the promise that breaks.
struct Rules {
    bool lowest_breaks_ties = true; // of two halves of the members, the one with the lowest rank
                                    // is a quorum; without this rule each half is
    bool keeps_promises = true;     // a member that has promised a ballot votes in no lower one
    bool carries_votes = true;      // a view that a lower ballot may have decided is proposed again
    bool awaits_all = true;         // all members of a view have contributed to it
    bool fences = true;             // messages of another epoch are not taken for this epoch's
    bool forwards = true;       // a member sends a revocation or view that it receives to all ...
    bool forwards_first = true; // ... before it reports a revocation to its caller
    bool ends_calls = true;     // no call completes in a revoked epoch
    bool decides_once = true;   // a decided value does not change
    bool gives_up = true;       // a member that cannot reach a quorum ends with "no majority"
    friend auto operator<=>(const Rules &, const Rules &) = default;
};

} // namespace stretto::membership
