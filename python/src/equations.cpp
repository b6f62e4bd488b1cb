// SPDX-License-Identifier: BSD-3-Clause
#include "equations.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <string>

#include "base/status.hpp"

namespace stretto::equations {

namespace {

[[noreturn]] void refuse(const std::string &what) {
    throw Error(Status::argument, "equations: " + what);
}

// u, after a look at the arguments.
double block(int ranks, double bytes) {
    if (ranks < 1 || !(bytes >= 0))
        refuse(std::to_string(ranks) + " ranks, " + std::to_string(bytes) +
               " bytes; there is at least one rank, and no less than nothing");
    return bytes / ranks;
}

void check_removed(int ranks, int removed, int most) {
    if (removed < 0 || removed > most)
        refuse("r = " + std::to_string(removed) + " at " + std::to_string(ranks) +
               " ranks; from 0 to " + std::to_string(most));
}

// The largest power of two that does not exceed P.
int power_below(int ranks) {
    return static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
}

double preparation_and_finalization(const Network &network, int ranks, double bytes) {
    if (ranks == power_below(ranks))
        return 0;
    return 2 * point_to_point(network, bytes) - network.gamma * bytes;
}

double cost(const Network &network, double steps, double sent, double reduced, double u) {
    return steps * network.alpha + sent * u * network.beta + reduced * u * network.gamma;
}

} // namespace

int log2_ceil(int ranks) {
    block(ranks, 0);
    return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

double point_to_point(const Network &network, double bytes) {
    return network.alpha + network.beta * bytes + network.gamma * bytes;
}

double recursive_doubling(const Network &network, int ranks, double bytes) {
    block(ranks, bytes);
    return log2_ceil(power_below(ranks)) * point_to_point(network, bytes) +
           preparation_and_finalization(network, ranks, bytes);
}

double recursive_halving(const Network &network, int ranks, double bytes) {
    block(ranks, bytes);
    const int power = power_below(ranks);
    return cost(network, 2 * log2_ceil(power), 2 * (power - 1), power - 1, bytes / power) +
           preparation_and_finalization(network, ranks, bytes);
}

double ring(const Network &network, int ranks, double bytes) {
    const double u = block(ranks, bytes);
    return cost(network, 2.0 * (ranks - 1), 2.0 * (ranks - 1), ranks - 1, u);
}

double bandwidth_optimal(const Network &network, int ranks, double bytes) {
    const double u = block(ranks, bytes);
    return cost(network, 2 * log2_ceil(ranks), 2.0 * (ranks - 1), ranks - 1, u);
}

double intermediate(const Network &network, int ranks, double bytes, int removed) {
    const double u = block(ranks, bytes);
    const int d = log2_ceil(ranks);
    check_removed(ranks, removed, d - 1);
    const double more = std::exp2(removed) - 1;
    return cost(network, 2 * d - removed, 2.0 * (ranks - 1) + more * (d - 1),
                ranks - 1 + more * (2 * d - 2), u);
}

double latency_optimal(const Network &network, int ranks, double bytes) {
    const double u = block(ranks, bytes);
    const int d = log2_ceil(ranks);
    if (d == 0)
        return 0; // there is no other rank
    return cost(network, d, static_cast<double>(ranks) * d,
                static_cast<double>(ranks) * (2 * d - 2), u);
}

double proposed(const Network &network, int ranks, double bytes, int removed) {
    const int d = log2_ceil(ranks);
    check_removed(ranks, removed, d);
    if (removed == d)
        return latency_optimal(network, ranks, bytes);
    return removed == 0 ? bandwidth_optimal(network, ranks, bytes)
                        : intermediate(network, ranks, bytes, removed);
}

double best_removed_real(const Network &network, int ranks, double bytes) {
    block(ranks, bytes);
    if (ranks <= 2 || !(bytes > 0))
        refuse("(37) needs more than 2 ranks and more than 0 bytes");
    return std::log2(network.alpha / (bytes * (network.beta + 2 * network.gamma))) +
           std::log2(ranks / ((std::log2(ranks) - 1) * std::numbers::ln2));
}

int best_removed(const Network &network, int ranks, double bytes) {
    int best = 0;
    for (int r = 1; r <= log2_ceil(ranks); ++r)
        if (proposed(network, ranks, bytes, r) < proposed(network, ranks, bytes, best))
            best = r;
    return best;
}

// The reduction phase halves N, rounding up, from P to 1.  For M results a position holds N + M - 1
// partial sums, or all P, sends those from ceil(N / 2) on and adds what comes to those that go on.
// An odd N leaves the first M unpaired.  From there on they are not what is still given away under
// the same numbers, and where N is even both are added to.
//
//   P = 7, r = 2, M = 4    sent    added to
//   N = 7 to 4             6       6
//   N = 4 to 2             5       4 that are given away, 4 that stay
//   N = 2 to 1             4       4 that stay
//   distribution           3       18 in all; 18 sent
Counts counts(int ranks, int removed) {
    const int d = log2_ceil(ranks);
    check_removed(ranks, removed, d);
    Counts result;
    result.steps = 2 * d - removed;
    result.results = ranks;
    for (int i = removed; i < d; ++i)
        result.results = (result.results + 1) / 2;
    const std::int64_t all = ranks, results = result.results;
    result.sent = removed < d ? 2 * (all - 1) + (results - 1) * (d - 1) : all * d;
    bool two_kinds = false;
    for (std::int64_t n = all; n > 1; n = (n + 1) / 2) {
        const std::int64_t next = (n + 1) / 2;
        two_kinds = two_kinds || n % 2 == 1;
        if (!two_kinds) {
            result.reduced += next == 1 ? results : std::min(all, next + results - 1);
            continue;
        }
        result.reduced += next == 1 ? 0 : std::min(all, next + results - 2);
        result.reduced += n % 2 == 0 ? results : 0;
    }
    return result;
}

double exact(const Network &network, int ranks, double bytes, int removed) {
    const double u = block(ranks, bytes);
    const Counts all = counts(ranks, removed);
    return cost(network, static_cast<double>(all.steps), static_cast<double>(all.sent),
                static_cast<double>(all.reduced), u);
}

} // namespace stretto::equations
