/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stretto: collectives that run while the caller computes, and their requests.  A part of
 * stretto.h, which is the header to include.
 */
#ifndef STRETTO_NONBLOCKING_H
#define STRETTO_NONBLOCKING_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As the blocking ones of stretto.h, but these return at once.  A progress thread moves the data
 * while the caller computes. The buffers belong to Stretto until the caller has waited for the
 * request.  A nonblocking call does not match a blocking one: all ranks use the same form
 * (otherwise STRETTO_ERR_MISMATCH). */
STRETTO_API stretto_status stretto_iallreduce(stretto_comm comm, const void *send, void *recv,
                                              size_t count, stretto_dtype dtype, stretto_op op,
                                              stretto_request *request);
/* The parts may be freed or changed as soon as the call returns; what they point to, not. */
STRETTO_API stretto_status stretto_iallreduce_batch(stretto_comm comm, const stretto_part parts[],
                                                    size_t count, stretto_dtype dtype,
                                                    stretto_op op, stretto_request *request);
STRETTO_API stretto_status stretto_ireduce(stretto_comm comm, const void *send, void *recv,
                                           size_t count, stretto_dtype dtype, stretto_op op,
                                           int root, stretto_request *request);
STRETTO_API stretto_status stretto_ibroadcast(stretto_comm comm, void *buffer, size_t count,
                                              stretto_dtype dtype, int root,
                                              stretto_request *request);
STRETTO_API stretto_status stretto_ireduce_scatter(stretto_comm comm, const void *send, void *recv,
                                                   size_t count, stretto_dtype dtype, stretto_op op,
                                                   stretto_request *request);
STRETTO_API stretto_status stretto_iallgather(stretto_comm comm, const void *send, void *recv,
                                              size_t count, stretto_dtype dtype,
                                              stretto_request *request);
STRETTO_API stretto_status stretto_igather(stretto_comm comm, const void *send, void *recv,
                                           size_t count, stretto_dtype dtype, int root,
                                           stretto_request *request);
STRETTO_API stretto_status stretto_iscatter(stretto_comm comm, const void *send, void *recv,
                                            size_t count, stretto_dtype dtype, int root,
                                            stretto_request *request);
STRETTO_API stretto_status stretto_ialltoall(stretto_comm comm, const void *send, void *recv,
                                             size_t count, stretto_dtype dtype,
                                             stretto_request *request);
/* The counts may change as soon as the call returns. */
STRETTO_API stretto_status stretto_iallgatherv(stretto_comm comm, const void *send, void *recv,
                                               const size_t counts[], stretto_dtype dtype,
                                               stretto_request *request);
STRETTO_API stretto_status stretto_ireduce_scatterv(stretto_comm comm, const void *send, void *recv,
                                                    const size_t counts[], stretto_dtype dtype,
                                                    stretto_op op, stretto_request *request);
STRETTO_API stretto_status stretto_igatherv(stretto_comm comm, const void *send, size_t count,
                                            void *recv, const size_t counts[],
                                            const size_t displacements[], stretto_dtype dtype,
                                            int root, stretto_request *request);
STRETTO_API stretto_status stretto_iscatterv(stretto_comm comm, const void *send,
                                             const size_t counts[], const size_t displacements[],
                                             void *recv, size_t count, stretto_dtype dtype,
                                             int root, stretto_request *request);
STRETTO_API stretto_status stretto_ialltoallv(stretto_comm comm, const void *send,
                                              const size_t send_counts[],
                                              const size_t send_displacements[], void *recv,
                                              const size_t recv_counts[],
                                              const size_t recv_displacements[],
                                              stretto_dtype dtype, stretto_request *request);
STRETTO_API stretto_status stretto_ibarrier(stretto_comm comm, stretto_request *request);

/* Makes a persistent allreduce: it is planned once, and stretto_start may start it any number of
 * times. */
STRETTO_API stretto_status stretto_allreduce_init(stretto_comm comm, const void *send, void *recv,
                                                  size_t count, stretto_dtype dtype, stretto_op op,
                                                  stretto_request *request);
STRETTO_API stretto_status stretto_start(stretto_request request);

/* Waits, and returns the status of the collective.  A nonblocking request is freed and *request set
 * to NULL; a persistent one stays and may be started again. */
STRETTO_API stretto_status stretto_wait(stretto_request *request);
/* Sets *done to 1 if the collective has ended (then as stretto_wait), else to 0. */
STRETTO_API stretto_status stretto_test(stretto_request *request, int *done);
/* Calls `function` once, when the collective or the message has ended: at once if it has ended
 * already, or from whichever thread of this rank is in Stretto then, one of the library's own among
 * them.  So a thread that calls Stretto holds no lock that the function takes; Stretto holds none.
 * It gets the status that stretto_wait will return, and the message, or "".  It must not throw, nor
 * call Stretto with this communicator.  The request makes progress though no thread waits for it.
 * It is still to be waited for (or tested), which frees it; another thread's wait may return before
 * the function has.  The function has returned when stretto_finalize returns.  A persistent request
 * calls it for the present run only.  STRETTO_ERR_ARGUMENT: the request has a function already, or
 * is a persistent one that does not run. */
typedef void (*stretto_notify_function)(stretto_status status, const char *message, void *context);
STRETTO_API stretto_status stretto_request_notify(stretto_request request,
                                                  stretto_notify_function function, void *context);
/* Frees a persistent request that is not running. */
STRETTO_API stretto_status stretto_request_free(stretto_request *request);

/* Calls in the order of a CUDA stream (docs/gpu.md).  After stretto_stream_begin the nonblocking
 * collectives above that this thread begins, batches and stretto_start among them, and its
 * stretto_isend and stretto_irecv belong to the stream, until stretto_stream_end:
 * - They return at once.  A call reads and writes its buffers when the stream has done all that it
 *   was given before the call.
 * - What the stream is given after the call begins when the result is there.  No kernel waits.
 * - `request` may be NULL: then the library frees the request when the call ends.  If such a call
 *   fails, so has the communicator, and the next call of it returns the error: also if a message
 * was longer than its receive.  Otherwise the request is waited for or tested as any other.
 * - If a call fails, or times out, the stream goes on, with buffers of undefined content.
 *
 * All ranks begin their collectives in the same order, whatever their streams; each rank has a
 * stream of its own, or none.  Buffers may be in host memory; then nothing but the stream touches
 * them meanwhile.  stretto_finalize waits until the streams have come to all calls.
 *
 * stream: a CUstream or cudaStream_t of any context; NULL or 1 is the legacy default stream, 2 the
 * default stream of this thread (of device 0 if all buffers are in host memory).
 *
 * Messages match in the order in which they were begun, whatever their streams.  A send that waits
 * for its stream holds up later ones to the same rank with the same tag, and only these.  So a
 * receive from any tag may take a message first that was sent later with another tag.  In a stream
 * that waits, a send and a receive come one after the other, as blocking ones do.  So two ranks
 * that both send a long message and then receive one wait for ever.  They use stretto_stream_follow
 * and stretto_stream_wait, or stretto_ialltoallv, or a stream for each way.
 *
 * Calls return STRETTO_ERR_UNSUPPORTED if the stream is being captured into a graph (or is the
 * legacy default stream, and one that it waits for is), or the process has no CUDA driver, or one
 * before CUDA 11.7.  A call returns STRETTO_ERR_ARGUMENT if the stream was destroyed.  Blocking
 * calls are not ordered.  stretto_stream_begin: STRETTO_ERR_ARGUMENT if this thread has a stream
 * already, stretto_stream_end if it has none.
 *
 * While a stream waits for a call, the program must not let the host wait for the stream in
 * cudaFree, cudaFreeHost, or a copy from device memory that is not to pinned memory: the driver
 * would let Stretto's threads begin nothing meanwhile.  cudaStreamSynchronize, cudaEventSynchronize
 * and cudaDeviceSynchronize may wait.
 *
 * stretto_stream_follow: the same, but the stream does not wait.  Calls begin behind what it was
 * given before; what it is given after them may run at any time.  The host waits for the request,
 * which may not be NULL; then the result is there for all streams.  No call of the driver waits for
 * Stretto.
 *
 * stretto_stream_wait: what a stream is given from now on begins when the request has ended, as
 * cudaStreamWaitEvent does for an event; any stream, any number of streams, of calls that a stream
 * orders and of others.  The request stays to be waited for or tested.  The same holds for this
 * stream as above, and the same errors; STRETTO_ERR_ARGUMENT also for a persistent request that
 * does not run. */
STRETTO_API stretto_status stretto_stream_begin(void *stream);
STRETTO_API stretto_status stretto_stream_follow(void *stream);
STRETTO_API stretto_status stretto_stream_end(void);
STRETTO_API stretto_status stretto_stream_wait(void *stream, stretto_request request);

#ifdef __cplusplus
}
#endif
#endif
