// SPDX-License-Identifier: BSD-3-Clause
// The MPI_ functions.  They call a tool behind Stretto, if there is one, which then calls the PMPI_
// functions; otherwise they call those directly.  A tool may wait for requests without Stretto, so
// Stretto's requests among them are progressed before.
#include "front.hpp"

#include "requests.hpp"
#include "tools.hpp"

using stretto::mpi::MpiLibrary;
using stretto::mpi::Passed;
using stretto::mpi::Tools;

namespace {

// Overloads distinguish them by their parameters.
template<class... Arguments>
void before_tool(Arguments...) {}

// MPI_Waitall
void before_tool(int count, void *requests, void *) {
    for (int i = 0; i < count && stretto::mpi::any_pending(); ++i)
        (void)stretto::mpi::complete(
            MpiLibrary::get().abi().load(requests, static_cast<std::size_t>(i)));
}
// MPI_Wait
void before_tool(void *request, void *status) {
    before_tool(1, request, status);
}
// MPI_Testall and MPI_Waitany
void before_tool(int count, void *requests, int *, void *) {
    if (stretto::mpi::any_pending())
        (void)stretto::mpi::advance(requests, count);
}
// MPI_Testany, MPI_Testsome and MPI_Waitsome
void before_tool(int count, void *requests, int *, int *, void *statuses) {
    before_tool(count, requests, nullptr, statuses);
}
// MPI_Test
void before_tool(void *request, int *flag, void *status) {
    before_tool(1, request, flag, status);
}

} // namespace

extern "C" {

#define STRETTO_FRONT(name, parameters, arguments)                                                 \
    int MPI_##name parameters {                                                                    \
        if (const auto tool = Tools::get().name; tool != nullptr) [[unlikely]] {                   \
            Passed::to_tool(#name);                                                                \
            before_tool arguments;                                                                 \
            return tool arguments;                                                                 \
        }                                                                                          \
        return PMPI_##name arguments;                                                              \
    }
STRETTO_CALL_FUNCTIONS(STRETTO_FRONT)
#undef STRETTO_FRONT

} // extern "C"
