// SPDX-License-Identifier: BSD-3-Clause
#include "tools.hpp"

#include <dlfcn.h>

#include "failure.hpp"
#include "host.hpp"

namespace stretto::mpi {

namespace {

// The function of this name that the program would call without Stretto, if it is not the MPI
// library's own.
void *tool(const Loaded &mpi, const char *name) {
    void *const next = dlsym(RTLD_NEXT, name);
    if (next == nullptr || mpi.library == nullptr || next == dlsym(mpi.library, name))
        return nullptr;
    return next;
}

} // namespace

std::string file_of(void *function) {
    Dl_info info;
    return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "a tool";
}

Tools::Tools() {
    const Loaded &mpi = MpiLibrary::get().mpi();
    bool found = false;
#define STRETTO_LOAD(name, parameters, arguments)                                                  \
    name = reinterpret_cast<int(*) parameters>(tool(mpi, "MPI_" #name));                           \
    found = found || name != nullptr;
    STRETTO_FRONT_FUNCTIONS(STRETTO_LOAD)
#undef STRETTO_LOAD
    any.store(found, std::memory_order_relaxed);
}

const Tools &Tools::get() {
    static const Tools tools;
    return tools;
}

void Passed::to_tool(std::string_view function) {
    if (function.ends_with("_c"))
        function.remove_suffix(2);
    for (std::size_t kind = 0; kind < kKinds; ++kind)
        if (std::string_view(call_name(static_cast<Kind>(kind))).substr(4) == function)
            mark(passed_, static_cast<Kind>(kind));
}

void Passed::report() {
    const unsigned lost =
        passed_.load(std::memory_order_relaxed) & ~back_.load(std::memory_order_relaxed);
    std::string calls;
    for (std::size_t kind = 0; kind < kKinds; ++kind)
        if ((lost >> kind & 1) != 0)
            calls.append(calls.empty() ? "" : ", ").append(call_name(static_cast<Kind>(kind)));
    if (calls.empty())
        return;
    void *any = nullptr;
#define STRETTO_FIND(name, parameters, arguments)                                                  \
    any = any != nullptr ? any : reinterpret_cast<void *>(Tools::get().name);
    STRETTO_FRONT_FUNCTIONS(STRETTO_FIND)
#undef STRETTO_FIND
    say("not run by Stretto: " + calls + ": " + file_of(any) +
        " stands behind Stretto and makes these calls of the MPI library by other names than "
        "PMPI_..., so they do not reach Stretto; put it before libstretto_mpi.so in LD_PRELOAD");
}

} // namespace stretto::mpi
