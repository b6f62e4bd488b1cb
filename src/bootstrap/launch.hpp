// SPDX-License-Identifier: BSD-3-Clause
// What only one launch of a job has.
//
// Process numbers, ports, and the names that launchers give their jobs are equal in two jobs as
// soon as the jobs run in different PID namespaces, or one after the other.  The process that has
// started all ranks of a job on a host is one of a kind, and so is what it has made for them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/settings.hpp"

namespace stretto::bootstrap {

// What can be found out of processes.  Tests say something else than the kernel.
struct Processes {
    // Of a process; nothing if it cannot be found out.
    std::function<std::optional<int>(int pid)> parent;
    // The environment with which a process was started: NAME=value, each ended by a zero byte.
    std::function<std::optional<std::string>(int pid)> environment;
    // A text that no other process ever has, also in no other PID namespace, as far as the kernel
    // tells.
    std::function<std::string(int pid)> mark;
    // The mark of the process that has made the other end of a socket pair; "" of anything else.
    std::function<std::string(int descriptor)> mark_of_peer;
};
const Processes &processes();

// The mark of the process that started the ranks of this job on this host: the nearest one above
// this process that was started without `rank_variable`.  Those in between, such as a shell around
// each rank, have it from the launcher.  If no such process can be seen (other users' environments
// cannot be read, and without /proc none can), the mark of the first process of this PID namespace.
std::string launcher_mark(const std::string &rank_variable, const Processes &all);

// The mark of the launcher that talks PMI with this process, or the port at which it listens.  The
// socket is inherited by way of all that stands in between, so this needs no /proc.
std::string pmi_launch(const Environment &environment, const Processes &all);

// Open MPI: where its server on this host listens, which is a port of its own.
std::string open_mpi_launch(const Environment &environment, const Processes &all);

// torchrun: the folder that it has made for the logs of its workers, whose name is random.
// Otherwise (env://) whatever has started the ranks.
std::string torch_launch(const Environment &environment, const Processes &all);

} // namespace stretto::bootstrap
