// SPDX-License-Identifier: BSD-3-Clause
// The threads of a process.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace test {

// Their names, those of this process or of the one with this number; none if it has ended.
inline std::vector<std::string> threads(const std::string &process = "self") {
    std::vector<std::string> found;
    std::error_code ended;
    std::filesystem::directory_iterator task("/proc/" + process + "/task", ended);
    for (; !ended && task != std::filesystem::directory_iterator(); task.increment(ended)) {
        std::ifstream named(task->path() / "comm");
        std::getline(named, found.emplace_back());
    }
    return found;
}

} // namespace test
