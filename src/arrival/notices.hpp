// SPDX-License-Identifier: BSD-3-Clause
// What a coordinator has heard of ranks that will not keep to their habit, and how it tells all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace stretto::arrival {

// By rank: nanoseconds later than usual.
using Deviations = std::map<int, std::int64_t>;

// "3:50000000 7:-20000": of the ranks that are farthest from their habit as many as fit.
std::string to_text(const Deviations &deviations, std::size_t most_bytes);
// Throws Error(internal) for what to_text does not write.
Deviations deviations_from(std::string_view text);

// Of calls to come, by a key.
class Notices {
public:
    // Calls of which something is kept.  Notices of a call that has begun come to nothing, and
    // nobody takes them: the oldest keys make room.
    static constexpr std::size_t kMostCalls = 256;

    // The last word of a rank counts.
    void add(std::uint64_t key, int rank, std::int64_t later);
    // What was heard of a call, which is forgotten.
    Deviations take(std::uint64_t key);

private:
    struct Heard {
        std::uint64_t since = 0; // place in the order in which keys were first heard of
        Deviations deviations;
    };
    std::uint64_t next_ = 0;
    std::map<std::uint64_t, Heard> heard_;
};

} // namespace stretto::arrival
