/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stretto below another library, such as an MPI library: joining a job through it, and running its
 * work while a rank waits in Stretto.  A part of stretto.h, which is the header to include.
 */
#ifndef STRETTO_EMBEDDING_H
#define STRETTO_EMBEDDING_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Gathers `bytes` bytes from `mine` of every rank into `all`, in rank order, on all ranks.  Returns
 * 0 on success. */
typedef int (*stretto_allgather_function)(const void *mine, void *all, size_t bytes, void *context);
/* Joins a job whose ranks another library, such as MPI, already connects.  Through `allgather` the
 * ranks agree on a name of the job and, on several hosts, on a bootstrap address and a secret, so
 * no setting is needed.  `allgather` is called the same number of times on all ranks, in this
 * thread.  Collective. */
STRETTO_API stretto_status stretto_init_by_exchange(int rank, int size,
                                                    stretto_allgather_function allgather,
                                                    void *context, stretto_comm *comm);

/* While this thread waits in Stretto, it calls `function` repeatedly: first after 50 us, then at
 * growing intervals of at most a millisecond.  After a call that took longer than others, and so
 * did some work, the next follows sooner.  The function may call any library except Stretto; it
 * must not throw.  For libraries whose transfers progress only inside their own calls.  NULL: no
 * function is called. */
typedef void (*stretto_idle_function)(void *context);
STRETTO_API void stretto_set_idle(stretto_idle_function function, void *context);

/* STRETTO_ALGORITHM may name an algorithm that cannot run on the ranks of a communicator that is
 * made of another.  1: the library then selects an algorithm for that communicator, and warns once
 * in each process.  0, the default: creating the communicator fails.  For programs that do not know
 * the setting.  It holds for the process, and must be the same on all ranks. */
STRETTO_API void stretto_set_forced_fallback(int enabled);

/* 1 if the memory is a device's, so that the CPU does not read and write it (docs/gpu.md); else 0,
 * also for NULL and before this process has made a communicator. */
STRETTO_API int stretto_on_device(const void *memory);

/* Returns when a stream of the program has done all work that it has been given so far, for front
 * ends whose arrays say which stream writes them.  memory: on the stream's device; not NULL.
 * stream: a CUstream or cudaStream_t; NULL or 1 is the legacy default stream, 2 the default stream
 * of this thread.  STRETTO_ERR_UNSUPPORTED: the process has not loaded the CUDA driver, or the
 * stream is being captured into a graph.  STRETTO_ERR_ARGUMENT: it was destroyed.
 * STRETTO_ERR_SYSTEM: the driver's error, of the stream's earlier work perhaps. */
STRETTO_API stretto_status stretto_stream_synchronize(const void *memory, void *stream);

/* Device memory that other ranks of the host can use in place, for allocators of other libraries:
 * memory of cudaMalloc, whatever the program's own allocator takes (docs/gpu.md).  The arguments
 * are those that PyTorch's pluggable allocators give.  device: by CUDA's number.  stream: is not
 * looked at.  NULL if there is none; stretto_last_error() says why. */
STRETTO_API void *stretto_cuda_alloc(ptrdiff_t bytes, int device, void *stream);
/* Frees it.  As cudaFree, it waits until the device has nothing to do, and must not be called while
 * a stream waits for a call of Stretto.  NULL is ignored. */
STRETTO_API void stretto_cuda_free(void *memory, size_t bytes, int device, void *stream);

#ifdef __cplusplus
}
#endif
#endif
