// SPDX-License-Identifier: BSD-3-Clause
// Requests of nonblocking and persistent calls that Stretto runs.
//
// The program holds a request of the MPI library: a receive from this rank itself.  When Stretto's
// call has ended, Stretto sends the message that completes it.  So the request can be in arrays
// with others, and every function of the library accepts it.  The library's own waits need not be
// written anew here: Stretto completes its requests before it calls them.  Most programs wait by
// MPI_Wait, MPI_Waitall or MPI_Test.  There Stretto sets the program's handle to null instead: the
// receive stays pending for the next call, and the library has nothing to wait for.
#pragma once

#include <atomic>
#include <cstdint>

#include "intercept.hpp"

namespace stretto::mpi {

// Whether there is any request of Stretto's; if not, none of the functions below needs to be
// called.
extern std::atomic<int> pending_requests;
inline bool any_pending() {
    return pending_requests.load(std::memory_order_acquire) != 0;
}

Reason start_allreduce(Call &call, const void *send, void *recv, std::int64_t count,
                       Handle datatype, Handle op, void *request, bool persistent);

// If `request` is a running one of Stretto's, waits for it, then completes it in the library. Gives
// 0, or the code that the program's call must return.
int complete(Handle request);
// The same for the i-th request of the program's array.  A request that is not persistent is set to
// null instead: the library's functions take that for a request that has ended.
int complete_and_clear(void *requests, std::size_t i);
// The same as complete_and_clear() for one request, if it can end without a wait.
int test_and_clear(void *request);
// Completes, in the library, the requests of Stretto's that can end without a wait; true if all of
// Stretto's among the `count` have ended.
bool advance(const void *requests, int count);

// The library has started this persistent request: starts Stretto's call.
int started(Handle request);
// The program frees this request: waits for it if it runs.
int release(Handle request);
bool is_ours(Handle request);

// Before MPI_Finalize: ends all of Stretto's requests in the library.
void finish_requests();

} // namespace stretto::mpi
