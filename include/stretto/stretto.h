/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stretto: collectives that do not wait.  The C API, with the headers below.
 *
 * Every function returns a stretto_status.  If it is not STRETTO_OK, stretto_last_error() returns
 * the message of the calling thread's last failure, which names the rank, the peer, the operation
 * and the remedy.  No function aborts or exits.  No function prints, with one exception:
 * stretto_init of rank 0 warns once on standard error if there is a STRETTO_ variable that is not a
 * setting (STRETTO_WARN=0 turns that off).
 *
 * Any number of threads may call functions of one communicator at the same time, except
 * stretto_finalize; one thread at a time uses a request.  Collectives have the order in which
 * threads begin them.  A thread that waits, or is in a blocking call, does not keep another one
 * from starting a nonblocking call or a message.
 *
 * Counts are elements, sizes are bytes, both 64-bit.  All ranks call the same collectives of a
 * communicator in the same order with the same count or counts, dtype, op and root (threads of a
 * rank that begin calls at the same time make the same call); if calls differ, ranks get an error
 * that names the rank and the difference, at the latest in the next call in which ranks wait for
 * one another.  If only one rank's arguments are wrong, that rank gets the error, and the others
 * wait for it.  Buffers of collectives and messages may be in the memory of a CUDA device, on any
 * ranks (docs/gpu.md).  Any other failure, also of a message, ends the calls of all ranks and fails
 * the communicator.  The remaining ranks can continue after stretto_comm_shrink, and the failed
 * communicator can be finalized.  In a forked child of a rank, calls other than stretto_finalize
 * return STRETTO_ERR_UNSUPPORTED (docs/fork.md). */
#ifndef STRETTO_H
#define STRETTO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STRETTO_VERSION_MAJOR 0
#define STRETTO_VERSION_MINOR 1
#define STRETTO_VERSION_PATCH 0

#if defined(__GNUC__)
#define STRETTO_API __attribute__((visibility("default")))
#else
#define STRETTO_API
#endif

typedef struct stretto_comm_s *stretto_comm;
typedef struct stretto_request_s *stretto_request;

typedef enum stretto_status {
    STRETTO_OK = 0,
    STRETTO_ERR_ARGUMENT = 1,    /* a wrong argument; nothing was sent */
    STRETTO_ERR_MISMATCH = 2,    /* ranks called different collectives */
    STRETTO_ERR_PEER = 3,        /* a rank died or left */
    STRETTO_ERR_TIMEOUT = 4,     /* a rank did not come within STRETTO_TIMEOUT */
    STRETTO_ERR_UNSUPPORTED = 5, /* valid, but not available here; nothing was sent */
    STRETTO_ERR_MEMORY = 6,      /* no memory, or no room for the shared segment */
    STRETTO_ERR_SYSTEM = 7,      /* the operating system refused something */
    STRETTO_ERR_REVOKED = 8,     /* the communicator failed in an earlier call */
    STRETTO_ERR_INTERNAL = 9,    /* a bug in Stretto */
    STRETTO_ERR_TRUNCATED = 10,  /* a message is longer than the buffer; its beginning is there */
    STRETTO_ERR_OPERATION = 11,  /* a user-defined operation failed */
    STRETTO_ERR_EXCLUDED = 12,   /* other ranks (may) go on without this one: stretto_comm_shrink */
    STRETTO_ERR_INTERRUPTED = 13, /* a rank was interrupted, as by Ctrl-C: stretto_set_interrupt */
    STRETTO_ERR_ABORTED = 14      /* a rank has called stretto_comm_abort */
} stretto_status;

typedef enum stretto_dtype {
    STRETTO_INT8 = 0,
    STRETTO_INT16 = 1,
    STRETTO_INT32 = 2,
    STRETTO_INT64 = 3,
    STRETTO_UINT8 = 4,
    STRETTO_UINT16 = 5,
    STRETTO_UINT32 = 6,
    STRETTO_UINT64 = 7,
    STRETTO_FLOAT16 = 8,  /* IEEE 754 binary16 */
    STRETTO_BFLOAT16 = 9, /* the upper half of a float32 */
    STRETTO_FLOAT32 = 10,
    STRETTO_FLOAT64 = 11,
    STRETTO_COMPLEX64 = 12,   /* two float32: real part, imaginary part */
    STRETTO_COMPLEX128 = 13,  /* two float64 */
    STRETTO_BOOL = 14,        /* a byte: 0 is false, all others are true; results are 0 or 1 */
    STRETTO_RECORDS = 0x1000, /* STRETTO_RECORD(n) is n beyond it */
    STRETTO_RECORDS_END = 0x2000
} stretto_dtype;

/* Elements of `bytes` bytes, 1 to 4096, which are never cut: structures, pairs of a value and its
 * index, other types of numbers.  Calls move them, and reduce them by operations of
 * stretto_op_create. */
#define STRETTO_RECORD(bytes) ((stretto_dtype)(STRETTO_RECORDS + (bytes)))

/* Which operations go with which type (docs/data.md gives the reasons; other pairs return
 * STRETTO_ERR_ARGUMENT):
 *
 *   integers  all except AVG; they wrap
 *   floats    SUM PROD MIN MAX AVG, premul_sum; 16-bit ones are reduced as float32
 *   complex   SUM PROD AVG, premul_sum
 *   bool      MIN MAX BAND BOR BXOR LAND LOR LXOR
 *   records   only created operations
 *
 * min and max follow IEEE 754-2019 minimum and maximum: a NaN operand gives a NaN, -0 < +0. */
typedef enum stretto_op {
    STRETTO_SUM = 0,
    STRETTO_PROD = 1,
    STRETTO_MIN = 2,
    STRETTO_MAX = 3,
    STRETTO_BAND = 4, /* bit by bit */
    STRETTO_BOR = 5,
    STRETTO_BXOR = 6,
    STRETTO_LAND = 7, /* 1 if all are not 0, else 0 */
    STRETTO_LOR = 8,
    STRETTO_LXOR = 9,
    STRETTO_AVG = 10,               /* the sum, divided by the number of ranks at the end */
    STRETTO_OP_CREATED = 0x40000000 /* and above: results of stretto_op_create... */
} stretto_op;

/* Passed as `send`: the contribution is in `recv`.  Otherwise, a call whose buffers overlap returns
 * STRETTO_ERR_ARGUMENT (docs/data.md). */
#define STRETTO_IN_PLACE ((const void *)(intptr_t)-1)

/* ---- life ------------------------------------------------------------------------------- */

/* Collective.  Joins the job that the environment describes: that of `stretto run`, torchrun,
 * mpirun (Open MPI, MPICH, Intel MPI) or srun.  Without any, the job is this process alone. */
STRETTO_API stretto_status stretto_init(stretto_comm *comm);

/* Joins job `job` (a name that its ranks on this host share) as `rank` of `size`.  Collective. */
STRETTO_API stretto_status stretto_init_explicit(int rank, int size, const char *job,
                                                 stretto_comm *comm);

/* Waits for outstanding requests (cancels receives without a message), leaves the job, frees
 * everything, also memory of stretto_alloc, and sets *comm to NULL.  Collective, but does not hang
 * if a peer has died. */
STRETTO_API stretto_status stretto_finalize(stretto_comm *comm);

STRETTO_API int stretto_rank(stretto_comm comm); /* -1 of NULL */
STRETTO_API int stretto_size(stretto_comm comm); /* -1 of NULL */

/* The message of this thread's last failure, or "".  Valid until the thread's next call. */
STRETTO_API const char *stretto_last_error(void);
STRETTO_API const char *stretto_status_name(stretto_status status);
STRETTO_API const char *stretto_version(void);

/* ---- memory ----------------------------------------------------------------------------- */

/* Allocates memory that all ranks of this host can read in place: collectives on it need none of
 * the copies that a private buffer costs.  64-byte aligned.  Local, not collective. */
STRETTO_API stretto_status stretto_alloc(stretto_comm comm, size_t bytes, void **memory);
STRETTO_API stretto_status stretto_free(stretto_comm comm, void *memory);

/* ---- operations of one's own ------------------------------------------------------------ */

/* inout[i] = in[i] op inout[i] for i < count, where `in` is the operand of the lower ranks.  Both
 * are aligned to the size of an element (at most 16 bytes); they do not overlap.  Any threads that
 * run a call may call it, several at once; it must not call this library.  A function in C++ may
 * throw: then the call fails on every rank (STRETTO_ERR_OPERATION) with what() in the message. */
typedef void (*stretto_op_function)(const void *in, void *inout, size_t count, stretto_dtype dtype,
                                    void *context);

/* Creates an operation for every dtype and all communicators of the process.  It must be
 * associative.  If commutative is 0, operands stay in rank order, and a call with a forced
 * algorithm that does not keep it returns STRETTO_ERR_UNSUPPORTED.  `context` is passed to the
 * function.  All ranks use an operation of the same kind, with functions that do the same. */
STRETTO_API stretto_status stretto_op_create(stretto_op_function function, void *context,
                                             int commutative, stretto_op *op);
/* Creates a sum in which this rank's contribution is multiplied by its *scalar, a value of type
 * `dtype`, for calls on elements of that type. */
STRETTO_API stretto_status stretto_op_create_premul_sum(const void *scalar, stretto_dtype dtype,
                                                        stretto_op *op);
/* Later calls may not use the operation.  Requests that use it continue, persistent ones may still
 * be started, and the context must live until they are freed. */
STRETTO_API stretto_status stretto_op_free(stretto_op op);

/* ---- collectives, blocking -------------------------------------------------------------- */

/* recv[i] = send[i] of rank 0 op ... op send[i] of rank size-1, on every rank; count elements. */
STRETTO_API stretto_status stretto_allreduce(stretto_comm comm, const void *send, void *recv,
                                             size_t count, stretto_dtype dtype, stretto_op op);
/* A vector of a batch; `send` may be STRETTO_IN_PLACE. */
typedef struct stretto_part {
    const void *send;
    void *recv;
    size_t count;
} stretto_part;
/* Reduces `count` vectors of one type as if they lay behind one another: one allreduce, with one
 * place in the order of calls.  All ranks pass the same counts in the same order.  Each vector is
 * copied once before and once after the call, into memory that is kept for later batches. */
STRETTO_API stretto_status stretto_allreduce_batch(stretto_comm comm, const stretto_part parts[],
                                                   size_t count, stretto_dtype dtype,
                                                   stretto_op op);
/* The same result on `root` alone; elsewhere recv is not touched and may be NULL. */
STRETTO_API stretto_status stretto_reduce(stretto_comm comm, const void *send, void *recv,
                                          size_t count, stretto_dtype dtype, stretto_op op,
                                          int root);
/* Copies buffer of `root` to buffer of all ranks; count elements. */
STRETTO_API stretto_status stretto_broadcast(stretto_comm comm, void *buffer, size_t count,
                                             stretto_dtype dtype, int root);
/* send: size * count elements.  recv: the `count` reduced elements that belong to this rank.
 * In place: recv holds size * count elements, the result is its first `count`. */
STRETTO_API stretto_status stretto_reduce_scatter(stretto_comm comm, const void *send, void *recv,
                                                  size_t count, stretto_dtype dtype, stretto_op op);
/* send: count elements.  recv: size * count elements, rank r's from r * count on.  In place: this
 * rank's contribution is already there. */
STRETTO_API stretto_status stretto_allgather(stretto_comm comm, const void *send, void *recv,
                                             size_t count, stretto_dtype dtype);
/* send: count elements.  recv of `root`: size * count elements, rank r's from r * count on; on
 * other ranks recv is not touched and may be NULL.  In place (root): its contribution is already in
 * recv. */
STRETTO_API stretto_status stretto_gather(stretto_comm comm, const void *send, void *recv,
                                          size_t count, stretto_dtype dtype, int root);
/* send of `root`: size * count elements, rank r's from r * count on; not read elsewhere.  recv:
 * count elements.  In place: the root passes (void *)STRETTO_IN_PLACE as recv; its part stays. */
STRETTO_API stretto_status stretto_scatter(stretto_comm comm, const void *send, void *recv,
                                           size_t count, stretto_dtype dtype, int root);
/* send, recv: size * count elements.  Elements for rank r are at r * count in send; elements from
 * rank r arrive at r * count in recv.  In place: recv holds the contribution. */
STRETTO_API stretto_status stretto_alltoall(stretto_comm comm, const void *send, void *recv,
                                            size_t count, stretto_dtype dtype);

/* Parts of different sizes: counts[r] elements for rank r, 0 allowed, one after the other in the
 * order of ranks.  The counts are the same on all ranks. */

/* As stretto_allgather; send: counts[rank] elements, recv: the sum of the counts. */
STRETTO_API stretto_status stretto_allgatherv(stretto_comm comm, const void *send, void *recv,
                                              const size_t counts[], stretto_dtype dtype);
/* As stretto_reduce_scatter; send: the sum of the counts, recv: counts[rank] elements. */
STRETTO_API stretto_status stretto_reduce_scatterv(stretto_comm comm, const void *send, void *recv,
                                                   const size_t counts[], stretto_dtype dtype,
                                                   stretto_op op);

/* Only the two ranks of a pair know the size of the part between them; if they disagree, both get
 * STRETTO_ERR_MISMATCH.  The part of rank r begins displacements[r] elements after the start of the
 * buffer; NULL: parts follow one another. */

/* send: count elements.  On `root`, recv gets counts[r] elements of rank r at displacements[r]; all
 * three may be NULL on other ranks.  In place (root): its contribution is already there. */
STRETTO_API stretto_status stretto_gatherv(stretto_comm comm, const void *send, size_t count,
                                           void *recv, const size_t counts[],
                                           const size_t displacements[], stretto_dtype dtype,
                                           int root);
/* The reverse.  In place: the root passes (void *)STRETTO_IN_PLACE as recv, and keeps its part. */
STRETTO_API stretto_status stretto_scatterv(stretto_comm comm, const void *send,
                                            const size_t counts[], const size_t displacements[],
                                            void *recv, size_t count, stretto_dtype dtype,
                                            int root);
/* In place: recv holds the contribution; send_counts and send_displacements are ignored. */
STRETTO_API stretto_status stretto_alltoallv(stretto_comm comm, const void *send,
                                             const size_t send_counts[],
                                             const size_t send_displacements[], void *recv,
                                             const size_t recv_counts[],
                                             const size_t recv_displacements[],
                                             stretto_dtype dtype);
STRETTO_API stretto_status stretto_barrier(stretto_comm comm);

/* ---- messages --------------------------------------------------------------------------- */

/* Messages match as in MPI: a receive takes the earliest sent message with its source and tag, a
 * message goes to the earliest posted receive that it fits.  Types do not count.  Tags: 0 ...
 * INT_MAX. */
#define STRETTO_ANY_SOURCE (-1)
#define STRETTO_ANY_TAG (-1)

/* A message that was, or can be, received. */
typedef struct stretto_message {
    int source;
    int tag;
    size_t bytes; /* of the message, even if it is longer than the buffer */
} stretto_message;

/* Returns when `buffer` may be used again.  A message of a few KiB is usually buffered until it is
 * received.  If it is longer, or the receiver's buffer is full, the send waits for the receive. */
STRETTO_API stretto_status stretto_send(stretto_comm comm, const void *buffer, size_t count,
                                        stretto_dtype dtype, int dest, int tag);
/* Waits for a message from `source` (or STRETTO_ANY_SOURCE) with `tag` (or STRETTO_ANY_TAG) of at
 * most `count` elements.  `message` may be NULL.  If the message is longer, this call returns
 * STRETTO_ERR_TRUNCATED.  The sender does not notice, and the communicator can still be used. */
STRETTO_API stretto_status stretto_recv(stretto_comm comm, void *buffer, size_t count,
                                        stretto_dtype dtype, int source, int tag,
                                        stretto_message *message);
/* As above, but these return at once.  Any thread may call stretto_wait or stretto_test for the
 * requests, in any order.  `message` is filled when the request has ended. */
STRETTO_API stretto_status stretto_isend(stretto_comm comm, const void *buffer, size_t count,
                                         stretto_dtype dtype, int dest, int tag,
                                         stretto_request *request);
STRETTO_API stretto_status stretto_irecv(stretto_comm comm, void *buffer, size_t count,
                                         stretto_dtype dtype, int source, int tag,
                                         stretto_message *message, stretto_request *request);
/* Waits until there is a matching message, and describes it in `message` without receiving it. */
STRETTO_API stretto_status stretto_probe(stretto_comm comm, int source, int tag,
                                         stretto_message *message);
/* Sets *found to 1 if there is such a message now, otherwise to 0. */
STRETTO_API stretto_status stretto_iprobe(stretto_comm comm, int source, int tag, int *found,
                                          stretto_message *message);

/* ---- what happened ---------------------------------------------------------------------- */

/* Selects the algorithm of the next collectives of this communicator.  `algorithm` is a name
 * ("ring", "segmented_ring(segments=4)", ...); or rules for collectives and sizes in bytes, of
 * which the first that matches decides: "allreduce:-4K=auto,allreduce:4K-64K=ring,direct"; or
 * "file:PATH", a user schedule, which is proved first.  With NULL or "auto" Stretto chooses.  All
 * ranks pass the same text.  If an algorithm does not exist or cannot run, the error lists those
 * that can, and nothing changes. */
STRETTO_API stretto_status stretto_force_algorithm(stretto_comm comm, const char *algorithm);

/* How reproducible the bits of reductions are. */
typedef enum stretto_reproducible {
    STRETTO_REPRODUCIBLE_OFF = 0, /* all ranks get the same bits; no further promise */
    STRETTO_REPRODUCIBLE_RUN = 1, /* the same call gives the same bits in every run */
    STRETTO_REPRODUCIBLE_FULL =
        2 /* also whatever the algorithm, vector size, split and processor */
} stretto_reproducible;

/* Sets the mode of the next collectives of this communicator; STRETTO_REPRODUCIBLE sets the initial
 * mode.  If ranks use different modes, their calls do not match (STRETTO_ERR_MISMATCH). */
STRETTO_API stretto_status stretto_set_reproducible(stretto_comm comm, stretto_reproducible mode);

/* Whether a blocking collective of one rank and a nonblocking one of another are the same call
 * (mixed not 0), as with NCCL, or do not match (0, the default; STRETTO_ERR_MISMATCH), as with MPI.
 * All ranks set the same before the next call.  While the job runs, the library tries no other
 * algorithms for mixed calls, as for nonblocking ones. */
STRETTO_API stretto_status stretto_set_mixed(stretto_comm comm, int mixed);

/* One line of statistics: the calls of one collective by one algorithm. */
typedef struct stretto_stat {
    const char *collective;
    const char *algorithm; /* "one_pass": one process performed them (docs/gpu.md) */
    uint64_t calls;
    uint64_t bytes;         /* of the vectors, over all calls */
    double seconds;         /* from entry to exit, over all calls */
    double waiting_seconds; /* of those, waiting for other ranks */
    uint64_t messages;      /* messages (slices) this rank published */
    uint64_t bytes_copied;  /* bytes this rank wrote into shared cells */
    uint64_t bytes_reduced; /* bytes of operands this rank read while reducing */
} stretto_stat;

/* Fills at most `capacity` lines, and sets *count to the number of all lines. */
STRETTO_API stretto_status stretto_stats(stretto_comm comm, stretto_stat *lines, size_t capacity,
                                         size_t *count);
STRETTO_API stretto_status stretto_stats_reset(stretto_comm comm);

/* The algorithm that a call of this collective ("allreduce", ...) and size would use.  The text is
 * valid as long as the communicator. */
STRETTO_API stretto_status stretto_chosen_algorithm(stretto_comm comm, const char *collective,
                                                    size_t count, stretto_dtype dtype,
                                                    const char **algorithm);

#ifdef __cplusplus
}
#endif

#include "communicators.h"
#include "embedding.h"
#include "info.h"
#include "nonblocking.h"
#include "phases.h"
#include "stall.h"
#include "waiting.h"
#endif
