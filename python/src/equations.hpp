// SPDX-License-Identifier: BSD-3-Clause
// The equations of D. Kolmakov and X. Zhang, "A generalization of the allreduce operation", 2020,
// by which the paper prices its algorithm and those it competes with, as printed; and the counts
// that are exact where the printed ones are not (docs/papers/kolmakov-zhang.md).
//
//   P   positions
//   m   bytes of the vector; u = m / P, those of a block
//   d   ceil(log2 P)
//   r   steps that are removed from the distribution phase, 0 ... d
//
// Functions of P, m and r throw Error(argument) if P < 1, m < 0 or r is not one that the equation
// is for.
#pragma once

#include <cstdint>

namespace stretto::equations {

// Section 2, the model of Chan et al. 2007; the numbers are those of table 2.
struct Network {
    double alpha = 3e-5;  // seconds of a message
    double beta = 1e-8;   // seconds per byte
    double gamma = 2e-10; // seconds per byte that is reduced
};

// d.
int log2_ceil(int ranks);

// tau_p2p (section 2): a message of m bytes, reduced where it arrives; seconds.
double point_to_point(const Network &network, double bytes);

// What the proposed algorithm is compared with in figure 1; seconds.  Recursive doubling and
// halving are for powers of two.  For others the surplus positions give their vector to a partner
// first, tau_p2p, and get the result last, the same without reducing (section 3).
double recursive_doubling(const Network &network, int ranks, double bytes);
double recursive_halving(const Network &network, int ranks, double bytes);
// Equation (15), the cost of a ring too (section 7).
double ring(const Network &network, int ranks, double bytes);

// Equation (25): bandwidth-optimal, 2 d steps; seconds.
double bandwidth_optimal(const Network &network, int ranks, double bytes);
// Equation (36): 2 d - r steps, 0 <= r < d; seconds.
double intermediate(const Network &network, int ranks, double bytes, int removed);
// Equation (44): latency-optimal, r = d; seconds.
double latency_optimal(const Network &network, int ranks, double bytes);
// Whichever of these is for r, 0 <= r <= d.
double proposed(const Network &network, int ranks, double bytes, int removed);

// Equation (37): where (36), taken as a function of a real r, is least.  Any real number, as the
// paper does not round it to one from 0 to d - 1; needs P > 2 and m > 0.
double best_removed_real(const Network &network, int ranks, double bytes);
// The r of the least proposed().
int best_removed(const Network &network, int ranks, double bytes);

// What a position does.  Every position does the same.
struct Counts {
    std::int64_t steps = 0;
    std::int64_t sent = 0;    // blocks
    std::int64_t reduced = 0; // block reductions
    std::int64_t results = 0; // complete blocks after the reduction phase; the paper says 2^r
};

// Of the algorithm itself, 0 <= r <= d.
Counts counts(int ranks, int removed);
// alpha, beta and gamma times these; seconds.
double exact(const Network &network, int ranks, double bytes, int removed);

} // namespace stretto::equations
