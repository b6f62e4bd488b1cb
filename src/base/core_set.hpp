// SPDX-License-Identifier: BSD-3-Clause
// Which processors a thread may use, as a value.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stretto {

// A set of processors, by their numbers; empty if the kernel does not tell which.  cpu_set_t ends
// at 1024, Linux can be built for 8192.
class CoreSet {
public:
    static constexpr std::size_t kMostProcessors = 8192;

    void add(std::size_t processor) {
        if (processor < kMostProcessors)
            words_[processor / 64] |= std::uint64_t{1} << processor % 64;
    }
    void add(const CoreSet &other) {
        for (std::size_t i = 0; i < words_.size(); ++i)
            words_[i] |= other.words_[i];
    }
    unsigned count() const {
        unsigned sum = 0;
        for (const std::uint64_t word : words_)
            sum += static_cast<unsigned>(std::popcount(word));
        return sum;
    }
    std::vector<std::size_t> processors() const { // ascending
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < words_.size(); ++i)
            for (std::uint64_t word = words_[i]; word != 0; word &= word - 1)
                found.push_back(64 * i + static_cast<std::size_t>(std::countr_zero(word)));
        return found;
    }
    bool operator==(const CoreSet &) const = default;

private:
    std::array<std::uint64_t, kMostProcessors / 64> words_{};
};

} // namespace stretto
