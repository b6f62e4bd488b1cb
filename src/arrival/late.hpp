// SPDX-License-Identifier: BSD-3-Clause
// The choice when ranks come at different times, and all know when each is expected.
//
// A schedule for arrivals is made for positions sorted by them.  It is worth what the calls before
// would have taken with it, mispredicted ones among them, by the model of price.hpp: the mean over
// ranks of finish - arrival, corrected by what calls took (experience.hpp).  It serves if that is
// clearly less than the balanced choice would have taken, and if it costs little where the estimate
// is wrong altogether.
//
// Where it is not always the same ranks that come late, those who do may get the last positions as
// soon as only they are missing (elected.hpp).
//
// Sources: Proficz 2018 (segmented linear tree, pre-reduced ring); late_rooted is this library's.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arrival/experience.hpp"
#include "cost/elapsed.hpp"
#include "select/select.hpp"

namespace stretto::arrival {

using cost::Arrivals, select::Situation;

struct Late {
    std::string algorithm = {};  // with parameters; empty: the balanced choice serves
    std::vector<int> order = {}; // the rank at each position: sorted by arrival
    int latecomers = 0; // not 0: there is no order, but so many ranks come last, whoever they are
    double mean_elapsed = 0;     // seconds, over the recent calls
    double balanced_elapsed = 0; // the same of the balanced choice
    double margin = 0;           // seconds: what was to be saved; who comes less late is on time
    std::string why = {};

    bool same_as(const Late &other) const {
        return algorithm == other.algorithm && order == other.order &&
               latecomers == other.latecomers;
    }
};

// The parts of the choice that a margin decides.
struct LateRule {
    double gain = 0.05;       // of what the balanced choice takes if all come at once: to be saved
    double untried = 2;       // times as much, by an algorithm that has not served yet
    double doubt = 1.0 / 16;  // how often estimates are wrong, to tell those that are close apart
    double risk = 1.3;        // most that a wrong estimate may cost, as a factor of mean elapsed
    double risk_of_few = 1.5; // on fewer than `few` ranks
    int few = 12;
    bool elections = true; // calls may wait until it shows who is late
    double missed = 0;     // the part of earlier calls to which others came last than was expected
};

// Whether another one came last, clearly, than was expected to.
bool missed(const cost::Arrivals &expected, const cost::Arrivals &came, double margin);

// Ranks sorted by arrival, those of equal arrival by their number.  Arrivals count in whole
// margins, if there is one: so that the order is the same for what is nearly the same.
std::vector<int> sorted_by_arrival(const cost::Arrivals &arrivals, double margin = 0);

// Whoever comes when, the root of a broadcast has the first position, that of a reduce the last.
void place_root(const Situation &situation, std::vector<int> &order);

// What is made for such arrivals, with parameters: for this many bytes over this network.  `spread`
// is how far single arrivals are from what is expected, in seconds.
std::vector<std::string> made_for(const Situation &situation, const cost::Arrivals &expected,
                                  double spread);

// `balanced` is the choice that serves if all come at once; `recent` are arrivals of the last
// calls, by rank, the latest last; `now` is what serves so far, which goes on if nothing is clearly
// better.  The same on all ranks, as it sees nothing but what all know.
Late choose_late(const Situation &situation, const std::string &balanced,
                 const cost::Arrivals &expected, std::span<const cost::Arrivals> recent,
                 const Late &now = {}, const Experience &experience = {},
                 const LateRule &rule = {});

// The same of an algorithm that was asked for: as it is if it makes nothing of these arrivals,
// which it may of others.
Late forced_late(const Situation &situation, std::string_view algorithm,
                 const cost::Arrivals &expected, std::span<const cost::Arrivals> recent);

} // namespace stretto::arrival
