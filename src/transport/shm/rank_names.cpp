// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/rank_names.hpp"

#include <algorithm>
#include <utility>

namespace stretto::transport {

namespace {

constexpr std::size_t kMostRanks = 16; // that are named together

std::string listed(const std::vector<int> &ranks) {
    std::string words = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < std::min(kMostRanks, ranks.size()); ++i)
        words += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
    if (ranks.size() > kMostRanks)
        words += ", ..., and " + std::to_string(ranks.size() - kMostRanks) + " more";
    return words;
}

} // namespace

RankNames::RankNames(std::vector<int> in_job) {
    for (std::size_t rank = 0; rank < in_job.size(); ++rank)
        if (in_job[rank] != static_cast<int>(rank)) {
            in_job_ = std::move(in_job);
            return;
        }
}

std::string RankNames::of(int rank) const {
    return of(std::vector<int>{rank});
}

std::string RankNames::of(const std::vector<int> &ranks) const {
    std::vector<int> others(ranks.size());
    std::transform(ranks.begin(), ranks.end(), others.begin(),
                   [this](int rank) { return in_job(rank); });
    return others == ranks
               ? listed(ranks)
               : listed(others) + " of the job (" + listed(ranks) + " of this communicator)";
}

} // namespace stretto::transport
