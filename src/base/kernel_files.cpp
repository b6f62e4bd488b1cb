// SPDX-License-Identifier: BSD-3-Clause
#include "base/kernel_files.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sys/stat.h>

namespace stretto {

std::optional<std::string_view> line_after(std::string_view text, std::string_view key) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (line.starts_with(key))
            return line.substr(key.size());
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    return std::nullopt;
}

std::string contents(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::string text;
    char part[4096];
    // A read that fails ends the text, as the end of the file does.  Lack of memory is an error.
    while (file.read(part, sizeof(part)), file.gcount() > 0)
        text.append(part, static_cast<std::size_t>(file.gcount()));
    return text;
}

std::optional<std::size_t> available_of(std::string_view meminfo) {
    auto line = line_after(meminfo, "MemAvailable:");
    const auto kibibytes = line ? next_number<std::size_t>(*line) : std::nullopt;
    if (!kibibytes || *kibibytes > (SIZE_MAX >> 10))
        return std::nullopt;
    return *kibibytes << 10;
}

std::uint64_t pid_namespace() {
    struct stat space{};
    return stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
}

// "pid (name) state parent ...": the name may hold anything, so its end is the last parenthesis.
std::optional<ProcessStat> process_of(std::string_view stat) {
    const std::size_t open = stat.find('('), close = stat.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
        return std::nullopt;
    std::string_view rest = stat.substr(close + 1); // " S parent ..."
    if (rest.size() < 3)
        return std::nullopt;
    const char state = rest[1];
    rest.remove_prefix(2);
    const auto parent = next_number<int>(rest);
    if (!parent)
        return std::nullopt;
    return ProcessStat{std::string(stat.substr(open + 1, close - open - 1)), state, *parent};
}

// The 22nd field; the state behind the name is the third.
std::string start_of(std::string_view stat) {
    const std::size_t close = stat.rfind(')');
    std::string_view rest = close == std::string_view::npos ? "" : stat.substr(close + 1);
    const auto next = [&rest] {
        rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \n")));
        const std::string_view word = rest.substr(0, rest.find_first_of(" \n"));
        rest.remove_prefix(word.size());
        return word;
    };
    for (int field = 3; field < 22; ++field)
        (void)next();
    const std::string_view start = next();
    return start.empty() ? "?" : std::string(start);
}

} // namespace stretto
