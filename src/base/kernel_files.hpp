// SPDX-License-Identifier: BSD-3-Clause
// Files of /proc.  Parsing is separate from reading, so that tests can try any text; none of these
// functions throws.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace stretto {

// The whole file; "" if it cannot be read.
std::string contents(const std::string &path);

// A number that identifies this process's PID namespace; process numbers of different namespaces
// cannot be compared.  0 if it cannot be read.
std::uint64_t pid_namespace();

// Bytes that the machine has available, from /proc/meminfo.
std::optional<std::size_t> available_of(std::string_view meminfo);

// The text after `key` in the line that begins with it; nothing if no line does.
std::optional<std::string_view> line_after(std::string_view text, std::string_view key);

// Reads the next number, after spaces, and leaves the rest in `text`.
template<class Number>
std::optional<Number> next_number(std::string_view &text) {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\n")));
    Number number{};
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc())
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    return number;
}

// Fields of /proc/<pid>/stat.
struct ProcessStat {
    std::string name;
    char state = '?'; // R running, S sleeping, T stopped, ...
    int parent = 0;
};
std::optional<ProcessStat> process_of(std::string_view stat);
// When the process started, in ticks since boot; "?" if the text does not say.
std::string start_of(std::string_view stat);

} // namespace stretto
