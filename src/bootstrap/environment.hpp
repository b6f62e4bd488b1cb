// SPDX-License-Identifier: BSD-3-Clause
// Who am I?  What the launcher says in the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/descriptor.hpp"
#include "base/settings.hpp"
#include "bootstrap/launch.hpp"

namespace stretto::bootstrap {

struct Identity {
    int rank = 0;
    int size = 1;
    std::string job;      // the same on all ranks of the job on this host, different between jobs
    std::string launcher; // for messages: "stretto run", "torchrun", "Open MPI", ...
    std::string address = ""; // where the ranks of several hosts meet; "": all are on this host
    std::string secret = "";  // of those hosts; "": what the settings say
    // What only this launch of the job has, the same on all ranks of this host; "": `job` is that,
    // or an address that belongs to one job at a time.
    std::string launch = "";
    bool by_process = false; // that is the process that has started the ranks
    // Of rank 0, if it listens at the address already.
    std::shared_ptr<Descriptor> door = nullptr;
    // For messages, which name what the user has set and nothing that follows from it: by what
    // `address` is that, and how the job is called ("": by its name).
    std::string address_from = std::string(info(Setting::addr).variable);
    std::string called = "";

    // "job 'x'", "the job of MASTER_PORT=29500".
    std::string words() const { return called.empty() ? "job '" + job + "'" : called; }
};

// Of `launch`, for comparisons; 0 if there is none.
std::uint64_t launch_hash(const Identity &me);

// The text of /proc/<pid>/stat.
using ProcessText = std::function<std::string(int pid)>;
std::string process_text(int pid);

// Whether this process has such a descriptor.
using IsOpen = std::function<bool(int descriptor)>;
bool is_open(int descriptor);

// Tries `stretto run`, torchrun, Open MPI, MPICH and Intel MPI (PMI), Slurm; a process that none of
// them started is a job of its own.  Variables of a launcher count if it started this process:
// those of a Slurm allocation do not outside of a step.  `addr`: STRETTO_ADDR.  Throws
// Error(argument) if what they say makes no sense, and if two launchers disagree of which neither
// started the other.
Identity identify(const std::string &addr, const Environment &environment = from_process,
                  const ProcessText &process = process_text, const IsOpen &open = is_open,
                  const Processes &all = processes());

} // namespace stretto::bootstrap
