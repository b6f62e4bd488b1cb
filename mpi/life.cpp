// SPDX-License-Identifier: BSD-3-Clause
// MPI_Init and MPI_Finalize, by both of their names.
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>

#include "failure.hpp"
#include "front.hpp"
#include "host.hpp"
#include "launcher.hpp"
#include "mpi_job.hpp"
#include "tools.hpp"

using namespace stretto::mpi;

namespace {

// Whether MPI_Init has been called by either name, and whether it has been called as PMPI_Init.
std::atomic<bool> reached{false}, came_as_pmpi{false};

// Ranks without Stretto, or with an MPI library that it does not know, do not publish themselves.
template<class Library>
int call_init(Library &&library) {
    reached.store(true, std::memory_order_relaxed);
    if (MpiLibrary::get().mpi().known)
        Launcher::begin();
    const int code = library();
    Launcher::end();
    return code;
}

template<class Library>
int start(Library &&library) {
    const int code = call_init(library);
    if (code == 0)
        MpiJob::start("");
    return code;
}

// Starts through a tool behind Stretto.  If the tool does not call PMPI_Init of Stretto, it calls
// the MPI library past Stretto, and will do so in collectives and waits as well.
template<class Tool>
int start_by_tool(void *function, Tool &&tool) {
    const int code = call_init(tool);
    if (code == 0 && !came_as_pmpi.load(std::memory_order_relaxed))
        MpiJob::start(file_of(function));
    return code;
}

bool is_first_rank() {
    for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
        if (const char *rank = launcher_variable(name); rank != nullptr)
            return std::atoi(rank) == 0;
    return true;
}

// A tool before Stretto may call the MPI library directly.  Without this message, the user would
// not know why Stretto runs no calls.
[[gnu::destructor]] void say_if_not_reached() {
    if (reached.load(std::memory_order_relaxed) || !is_first_rank())
        return;
    const Loaded mpi = find_mpi();
    const auto initialized =
        mpi.known ? reinterpret_cast<int (*)(int *)>(dlsym(mpi.library, "PMPI_Initialized"))
                  : nullptr;
    int flag = 0;
    if (initialized != nullptr && initialized(&flag) == 0 && flag != 0)
        say("Stretto ran no calls: the program's MPI_Init did not reach it; a tool that is "
            "linked in, or stands before libstretto_mpi.so in LD_PRELOAD, calls the MPI library "
            "by other names than PMPI_...");
}

} // namespace

extern "C" {

int PMPI_Init(int *argc, char ***argv) {
    came_as_pmpi.store(true, std::memory_order_relaxed);
    return start([&] { return MpiLibrary::get().Init(argc, argv); });
}

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    came_as_pmpi.store(true, std::memory_order_relaxed);
    return start([&] { return MpiLibrary::get().Init_thread(argc, argv, required, provided); });
}

int PMPI_Finalize(void) {
    MpiJob::finish();
    return MpiLibrary::get().Finalize();
}

int MPI_Init(int *argc, char ***argv) {
    const auto tool = Tools::get().Init;
    if (tool == nullptr)
        return PMPI_Init(argc, argv);
    return start_by_tool(reinterpret_cast<void *>(tool), [&] { return tool(argc, argv); });
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    const auto tool = Tools::get().Init_thread;
    if (tool == nullptr)
        return PMPI_Init_thread(argc, argv, required, provided);
    return start_by_tool(reinterpret_cast<void *>(tool),
                         [&] { return tool(argc, argv, required, provided); });
}

int MPI_Finalize(void) {
    const auto tool = Tools::get().Finalize;
    return tool == nullptr ? PMPI_Finalize() : tool();
}

} // extern "C"
