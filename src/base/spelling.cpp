// SPDX-License-Identifier: BSD-3-Clause
#include "base/spelling.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stretto {

// Computes distance(i, j), of the first i characters of a and the first j of b, row by row; three
// rows are kept.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

std::string_view nearest_word(std::string_view wrong, std::span<const std::string_view> words) {
    constexpr std::size_t kLongestBytes =
        128; // a longer text is like no word, and the time grows with the square
    wrong = wrong.substr(0, kLongestBytes);
    std::string_view nearest;
    std::size_t least = SIZE_MAX;
    for (const std::string_view word : words)
        if (const std::size_t distance = edit_distance(wrong, word); distance < least) {
            least = distance;
            nearest = word;
        }
    return nearest;
}

std::string shown(std::string_view text) {
    constexpr std::size_t kMostBytes = 80;
    std::string result(text.substr(0, kMostBytes));
    std::replace_if(result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return text.size() > kMostBytes ? result + "..." : result;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

} // namespace stretto
