// SPDX-License-Identifier: BSD-3-Clause
// Ranks as processes, which can die.
#pragma once

#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "stretto/stretto.h"

namespace test {

// Runs the ranks of a job as processes; gives their exit codes (a killed one: minus the signal).
inline std::vector<int> on_processes(int ranks, const std::function<int(stretto_comm)> &body) {
    static int jobs = 0;
    const std::string job = "procs-" + std::to_string(getpid()) + "-" + std::to_string(jobs++);
    std::vector<pid_t> children;
    for (int rank = 0; rank < ranks; ++rank) {
        const pid_t child = fork();
        if (child == 0) {
            stretto_comm comm = nullptr;
            if (stretto_init_explicit(rank, ranks, job.c_str(), &comm) != STRETTO_OK)
                _exit(100);
            _exit(body(comm));
        }
        children.push_back(child);
    }
    std::vector<int> codes;
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
    return codes;
}

} // namespace test
