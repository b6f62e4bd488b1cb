// SPDX-License-Identifier: BSD-3-Clause
// The model of SALaR: M. Bayatpour et al., "SALaR: scalable and adaptive designs for large message
// reduction collectives", Cluster 2018, as the talk of Bayatpour and Panda prints it (slide
// "Modeling the Proposed SALaR Design").
//
//   n   nodes                               l    bytes of the vector
//   p   ranks of each node                  M    l / I, bytes of an iteration
//   I   intra-node chunks of the vector     K    inter-node chunks of an iteration
//   G   seconds per byte between nodes      G'   seconds per byte inside a node
//   C   seconds to reduce a byte            C'   seconds that each of the I iterations adds between
//                                                nodes
//
//   T(l) = I max{T_inter, T_intra}(l / I) + I T_bcast(l / I)
//        = l max{ (n - 1)/n max{G, C} + G/K + C/(n K) + C' I/l , p/(p - 1) (G' + C) } + G' l
//
//   n, p -> infinity, K = 1, C' = 0:    T(l) = max{ max{G, C} + G , G' + C } l + G' l
//
// The slide says neither the unit of G, G' and C nor what C' is.  Its numbers make sense in
// microseconds per byte: G is then 11.9 GB/s, an EDR link of 100 Gbit/s.  C' I is added to a time,
// so C' is a time for each iteration.  docs/papers/bayatpour-panda.md lists where the printed
// formula is inconsistent.
//
// All functions throw Error(argument) if n < 2, p < 2, K < 1, I < 1, I > l, or a cost is negative
// or not finite.
#pragma once

namespace stretto::equations::salar {

// The numbers of the slide "Validation of Allreduce model on 8 nodes on cluster A".
struct Costs {
    double gap = 8.41e-11;         // G
    double gap_inside = 3.077e-10; // G', printed as G_0 there
    double compute = 1.835e-10;    // C
    double per_iteration = 0;      // C', seconds; the slide has no number for it
};

struct Job {
    int nodes = 8;           // n
    int ranks_per_node = 28; // p
    double bytes = 0;        // l
    int network_chunks = 1;  // K
    int chunks = 1;          // I
};

// The terms of the formula, of all I iterations together; seconds.
double inter(const Costs &costs, const Job &job);        // the first of the max
double intra(const Costs &costs, const Job &job);        // the second of the max
double distribution(const Costs &costs, const Job &job); // I T_bcast = G' l

// The formula as printed; seconds.
double total(const Costs &costs, const Job &job);
// Its simplified form; seconds.
double simplified(const Costs &costs, double bytes);

// What the printed formula leaves out: while the first chunk is reduced inside the node nothing is
// on the network, and while the last chunk is on the network nothing is left to reduce.  So one
// T_inter and one T_intra of the I iterations overlap with nothing, which adds
// min{T_inter, T_intra}(l / I); seconds.
double filling(const Costs &costs, const Job &job);
// The printed formula and the filling: for I = 1 the sum of all terms.
double pipelined(const Costs &costs, const Job &job);

// An I from 1 to `most` for which pipelined() is least.  `job.chunks` does not count.
//
// With a = inter / l without C', b = intra / l: while I <= (b - a) l / C' the node is the slower
// side, and more chunks cost nothing and fill sooner.  Beyond, each chunk adds C' and takes b l / I
// off the filling, which is least at I = sqrt(b l / C').  So the best I is beside the larger of the
// two.
int best_chunks(const Costs &costs, const Job &job, int most);
// The largest I up to `most` for which total(), as printed, is no longer than for I = 1.  The
// printed formula never falls as I grows, so all I up to this one are equally good by it.
int free_chunks(const Costs &costs, const Job &job, int most);

// No allreduce is faster in which each of `parts` members of a network moves a byte in `gap`
// seconds: 2 (parts - 1)/parts gap l (Patarasuk and Yuan 2009); seconds.
double bandwidth_bound(int parts, double gap, double bytes);

} // namespace stretto::equations::salar
