// SPDX-License-Identifier: BSD-3-Clause
// The threads of this process.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace test {

// Their names.
inline std::vector<std::string> threads() {
    std::vector<std::string> found;
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream named(task.path() / "comm");
        std::getline(named, found.emplace_back());
    }
    return found;
}

} // namespace test
