// SPDX-License-Identifier: BSD-3-Clause
// Who is late to a call, to which some come late and nobody knows who: as soon as only so many are
// missing, it is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace stretto::arrival {

// To one call; times are nanoseconds of a clock that does not go back.
class Latecomers {
public:
    // Of these ranks, ascending, at most `most` are late: those who come not within `grace` after
    // the others.  `patience` after the first has come nothing is waited for any more.
    Latecomers(std::vector<int> ranks, std::size_t most, std::uint64_t grace,
               std::uint64_t patience);

    // One of the ranks has come, who may have done so before.
    void came(int rank, std::uint64_t now);
    // Who is late, ascending; nobody, if all have come, or too few in time; nothing: that cannot be
    // said before `due()`, or before another one comes.
    std::optional<std::vector<int>> who(std::uint64_t now) const;
    std::uint64_t due() const;

private:
    bool few_are_missing() const { return here_.size() + most_ >= ranks_.size(); }

    std::vector<int> ranks_;
    std::size_t most_;
    std::uint64_t grace_, patience_;
    std::set<int> here_;
    std::uint64_t first_ = 0, few_since_ = 0; // when the first came, and the last of the others
};

} // namespace stretto::arrival
