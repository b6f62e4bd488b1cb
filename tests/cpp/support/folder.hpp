// SPDX-License-Identifier: BSD-3-Clause
// A folder of a test's own, gone with it.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {

class Folder {
public:
    Folder() : path_((std::filesystem::temp_directory_path() / "stretto-test-XXXXXX").string()) {
        if (mkdtemp(path_.data()) == nullptr)
            throw std::runtime_error("no folder for a test");
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;

    const std::string &path() const { return path_; }
    // Of all files whose names end so, in order.
    std::vector<std::string> files(const std::string &ending) const {
        std::vector<std::string> found;
        for (const auto &entry : std::filesystem::directory_iterator(path_))
            if (entry.path().string().ends_with(ending))
                found.push_back(entry.path().string());
        std::sort(found.begin(), found.end());
        return found;
    }

private:
    std::string path_;
};

} // namespace test
