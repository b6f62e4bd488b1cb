// SPDX-License-Identifier: BSD-3-Clause
#include "apart.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace stretto::test {

namespace {

// The child's part.  It ends without what ends a program: that is the parent's.
[[noreturn]] void answer(const std::function<std::vector<double>()> &what, int pipe) {
    try {
        const std::vector<double> values = what();
        const char *bytes = reinterpret_cast<const char *>(values.data());
        std::size_t left = values.size() * sizeof(double);
        while (left > 0) {
            const ssize_t written = write(pipe, bytes, left);
            if (written < 0)
                _exit(1);
            bytes += written;
            left -= static_cast<std::size_t>(written);
        }
        _exit(0);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        _exit(1);
    }
}

} // namespace

std::vector<double> apart(const std::function<std::vector<double>()> &what) {
    std::array<int, 2> ends;
    if (pipe(ends.data()) != 0)
        throw std::runtime_error("no pipe to a process of its own");
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0)
        throw std::runtime_error("no process of its own");
    if (child == 0) {
        close(ends[0]);
        answer(what, ends[1]);
    }
    close(ends[1]);
    std::string bytes;
    std::array<char, 4096> some;
    ssize_t got;
    while ((got = read(ends[0], some.data(), some.size())) > 0 || (got < 0 && errno == EINTR))
        bytes.append(some.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0)
        throw std::runtime_error("SimGrid did not come to the end of it");
    std::vector<double> values(bytes.size() / sizeof(double));
    bytes.copy(reinterpret_cast<char *>(values.data()), values.size() * sizeof(double));
    return values;
}

} // namespace stretto::test
