// SPDX-License-Identifier: BSD-3-Clause
// Files of the kernel: memory, control groups, processes.
#include "base/kernel_files.hpp"
#include "fuzz.hpp"

using namespace stretto;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    constexpr std::size_t kLongestPath = 4096; // of Linux
    const std::string_view text = fuzz::text_of(data, size);
    (void)available_of(text);
    if (const auto cores = cores_of(text))
        must(*cores > 0 || text.find('0') != std::string_view::npos, "a quota is worth something");
    const auto parts = fuzz::split(text, '|');
    if (const auto room = room_of(parts[0], parts.back()); room && parts.size() == 1)
        must(*room == 0, "a group that holds its limit has no room");
    if (size <= kLongestPath) {
        const auto groups = control_groups(text);
        for (std::size_t i = 1; i < groups.size(); ++i)
            must(groups[i - 1].starts_with(groups[i]) && groups[i - 1].size() > groups[i].size(),
                 "each group lies above the one before");
        must(groups.empty() || groups.back().empty(), "the last is the root");
    }
    if (const auto process = process_of(text))
        must(text.find(process->name) != std::string_view::npos, "the name is part of the text");
    return 0;
}
