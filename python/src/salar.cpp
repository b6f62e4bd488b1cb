// SPDX-License-Identifier: BSD-3-Clause
#include "salar.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/status.hpp"

namespace stretto::equations::salar {

namespace {

[[noreturn]] void refuse(const std::string &what) {
    throw Error(Status::argument, "SALaR's model: " + what);
}

void check_cost(const char *name, double cost) {
    if (!(cost >= 0) || !std::isfinite(cost))
        refuse(std::string(name) + " = " + std::to_string(cost) +
               "; a cost is a finite number and at least 0");
}

void check(const Costs &costs) {
    check_cost("G", costs.gap);
    check_cost("G'", costs.gap_inside);
    check_cost("C", costs.compute);
    check_cost("C'", costs.per_iteration);
}

void check(const Costs &costs, const Job &job) {
    check(costs);
    if (job.nodes < 2 || job.ranks_per_node < 2)
        refuse(std::to_string(job.nodes) + " nodes of " + std::to_string(job.ranks_per_node) +
               " ranks; the formula is for 2 nodes or more, with 2 ranks or more each");
    if (job.network_chunks < 1 || job.chunks < 1 || !std::isfinite(job.bytes) ||
        !(job.chunks <= job.bytes))
        refuse("K = " + std::to_string(job.network_chunks) + ", I = " + std::to_string(job.chunks) +
               " for " + std::to_string(job.bytes) +
               " bytes; K is at least 1, I at least 1 and at most the number of bytes");
}

// Seconds per byte of the vector, without C'.
double inter_per_byte(const Costs &costs, const Job &job) {
    const double n = job.nodes, k = job.network_chunks;
    return (n - 1) / n * std::max(costs.gap, costs.compute) + costs.gap / k +
           costs.compute / (n * k);
}

double intra_per_byte(const Costs &costs, const Job &job) {
    const double p = job.ranks_per_node;
    return p / (p - 1) * (costs.gap_inside + costs.compute);
}

Job with_chunks(Job job, int chunks) {
    job.chunks = chunks;
    return job;
}

// `most`, or as many as there are bytes.
int check_most(const Costs &costs, const Job &job, int most) {
    check(costs, with_chunks(job, 1));
    if (most < 1)
        refuse("at most " + std::to_string(most) + " chunks; there is at least one");
    return static_cast<int>(std::min(static_cast<double>(most), std::floor(job.bytes)));
}

// The I from which on the network is the slower side, C' = 0: infinite or 0.
double turning_point(const Costs &costs, const Job &job) {
    const double ahead = intra_per_byte(costs, job) - inter_per_byte(costs, job);
    return ahead <= 0 ? 0 : ahead * job.bytes / costs.per_iteration;
}

} // namespace

double inter(const Costs &costs, const Job &job) {
    check(costs, job);
    return inter_per_byte(costs, job) * job.bytes + costs.per_iteration * job.chunks;
}

double intra(const Costs &costs, const Job &job) {
    check(costs, job);
    return intra_per_byte(costs, job) * job.bytes;
}

double distribution(const Costs &costs, const Job &job) {
    check(costs, job);
    return costs.gap_inside * job.bytes;
}

double total(const Costs &costs, const Job &job) {
    return std::max(inter(costs, job), intra(costs, job)) + distribution(costs, job);
}

double simplified(const Costs &costs, double bytes) {
    check(costs);
    if (!(bytes >= 0) || !std::isfinite(bytes))
        refuse(std::to_string(bytes) + " bytes; there are none or more");
    const double network = std::max(costs.gap, costs.compute) + costs.gap;
    return (std::max(network, costs.gap_inside + costs.compute) + costs.gap_inside) * bytes;
}

double filling(const Costs &costs, const Job &job) {
    return std::min(inter(costs, job), intra(costs, job)) / job.chunks;
}

double pipelined(const Costs &costs, const Job &job) {
    return total(costs, job) + filling(costs, job);
}

int best_chunks(const Costs &costs, const Job &job, int most) {
    most = check_most(costs, job, most);
    if (costs.per_iteration == 0)
        return intra_per_byte(costs, job) > 0 && inter_per_byte(costs, job) > 0 ? most : 1;
    const double lowest = std::sqrt(intra_per_byte(costs, job) * job.bytes / costs.per_iteration);
    const double real = std::max(turning_point(costs, job), lowest);
    int best = 0;
    for (const double each : std::array{std::floor(real), std::ceil(real)}) {
        const int chunks = static_cast<int>(std::clamp(each, 1.0, static_cast<double>(most)));
        if (best == 0 ||
            pipelined(costs, with_chunks(job, chunks)) < pipelined(costs, with_chunks(job, best)))
            best = chunks;
    }
    return best;
}

int free_chunks(const Costs &costs, const Job &job, int most) {
    most = check_most(costs, job, most);
    if (costs.per_iteration == 0)
        return most;
    const double real = std::floor(turning_point(costs, job));
    return static_cast<int>(std::clamp(real, 1.0, static_cast<double>(most)));
}

double bandwidth_bound(int parts, double gap, double bytes) {
    check_cost("G", gap);
    if (parts < 1 || !(bytes >= 0) || !std::isfinite(bytes))
        refuse(std::to_string(parts) + " parts, " + std::to_string(bytes) +
               " bytes; there is at least one part, and no less than nothing");
    return 2.0 * (parts - 1) / parts * gap * bytes;
}

} // namespace stretto::equations::salar
