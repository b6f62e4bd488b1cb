// SPDX-License-Identifier: BSD-3-Clause
// What the calls of a communicator cost, summed up when somebody asks.
#include <algorithm>

#include "base/clock.hpp"
#include "comm/communicator.hpp"

namespace stretto::comm {

void Communicator::add(Stats &stats, const Key &key, const CallEntry &site) {
    const engine::Tally &tally = site.tally;
    if (tally.calls == 0)
        return;
    const double second = ns_per_tick() * 1e-9;
    const auto collective = collective_in(key.what);
    Stat &stat = stats[{collective, site.plan->algorithm}];
    stat.calls += tally.calls;
    stat.bytes += tally.calls * site.plan->vector_bytes;
    const double waiting = static_cast<double>(tally.waiting_ticks) * second;
    const double timed = static_cast<double>(std::max<std::uint64_t>(1, tally.timed_calls));
    stat.seconds += waiting + static_cast<double>(tally.working_ticks) * second *
                                  static_cast<double>(tally.calls) / timed;
    stat.waiting_seconds += waiting;
    stat.messages += tally.calls * site.plan->messages;
    stat.bytes_copied += tally.calls * site.plan->bytes_copied;
    stat.bytes_reduced += tally.calls * site.plan->bytes_reduced;
}

Stats Communicator::stats() {
    Stats result = past_;
    queue_.while_still([&] {
        for (const auto &[key, site] : sites_)
            add(result, key, site);
    });
    return result;
}

void Communicator::reset_stats() {
    past_.clear();
    queue_.while_still([&] {
        for (auto &[key, site] : sites_)
            site.tally = {};
    });
}

} // namespace stretto::comm
