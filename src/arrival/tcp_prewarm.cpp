// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/tcp_prewarm.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stretto::arrival {

// Bytes for each connection: less opens no window, and more is not needed.
static constexpr std::size_t kMostToOneBytes = 128u << 10, kLeastToOneBytes = 16u << 10;

void TcpPrewarm::begin(std::uint64_t time, Readers to, std::size_t bytes) {
    std::vector<int> ranks = ranks_of(to);
    const std::lock_guard lock(mutex_);
    time_ = time;
    bytes_ = bytes;
    ranks_ = std::move(ranks);
    warm_.clear();
}

std::optional<std::uint64_t> TcpPrewarm::turn_to(Readers to) {
    std::vector<int> ranks = ranks_of(to);
    const std::lock_guard lock(mutex_);
    if (time_ == UINT64_MAX)
        return std::nullopt;
    ranks_ = std::move(ranks);
    return time_;
}

void TcpPrewarm::end() {
    const std::lock_guard lock(mutex_);
    time_ = UINT64_MAX;
}

TcpPrewarm::Due TcpPrewarm::due(std::uint64_t now) {
    const std::lock_guard lock(mutex_);
    if (now < time_ || ranks_.empty())
        return {};
    Due due{{}, std::min(kMostToOneBytes, bytes_ / ranks_.size())};
    const std::vector<int> ranks = std::exchange(ranks_, {});
    if (due.bytes < kLeastToOneBytes)
        return {};
    std::ranges::set_difference(ranks, warm_, std::back_inserter(due.ranks));
    std::vector<int> warm;
    std::ranges::set_union(warm_, ranks, std::back_inserter(warm));
    warm_ = std::move(warm);
    return due;
}

std::vector<int> TcpPrewarm::ranks_of(Readers readers) const {
    std::vector<int> ranks;
    for (const engine::StepReader &reader : readers)
        if (!here_[static_cast<std::size_t>(reader.rank)])
            ranks.push_back(reader.rank);
    std::ranges::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

} // namespace stretto::arrival
