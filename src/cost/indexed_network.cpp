// SPDX-License-Identifier: BSD-3-Clause
#include "cost/indexed_network.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/numbering.hpp"
#include "base/status.hpp"

namespace stretto::cost {

using schedule::Position;
using schedule::Symmetry;

IndexedNetwork::IndexedNetwork(Network network, Position ranks, Inside inside)
    : given_(std::move(network)), inside_(inside), ranks_(ranks) {
    for (const Link &link : {given_.inside, given_.between})
        for (const double value : {link.latency, link.overhead, link.byte, link.reduce})
            if (!(value >= 0) || !std::isfinite(value))
                throw Error(Status::argument, "price: a link has " + std::to_string(value) +
                                                  "; its times are finite and not negative");
    if (given_.host_of.empty())
        return;
    if (given_.host_of.size() != static_cast<std::size_t>(ranks))
        throw Error(Status::argument, "price: " + std::to_string(given_.host_of.size()) +
                                          " positions have hosts, of " + std::to_string(ranks) +
                                          "; give one for each, or none");
    for (const int host : numbered_in_order(given_.host_of))
        host_of_.push_back(static_cast<std::uint32_t>(host));
    hosts_ = *std::max_element(host_of_.begin(), host_of_.end()) + 1;
    alone_ = hosts_ == host_of_.size();
    ranks_of_.assign(hosts_, 0);
    for (const std::uint32_t host : host_of_)
        ++ranks_of_[host];
}

double IndexedNetwork::share(Position a, Position b, std::size_t bytes) const {
    if (uniform() || read(a, b))
        return 0;
    const bool between = this->between(a, b);
    const Concurrency &pairs = between ? given_.between_pairs : given_.inside_pairs;
    if (!pairs.measured())
        return between ? 1 : 0;
    // Inside a host a pair is two of its ranks.
    const int most = between ? std::min(ranks_of_[host_of(a)], ranks_of_[host_of(b)])
                             : std::max(1, ranks_of_[host_of(a)] / 2);
    const auto [found, added] = shares_.try_emplace({between, most, bytes});
    if (added)
        found->second = 1 / most_throughput(pairs, most, bytes);
    return found->second;
}

const SymmetryClasses &IndexedNetwork::classes(const Symmetry &group) const {
    const auto found = std::ranges::find(classes_, group, &SymmetryClasses::group);
    if (found != classes_.end())
        return *found;
    return classes_.emplace_back(uniform() ? SymmetryClasses::one(group)
                                           : SymmetryClasses::of_hosts(group, host_of_));
}

} // namespace stretto::cost
