// SPDX-License-Identifier: BSD-3-Clause
// The C API: phases of computation between collectives.
#include "handles.hpp"

using namespace stretto::api;

extern "C" {

stretto_status stretto_phase_begin(stretto_comm comm) {
    return guarded_in(comm, [&] {
        require(comm != nullptr, "the communicator is NULL");
        comm->communicator.queue().order().run([&] { comm->communicator.phases().begin(); });
    });
}

stretto_status stretto_edge(stretto_comm comm, double fraction) {
    return guarded_in(comm, [&] {
        require(comm != nullptr, "the communicator is NULL");
        comm->communicator.queue().order().run([&] { comm->communicator.phases().edge(fraction); });
    });
}

} // extern "C"
