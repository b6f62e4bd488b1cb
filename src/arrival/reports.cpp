// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/reports.hpp"

#include <cstddef>

namespace stretto::arrival {

static std::int64_t reported_by(int rank, const arrival::Deviations &reported) {
    const auto found = reported.find(rank);
    return found == reported.end() ? arrival::kUnknown : found->second;
}

arrival::History Reports::taken_from(arrival::Notices &notices) const {
    arrival::History history;
    for (std::size_t call = 0; call < arrival::History::kCalls; ++call) {
        const arrival::Deviations all_came = notices.take(came + call);
        const arrival::Deviations all_took = notices.take(took + call);
        std::vector<arrival::Stamp> stamps;
        for (const int rank : ranks)
            stamps.push_back({reported_by(rank, all_came), reported_by(rank, all_took)});
        history.add(stamps);
    }
    return history;
}

} // namespace stretto::arrival
