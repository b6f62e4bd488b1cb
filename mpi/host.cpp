// SPDX-License-Identifier: BSD-3-Clause
#include "host.hpp"

#include <cstdio>
#include <dlfcn.h>

#include "statuses.hpp"

namespace stretto::mpi {

namespace {

constexpr int kErrorOther = 15; // an error code in every library

// Called in place of a function that the MPI library does not have.
template<int Which, class... Arguments>
struct Missing {
    static inline const char *name = nullptr;
    static int call(Arguments...) {
        std::fprintf(stderr,
                     "stretto: the program calls %s, which its MPI library does not have, and "
                     "which Stretto does not run here\n",
                     name);
        return kErrorOther;
    }
};

template<int Which, class... Arguments>
bool load(const Loaded &mpi, const char *name, int (*&function)(Arguments...)) {
    void *found = mpi.library != nullptr ? dlsym(mpi.library, name) : dlsym(RTLD_NEXT, name);
    if (found != nullptr) {
        function = reinterpret_cast<int (*)(Arguments...)>(found);
        return true;
    }
    Missing<Which, Arguments...>::name = name + 1; // "MPI_..."
    function = Missing<Which, Arguments...>::call;
    return false;
}

} // namespace

MpiLibrary::MpiLibrary() : mpi_(find_mpi()) {
#define STRETTO_LOAD(name, ...)                                                                    \
    (void)load<__LINE__ * 1000 + __COUNTER__>(mpi_, "PMPI_" #name, name);
    STRETTO_HOST_FUNCTIONS(STRETTO_LOAD)
#undef STRETTO_LOAD
    const auto has = [&](const char *name) {
        return mpi_.library != nullptr && dlsym(mpi_.library, name) != nullptr;
    };
    large_counts = has("PMPI_Allreduce_c");
    if (!has("PMPI_Request_get_status_any")) {
        Request_get_status_all = get_status_all;
        Request_get_status_any = get_status_any;
        Request_get_status_some = get_status_some;
    }
}

const MpiLibrary &MpiLibrary::get() {
    static const MpiLibrary host;
    return host;
}

} // namespace stretto::mpi
