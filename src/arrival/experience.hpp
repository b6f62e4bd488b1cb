// SPDX-License-Identifier: BSD-3-Clause
// What calls took at which ranks arrived at different times, against their prices.
//
// No rank can finish before the last one has arrived: this part of a price is certain, and the same
// for all algorithms.  The rest, the mean over ranks of the time from the last arrival to a rank's
// finish, is where the model may be wrong, and it is wrong about an algorithm from call to call.
// So this part is multiplied by measured / priced of the calls that the algorithm has run.  For
// algorithms that have run none, it is multiplied by the geometric mean of the others: a model that
// is wrong about all of them alike must not make an untried one look better or worse.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/elapsed.hpp"

namespace stretto::arrival {

using cost::Arrivals;

// Measured / priced of one call, without the wait for the last rank, within reason; nothing if that
// is no number.
std::optional<double> ratio_of(const cost::Arrivals &arrivals, double priced, double measured);

// The mean over ranks of the time that each waits for the last one to arrive, in seconds.
double wait(const cost::Arrivals &arrivals);

// The price of each case, with the part beyond that wait multiplied by a factor.
std::vector<double> corrected(std::vector<double> priced, std::span<const cost::Arrivals> cases,
                              double factor);

// The name of an algorithm for calls that find the late rank themselves (detection.hpp).  Ranks
// wait for that and then begin all at once: what these calls take says nothing of calls whose late
// ranks are known beforehand.
std::string when_detected(std::string_view algorithm);

class Experience {
public:
    // Of calls that an algorithm has run: the arrivals, and the mean elapsed time as priced and as
    // measured, in seconds.  Measured ones that are not numbers do not count.
    void learn(std::string_view algorithm, std::span<const cost::Arrivals> cases,
               std::span<const double> priced, std::span<const double> measured);

    // The same, given such a ratio.
    void learn(std::string_view algorithm, double ratio);

    // Algorithms go by their names without parameters.
    double factor(std::string_view algorithm) const;
    // Whether it has run any call.
    bool knows(std::string_view algorithm) const;

private:
    std::map<std::string, double, std::less<>> factors_;
};

} // namespace stretto::arrival
