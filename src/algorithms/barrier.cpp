// SPDX-License-Identifier: BSD-3-Clause
// Barriers: no rank leaves before all ranks have entered.  An allreduce ensures that, as its result
// depends on all ranks.  So each barrier is an allreduce of one element that no caller reads: the
// same program under another contract, proved like any other.
//
//   linear               P steps, 2 (P - 1) messages
//   binomial             ceil(log2 P) + floor(log2 P) steps, 2 (P - 1) messages
//   recursive_doubling   floor(log2 P) steps, 2 more if P is not a power of two
//   dissemination        ceil(log2 P) steps, P ceil(log2 P) messages
//   one_shot             1 step, P (P - 1) messages; in shared memory one flag that all read
#include <utility>

#include "algorithms/catalog.hpp"

namespace stretto::algorithms {

template<Algorithm (*allreduce)()>
static Algorithm barrier_by(std::string_view summary) {
    Algorithm algorithm = allreduce();
    algorithm.collective = Collective::barrier;
    algorithm.summary = summary;
    algorithm.make = [](const Problem &problem) {
        Schedule made = allreduce().make(problem);
        made.contract = {Collective::barrier, made.ranks, made.blocks()};
        return made;
    };
    return algorithm;
}

Algorithm barrier::linear() {
    return barrier_by<allreduce::linear>("all ranks report to rank 0, which releases all");
}
Algorithm barrier::binomial() {
    return barrier_by<allreduce::binomial>("up a binomial tree and down again");
}
Algorithm barrier::recursive_doubling() {
    return barrier_by<allreduce::recursive_doubling>("members of a hypercube signal one another");
}
Algorithm barrier::dissemination() {
    return barrier_by<allreduce::dissemination>("hear of twice as many ranks with every step");
}
Algorithm barrier::one_shot() {
    return barrier_by<allreduce::one_shot>("each rank signals all others");
}

} // namespace stretto::algorithms
