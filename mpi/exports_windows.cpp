// SPDX-License-Identifier: BSD-3-Clause
// Windows: the library makes them.  Programs with windows rely on more than a barrier's wait:
// accesses of other ranks to a window before a barrier are visible after it.  Some libraries ensure
// that in their barrier, so if there are windows, Stretto's barrier lets the library do so.
#include <climits>

#include "front.hpp"
#include "intercept.hpp"

using std::intptr_t;
using stretto::mpi::MpiJob;
using stretto::mpi::MpiLibrary;

namespace {

const MpiLibrary &host() {
    return MpiLibrary::get();
}

// The library may lack the forms with long numbers.
bool is_short(intptr_t unit) {
    return !host().large_counts && unit <= INT_MAX;
}

int noted(int code) {
    if (code == 0)
        MpiJob::has_windows.store(true, std::memory_order_relaxed);
    return code;
}

} // namespace

extern "C" {

int PMPI_Win_create(void *base, intptr_t size, int unit, Handle info, Handle comm, void *window) {
    return noted(host().Win_create(base, size, unit, info, comm, window));
}

int PMPI_Win_create_c(void *base, intptr_t size, intptr_t unit, Handle info, Handle comm,
                      void *window) {
    return noted(is_short(unit)
                     ? host().Win_create(base, size, static_cast<int>(unit), info, comm, window)
                     : host().Win_create_c(base, size, unit, info, comm, window));
}

int PMPI_Win_allocate(intptr_t size, int unit, Handle info, Handle comm, void *base, void *window) {
    return noted(host().Win_allocate(size, unit, info, comm, base, window));
}

int PMPI_Win_allocate_c(intptr_t size, intptr_t unit, Handle info, Handle comm, void *base,
                        void *window) {
    return noted(is_short(unit)
                     ? host().Win_allocate(size, static_cast<int>(unit), info, comm, base, window)
                     : host().Win_allocate_c(size, unit, info, comm, base, window));
}

int PMPI_Win_allocate_shared(intptr_t size, int unit, Handle info, Handle comm, void *base,
                             void *window) {
    return noted(host().Win_allocate_shared(size, unit, info, comm, base, window));
}

int PMPI_Win_allocate_shared_c(intptr_t size, intptr_t unit, Handle info, Handle comm, void *base,
                               void *window) {
    return noted(
        is_short(unit)
            ? host().Win_allocate_shared(size, static_cast<int>(unit), info, comm, base, window)
            : host().Win_allocate_shared_c(size, unit, info, comm, base, window));
}

int PMPI_Win_create_dynamic(Handle info, Handle comm, void *window) {
    return noted(host().Win_create_dynamic(info, comm, window));
}

} // extern "C"
