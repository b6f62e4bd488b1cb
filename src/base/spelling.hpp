// SPDX-License-Identifier: BSD-3-Clause
// What somebody meant who misspelt a word.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace stretto {

// Insertions, deletions, replacements and exchanges of neighbours that turn one into the other, no
// part of the word being changed twice.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The word that is nearest, the first of several; "" if there are none.
std::string_view nearest_word(std::string_view wrong, std::span<const std::string_view> words);

// Text from outside, fit to be shown in a message: what cannot be printed becomes "?", and beyond
// 80 characters it is cut.
std::string shown(std::string_view text);

// Without the spaces around it.
std::string_view trimmed(std::string_view text);

} // namespace stretto
