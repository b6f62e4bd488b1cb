// SPDX-License-Identifier: BSD-3-Clause
// Requests of nonblocking and persistent calls that Stretto runs.
//
// The program holds a request of the MPI library: of a receive from itself, to which the message is
// sent when Stretto's call has ended.  So it can be in arrays among others, every call of the
// library accepts it, and the library's own waits need not be reimplemented here: before they are
// called, Stretto's requests among them are completed.  Most requests are waited for by MPI_Wait,
// MPI_Waitall or MPI_Test, which then find a null handle: the receive stays pending for the next
// call, and the library is not called.
#pragma once

#include <atomic>
#include <cstdint>

#include "intercept.hpp"

namespace stretto::mpi {

// Whether there is any request of Stretto's: else nothing here needs to be asked.
extern std::atomic<int> pending_requests;
inline bool any_pending() {
    return pending_requests.load(std::memory_order_acquire) != 0;
}

Reason start_allreduce(Call &call, const void *send, void *recv, std::int64_t count,
                       Handle datatype, Handle op, void *request, bool persistent);

// A rank that waits for `request`, if it is Stretto's and runs: returns when the library has it
// complete.  0, or the code that the program's call is to return.
int bring_to_end(Handle request);
// The same of the i-th in an array of the program's; where the library has nothing to add, the
// program's handle is null then, and the library's own function takes that for ended.
int take_to_end(void *requests, std::size_t i);
// The same of `request` if it can end now.
int take_if_ended(void *request);
// The same for requests that can end now; true if all of Stretto's among the `count` have ended.
bool advance(const void *requests, int count);

// Starts one that is persistent, and has been started by the library.
int started(Handle request);
// It is to be freed: waits for it if it runs.
int release(Handle request);
bool is_ours(Handle request);

// Before MPI_Finalize: nothing of Stretto's is left in the library.
void finish_requests();

} // namespace stretto::mpi
