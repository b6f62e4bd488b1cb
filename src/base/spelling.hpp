// SPDX-License-Identifier: BSD-3-Clause
// Suggests the word that a misspelt one probably means.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace stretto {

// The number of insertions, deletions, replacements and exchanges of neighbours that turn one word
// into the other, where no part of the word is changed twice.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest word (of several, the first); "" if there are no words.
std::string_view nearest_word(std::string_view wrong, std::span<const std::string_view> words);

// Text from outside, made fit for a message: characters that cannot be printed become "?", and
// after 80 characters the text is cut.
std::string shown(std::string_view text);

// Without the spaces around it.
std::string_view trimmed(std::string_view text);

} // namespace stretto
