/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long calls may take, and what interrupts them.  A part of stretto.h, which is the header to
 * include.  docs/fork.md#signals-and-limits.
 */
#ifndef STRETTO_WAITING_H
#define STRETTO_WAITING_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on each call of this rank in `comm` that has not ended `seconds` after it began is
 * STRETTO_ERR_TIMEOUT.  0: only STRETTO_TIMEOUT limits calls, which counts anew whenever anything
 * moves.  Holds for collectives, messages, stretto_wait, and stretto_test, where the time begins
 * with the first test that does not find the end.  The communicator has then failed on all ranks,
 * as other ranks would wait for the call that was given up.  The time is checked every few
 * milliseconds.  Local; another thread's call that runs keeps its limit. */
STRETTO_API stretto_status stretto_set_timeout(stretto_comm comm, double seconds);
/* As stretto_wait, but for at most `seconds` from now on, in place of the communicator's limit.  If
 * the time is over, the communicator has failed, and so has the request. */
STRETTO_API stretto_status stretto_wait_for(stretto_request *request, double seconds);

/* For bindings to other languages.
 * Limits every call that this thread makes from now on, on any communicator, in place of the
 * communicator's limit.  0: the communicator's limit holds. */
STRETTO_API stretto_status stretto_set_thread_timeout(double seconds);
/* While this thread waits in Stretto, `function` is called every 50 to 100 ms.  If it does not
 * return 0, the call ends with STRETTO_ERR_INTERRUPTED, and the communicator with it: the other
 * ranks are told that this one was interrupted.  During stretto_init as well.  It may use other
 * communicators, not this one; it must not throw.  NULL: nothing interrupts calls. */
typedef int (*stretto_interrupt_function)(void *context);
STRETTO_API void stretto_set_interrupt(stretto_interrupt_function function, void *context);

#ifdef __cplusplus
}
#endif
#endif
