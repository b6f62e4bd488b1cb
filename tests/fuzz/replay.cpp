// SPDX-License-Identifier: BSD-3-Clause
// Calls a fuzzer's function for every file of the folders and files that are named.
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "fuzz.hpp"

static std::size_t replay(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    try {
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size());
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s: %s\n", path.c_str(), error.what());
        std::abort();
    }
    return 1;
}

int main(int count, char **arguments) {
    std::size_t played = 0;
    for (int i = 1; i < count; ++i) {
        const std::filesystem::path path = arguments[i];
        if (!std::filesystem::is_directory(path))
            played += replay(path);
        else
            for (const auto &entry : std::filesystem::directory_iterator(path))
                played += replay(entry.path());
    }
    std::printf("%zu inputs\n", played);
    return played == 0; // a corpus that is gone tests nothing
}
