// SPDX-License-Identifier: BSD-3-Clause
// Ranks as processes: for what kills, stops or limits a whole process.
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "stretto/stretto.h"
#include "support/job.hpp"
#include "support/shared_counter.hpp"

namespace test {

constexpr int kNotJoined = 100, kThrew = 101; // exit codes

// Ends this process, which must not go on with the tests of the one that has forked it.
[[noreturn]] inline void end_with(int rank, const std::function<int(int)> &body) {
    int code = kThrew;
    try {
        code = body(rank);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    }
    _exit(code);
}

// Runs body(rank) in so many processes; gives their exit codes (a killed one: minus the signal).
// `meanwhile` gets the process ids and runs here.
inline std::vector<int>
on_bare_processes(int ranks, const std::function<int(int)> &body,
                  const std::function<void(const std::vector<pid_t> &)> &meanwhile = {}) {
    std::vector<pid_t> children;
    for (int rank = 0; rank < ranks; ++rank) {
        const pid_t child = fork();
        if (child == 0)
            end_with(rank, body);
        children.push_back(child);
    }
    if (meanwhile)
        meanwhile(children);
    std::vector<int> codes;
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
    return codes;
}

// As ranks of a job, which all have joined: one that dies while others join makes their join fail.
inline std::vector<int>
on_processes(int ranks, const std::function<int(stretto_comm)> &body,
             const std::function<void(const std::vector<pid_t> &)> &meanwhile = {}) {
    const std::string job = fresh_job();
    SharedCounter through;
    return on_bare_processes(
        ranks,
        [&](int rank) {
            stretto_comm comm = nullptr;
            const stretto_status status = stretto_init_explicit(rank, ranks, job.c_str(), &comm);
            ++*through;
            if (status != STRETTO_OK)
                return kNotJoined;
            through.await(ranks);
            return body(comm);
        },
        meanwhile);
}

} // namespace test
