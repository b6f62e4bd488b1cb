/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Time limits of calls, and interrupts.  A part of stretto.h, which is the header to include.
 * docs/fork.md#signals-and-limits.
 */
#ifndef STRETTO_WAITING_H
#define STRETTO_WAITING_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets a time limit for the later calls of this rank in `comm`: a call that has not ended `seconds`
 * after it began returns STRETTO_ERR_TIMEOUT.  0: only STRETTO_TIMEOUT limits calls; it counts from
 * the last progress of the call.  The limit holds for collectives, messages, stretto_wait and
 * stretto_test; for stretto_test the time begins with the first test that does not find the end.
 * After a timeout the communicator has failed on all ranks, since other ranks would wait for the
 * abandoned call.  The time is checked every few milliseconds.  Local.  A call of another thread
 * that is already running keeps its limit. */
STRETTO_API stretto_status stretto_set_timeout(stretto_comm comm, double seconds);
/* As stretto_wait, but waits at most `seconds` from now; the communicator's limit does not apply.
 * If the time is over, the communicator and the request have failed. */
STRETTO_API stretto_status stretto_wait_for(stretto_request *request, double seconds);

/* For bindings to other languages.  Limits every later call of this thread, on any communicator, in
 * place of the communicator's limit.  0: the communicator's limit holds. */
STRETTO_API stretto_status stretto_set_thread_timeout(double seconds);
/* While this thread waits in Stretto, stretto_init included, it calls `function` every 50 to 100
 * ms.  If the function does not return 0, the call returns STRETTO_ERR_INTERRUPTED and the
 * communicator fails; the errors of the other ranks say that this rank was interrupted.  The
 * function may use other communicators, but not this one; it must not throw.  NULL: calls are not
 * interrupted. */
typedef int (*stretto_interrupt_function)(void *context);
STRETTO_API void stretto_set_interrupt(stretto_interrupt_function function, void *context);

#ifdef __cplusplus
}
#endif
#endif
