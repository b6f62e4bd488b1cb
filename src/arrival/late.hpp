// SPDX-License-Identifier: BSD-3-Clause
// The choice for ranks that arrive at different times, when all ranks know when each is expected.
//
// A schedule for late ranks is made for positions that are sorted by arrival.  Its price is what
// the last calls would have taken with it, mispredicted ones among them: the mean over ranks of
// finish - arrival, by the model of cost/elapsed.hpp, corrected by what calls took
// (experience.hpp).  It is chosen if its price is clearly less than that of the synchronous choice,
// the algorithm for ranks that arrive together, and if it costs little when the estimate is wrong.
//
// If other ranks are late each time, a call may find them itself (detection.hpp).
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
    std::string algorithm = {};  // with parameters; empty: the synchronous choice
    std::vector<int> order = {}; // the rank at each position: sorted by arrival
    int latecomers = 0; // not 0: there is no order; so many ranks are late, and the call finds them
    double mean_elapsed = 0;        // seconds, over the recent calls
    double synchronous_elapsed = 0; // the same of the synchronous choice
    double margin = 0; // seconds: what had to be saved; a rank that is less late is on time
    std::string why = {};

    bool same_as(const Late &other) const {
        return algorithm == other.algorithm && order == other.order &&
               latecomers == other.latecomers;
    }
};

// The parts of the choice that a margin decides.
struct LateRule {
    double gain = 0.05;     // to be saved, of what the synchronous choice takes without late ranks
    double untried = 2;     // times as much, by an algorithm that has not run yet
    double doubt = 1.0 / 8; // how often estimates are wrong, to tell those that are close apart
    double risk = 1.3;      // most that a wrong estimate may cost, as a factor of mean elapsed
    double risk_of_few = 1.5; // on fewer than `few` ranks
    int few = 12;
    bool detection = true; // calls may find late ranks themselves
    double missed = 0;     // the share of earlier calls at which an unexpected rank arrived last
};

// Whether another rank arrived last, clearly, than was expected to.
bool missed(const cost::Arrivals &expected, const cost::Arrivals &came, double margin);

// Ranks sorted by arrival, those of equal arrival by their number.  Arrivals are rounded to whole
// margins, if there is one, so that arrivals which are nearly the same give the same order.
std::vector<int> sorted_by_arrival(const cost::Arrivals &arrivals, double margin = 0);
// The same, with the ranks of a host (`host_of`, by rank) together, behind the hosts whose last
// rank arrives earlier.
std::vector<int> hosts_by_arrival(const cost::Arrivals &arrivals, double margin,
                                  std::span<const int> host_of);
// The order in which ranks get the positions of an algorithm: sorted by arrival; in a chain by
// hosts, since a chain that comes to a host twice sends the vector there twice.  The root has the
// place that place_root() gives it.
std::vector<int> placed_by_arrival(const Situation &situation, std::string_view algorithm,
                                   const cost::Arrivals &arrivals, double margin);

// Whenever it arrives, the root of a broadcast has the first position, that of a reduce the last.
void place_root(const Situation &situation, std::vector<int> &order);

// Algorithms for late ranks, with parameters that suit these arrivals, this many bytes and this
// network.  `spread`: how far single arrivals are from the expected ones, in seconds.
std::vector<std::string> made_for(const Situation &situation, const cost::Arrivals &expected,
                                  double spread);

// `synchronous`: the choice for ranks that arrive together; `recent`: arrivals at the last calls,
// by rank, the latest last; `now`: the choice so far, which stays if nothing is clearly better. The
// result is the same on all ranks, as it depends only on what all know.
Late choose_late(const Situation &situation, const std::string &synchronous,
                 const cost::Arrivals &expected, std::span<const cost::Arrivals> recent,
                 const Late &now = {}, const Experience &experience = {},
                 const LateRule &rule = {});

// The same for an algorithm that the caller asked for: without parameters if these arrivals give it
// none, as others may.
Late forced_late(const Situation &situation, std::string_view algorithm,
                 const cost::Arrivals &expected, std::span<const cost::Arrivals> recent);

} // namespace stretto::arrival
