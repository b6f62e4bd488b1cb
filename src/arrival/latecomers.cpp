// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/latecomers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stretto::arrival {

Latecomers::Latecomers(std::vector<int> ranks, std::size_t most, std::uint64_t grace,
                       std::uint64_t patience)
    : ranks_(std::move(ranks)), most_(most), grace_(grace), patience_(patience) {}

void Latecomers::came(int rank, std::uint64_t now) {
    if (here_.empty())
        first_ = now;
    const bool many_were_missing = !few_are_missing();
    here_.insert(rank);
    if (many_were_missing && few_are_missing())
        few_since_ = now;
}

std::uint64_t Latecomers::due() const {
    const std::uint64_t end = first_ + patience_;
    return few_are_missing() ? std::min(end, few_since_ + grace_) : end;
}

std::optional<std::vector<int>> Latecomers::who(std::uint64_t now) const {
    std::vector<int> missing;
    std::ranges::set_difference(ranks_, here_, std::back_inserter(missing));
    if (missing.empty())
        return missing;
    if (now < due())
        return std::nullopt;
    return few_are_missing() ? missing : std::vector<int>{};
}

} // namespace stretto::arrival
