// SPDX-License-Identifier: BSD-3-Clause
// The values of settings: accepted texts, and errors for all others.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/settings.hpp"
#include "base/spelling.hpp"
#include "base/status.hpp"

namespace stretto {

namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};

// Powers of 1024; "B" or "iB" may follow.
constexpr std::array kBytes{Unit{"T", 1ull << 40}, Unit{"G", 1ull << 30}, Unit{"M", 1ull << 20},
                            Unit{"K", 1ull << 10}, Unit{"", 1}};
constexpr std::array kTimes{Unit{"ns", 1}, Unit{"us", 1000}, Unit{"ms", 1'000'000},
                            Unit{"s", 1'000'000'000}, Unit{"min", 60'000'000'000}};

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_word(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

// The leading number; `rest` is what follows, without spaces before it.
template<class Number>
bool leading(std::string_view text, Number &number, std::string_view &rest) {
    const char *end = text.data() + text.size();
    const auto [after, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc())
        return false;
    rest = text.substr(static_cast<std::size_t>(after - text.data()));
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
    return true;
}

// "64", "64K", "64 KiB", "2m".
bool read_bytes(std::string_view text, std::uint64_t &result) {
    std::string_view rest;
    if (!leading(text, result, rest))
        return false;
    for (const std::string_view ending : {"iB", "B"})
        if (rest.size() > ending.size() &&
            same_word(rest.substr(rest.size() - ending.size()), ending)) {
            rest.remove_suffix(ending.size());
            break;
        }
    if (same_word(rest, "B"))
        rest = "";
    for (const Unit &unit : kBytes)
        if (same_word(rest, unit.name))
            return !__builtin_mul_overflow(result, unit.factor, &result);
    return false;
}

// "600", "0.5", "30 ms", "2min"; a number without a unit is in `standard`.
bool read_duration(std::string_view text, std::string_view standard, std::uint64_t &result) {
    double number = 0;
    std::string_view rest;
    if (!leading(text, number, rest))
        return false;
    if (rest.empty())
        rest = standard;
    for (const Unit &unit : kTimes)
        if (same_word(rest, unit.name)) {
            const double nanoseconds = std::round(number * static_cast<double>(unit.factor));
            // Whether 64 bits hold the value; infinity and NaN fail here too.
            if (!(nanoseconds >= 0 && nanoseconds < 18e18))
                return false;
            result = static_cast<std::uint64_t>(nanoseconds);
            // The shortest time: 0 means "for ever" or "not at all".
            if (result == 0 && number > 0)
                result = 1;
            return true;
        }
    return false;
}

bool read_boolean(std::string_view text, std::uint64_t &result) {
    constexpr std::string_view words[][2] = {
        {"0", "1"}, {"off", "on"}, {"no", "yes"}, {"false", "true"}};
    for (const auto &pair : words)
        for (result = 0; result < 2; ++result)
            if (same_word(text, pair[result]))
                return true;
    return false;
}

std::vector<std::string_view> split(std::string_view words) {
    std::vector<std::string_view> list;
    while (!words.empty()) {
        const std::size_t space = std::min(words.find(' '), words.size());
        list.push_back(words.substr(0, space));
        words.remove_prefix(std::min(words.size(), space + 1));
    }
    return list;
}

bool read(const SettingInfo &info, std::string_view text, SettingValue &value) {
    value.text = text;
    std::string_view rest;
    switch (info.kind) {
    case SettingKind::bytes: return read_bytes(text, value.number);
    case SettingKind::duration: return read_duration(text, info.unit, value.number);
    case SettingKind::count:
        return (!text.empty() && text == info.words) ||
               (leading(text, value.number, rest) && rest.empty());
    case SettingKind::boolean: return read_boolean(text, value.number);
    case SettingKind::choice:
        for (const std::string_view word : split(info.words))
            if (word == text)
                return true;
        return false;
    case SettingKind::text: return true;
    }
    return false;
}

} // namespace

std::string_view name(SettingKind kind) {
    constexpr std::array<std::string_view, 6> names = {"bytes",   "duration", "count",
                                                       "boolean", "choice",   "text"};
    return names[static_cast<std::size_t>(kind)];
}

std::optional<std::uint64_t> bytes_in(std::string_view text) {
    std::uint64_t bytes = 0;
    return read_bytes(text, bytes) ? std::optional(bytes) : std::nullopt;
}

std::string written_bytes(std::uint64_t bytes) {
    for (const Unit &unit : kBytes) // the largest first; the last is 1
        if (bytes % unit.factor == 0 && bytes != 0)
            return std::to_string(bytes / unit.factor).append(unit.name);
    return "0";
}

std::string takes(const SettingInfo &info) {
    std::string text;
    switch (info.kind) {
    case SettingKind::bytes: text = "bytes, as 65536, 64K or 2M"; break;
    case SettingKind::duration:
        return "a time, as 30, 0.5, 100us or 20ms (a number alone: " + std::string(info.unit) + ")";
    case SettingKind::count: text = "a whole number"; break;
    case SettingKind::boolean: return "1 or 0";
    case SettingKind::choice: {
        const std::vector<std::string_view> words = split(info.words);
        for (std::size_t i = 0; i < words.size(); ++i)
            text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + std::string(words[i]);
        return text;
    }
    case SettingKind::text: return "a text";
    }
    const auto number = [&](std::uint64_t n) {
        return info.kind == SettingKind::bytes ? written_bytes(n) : std::to_string(n);
    };
    if (info.most != UINT64_MAX)
        text += ", from " + number(info.least) + " to " + number(info.most);
    else if (info.least != 0)
        text += ", at least " + number(info.least);
    if (info.kind == SettingKind::count && !info.words.empty())
        text += ", or " + std::string(info.words);
    return text;
}

SettingValue parse(const SettingInfo &info, std::string_view text) {
    SettingValue value;
    const bool numeric = info.kind == SettingKind::bytes || info.kind == SettingKind::duration ||
                         info.kind == SettingKind::count;
    if (!read(info, text, value) ||
        (numeric && (value.number < info.least || value.number > info.most)))
        throw Error(Status::argument, std::string(info.variable) + " is '" + shown(text) +
                                          "'; it takes " + takes(info) + ": " +
                                          std::string(info.meaning));
    return value;
}

} // namespace stretto
