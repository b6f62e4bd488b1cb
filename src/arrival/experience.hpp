// SPDX-License-Identifier: BSD-3-Clause
// What calls took, to which ranks came at different times, beside what their prices say.
//
// Nobody can finish before the last has come: that much is certain of any algorithm, and the same
// for all.  What lies beyond it, the mean over ranks of the time from the last arrival to a rank's
// finish, is what the model may be wrong about, and an algorithm that is wrongly priced is so from
// call to call.  So this part of a price is multiplied by measured / priced of the calls that the
// algorithm has served, and of those that have served none by the geometric mean of the others: a
// model that is wrong about all alike must not make what was never tried look better or worse.
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

// Measured / priced of one call, of what is no wait, within reason; nothing if that is no number.
std::optional<double> ratio_of(const cost::Arrivals &arrivals, double priced, double measured);

// The mean over ranks of what each waits until the last has come, in seconds.
double wait(const cost::Arrivals &arrivals);

// What is priced, of each case, with the part that is no wait multiplied by a factor.
std::vector<double> corrected(std::vector<double> priced, std::span<const cost::Arrivals> cases,
                              double factor);

// What an algorithm is known as where it serves when it shows who is late (elected.hpp).  Ranks
// have waited for that and begin all at once: what calls take then says nothing of those in which
// everybody knows beforehand.
std::string when_elected(std::string_view algorithm);

class Experience {
public:
    // Of calls that an algorithm has served: when ranks came, the mean elapsed time as priced and
    // as measured, in seconds.  Measured ones that are not numbers do not count.
    void learn(std::string_view algorithm, std::span<const cost::Arrivals> cases,
               std::span<const double> priced, std::span<const double> measured);

    // The same of one such measured / priced, of what is no wait.
    void learn(std::string_view algorithm, double ratio);

    // Algorithms go by their names without parameters.
    double factor(std::string_view algorithm) const;
    // Whether it has served.
    bool knows(std::string_view algorithm) const;

private:
    std::map<std::string, double, std::less<>> factors_;
};

} // namespace stretto::arrival
