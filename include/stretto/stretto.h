/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stretto: collectives that do not wait.  The C API; this header includes communicators.h and
 * machine.h with it.
 *
 * Every function returns a stretto_status.  On anything but STRETTO_OK, stretto_last_error() gives
 * the message of the calling thread's last failure: the rank, the peer, the operation, the remedy.
 * No function aborts or exits.  None prints, with one exception: stretto_init of rank 0 warns once
 * on standard error of a STRETTO_ variable that does not exist (STRETTO_WARN=0 turns that off).
 *
 * Any number of threads may send and receive messages on one communicator at once, also while one
 * of them is in a collective; collectives of one communicator are called by one thread at a time.
 * Different communicators are used by different threads as they like.  Counts are elements, sizes
 * are bytes, both 64-bit.  All ranks call the same collectives of a communicator in the same order
 * with the same count or counts, dtype, op and root; a disagreement is an error that names who
 * differs in what, at the latest in the next call in which ranks wait for one another.
 * If the arguments of one rank alone are wrong, that rank gets the error, and the others wait for
 * it.  Any other failure, also of a message, ends the calls of all ranks, and the communicator: the
 * ranks that are left can go on by stretto_comm_shrink, and it can be finalized.  In a child that a
 * rank has forked, calls other than stretto_finalize are STRETTO_ERR_UNSUPPORTED (docs/fork.md). */
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
    STRETTO_ERR_EXCLUDED = 12,   /* others go on without this rank, or may: stretto_comm_shrink */
    STRETTO_ERR_INTERRUPTED = 13 /* a rank was told to stop, as by Ctrl-C: stretto_set_interrupt */
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
 * place, types of numbers that Stretto does not have.  Calls can move them, and reduce them by
 * operations that stretto_op_create gave. */
#define STRETTO_RECORD(bytes) ((stretto_dtype)(STRETTO_RECORDS + (bytes)))

/* What goes with which type (docs/data.md gives the reasons; the rest is STRETTO_ERR_ARGUMENT):
 *
 *   integers  all but AVG; they wrap
 *   floats    SUM PROD MIN MAX AVG, premul_sum; 16-bit ones are reduced as float32
 *   complex   SUM PROD AVG, premul_sum
 *   bool      MIN MAX BAND BOR BXOR LAND LOR LXOR
 *   records   none but operations of one's own
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
    STRETTO_AVG = 10,               /* the sum, at its end divided by the number of ranks */
    STRETTO_OP_CREATED = 0x40000000 /* and beyond: what stretto_op_create... gave */
} stretto_op;

/* Pass as `send` to say that the contribution lies in `recv`.  Without it, a call that reads and
 * writes the same memory is STRETTO_ERR_ARGUMENT (docs/data.md). */
#define STRETTO_IN_PLACE ((const void *)(intptr_t)-1)

/* ---- life ------------------------------------------------------------------------------- */

/* Joins the job that the environment describes: `stretto run`, torchrun, mpirun (Open MPI, MPICH,
 * Intel MPI) or srun; a process that none of them started is a job of one rank.  Collective. */
STRETTO_API stretto_status stretto_init(stretto_comm *comm);

/* Joins job `job` (a name that its ranks on this host share) as `rank` of `size`.  Collective. */
STRETTO_API stretto_status stretto_init_explicit(int rank, int size, const char *job,
                                                 stretto_comm *comm);

/* Waits for outstanding requests (receives that no message has matched are given up), leaves the
 * job, frees everything including stretto_alloc memory. Sets *comm to NULL.  Collective, but does
 * not hang when a peer has died. */
STRETTO_API stretto_status stretto_finalize(stretto_comm *comm);

STRETTO_API int stretto_rank(stretto_comm comm); /* -1 of NULL */
STRETTO_API int stretto_size(stretto_comm comm); /* -1 of NULL */

/* The message of this thread's last failure; "" if there was none.  Valid until its next call. */
STRETTO_API const char *stretto_last_error(void);
STRETTO_API const char *stretto_status_name(stretto_status status);
STRETTO_API const char *stretto_version(void);

/* ---- memory ----------------------------------------------------------------------------- */

/* Memory that all ranks of this host read in place: collectives on it skip every copy that a
 * private buffer costs.  64-byte aligned.  Local, not collective. */
STRETTO_API stretto_status stretto_alloc(stretto_comm comm, size_t bytes, void **memory);
STRETTO_API stretto_status stretto_free(stretto_comm comm, void *memory);

/* ---- operations of one's own ------------------------------------------------------------ */

/* inout[i] = in[i] op inout[i] for i < count, where `in` is the operand of the lower ranks.  Both
 * are aligned to the size of an element (at most 16 bytes); they do not overlap.  The function is
 * called by any thread that drives a call, and by several at once; it must not call this library.
 * A function that is written in C++ may throw: then the call fails on every rank
 * (STRETTO_ERR_OPERATION) with what() in the message. */
typedef void (*stretto_op_function)(const void *in, void *inout, size_t count, stretto_dtype dtype,
                                    void *context);

/* An operation for every dtype and all communicators of the process.  It must be associative.
 * commutative 0: operands stay in the order of ranks, and an algorithm that was asked for by name
 * and does not keep it is STRETTO_ERR_UNSUPPORTED.  `context` is handed to the function.  All ranks
 * give an operation of the same kind; whether their functions do the same cannot be checked. */
STRETTO_API stretto_status stretto_op_create(stretto_op_function function, void *context,
                                             int commutative, stretto_op *op);
/* The sum in which this rank's contribution counts *scalar times: a value of type `dtype`, for
 * calls on elements of that type.  Each rank has its own. */
STRETTO_API stretto_status stretto_op_create_premul_sum(const void *scalar, stretto_dtype dtype,
                                                        stretto_op *op);
/* No further calls may use the operation.  Requests that use it go on, and persistent ones may
 * still be started.  Its context is needed until these requests are freed. */
STRETTO_API stretto_status stretto_op_free(stretto_op op);

/* ---- collectives, blocking -------------------------------------------------------------- */

/* recv[i] = send[i] of rank 0 op ... op send[i] of rank size-1, on every rank; count elements. */
STRETTO_API stretto_status stretto_allreduce(stretto_comm comm, const void *send, void *recv,
                                             size_t count, stretto_dtype dtype, stretto_op op);
/* The same on `root` alone; recv is not touched elsewhere and may be NULL there. */
STRETTO_API stretto_status stretto_reduce(stretto_comm comm, const void *send, void *recv,
                                          size_t count, stretto_dtype dtype, stretto_op op,
                                          int root);
/* buffer of `root` to buffer of all; count elements. */
STRETTO_API stretto_status stretto_broadcast(stretto_comm comm, void *buffer, size_t count,
                                             stretto_dtype dtype, int root);
/* send: size * count elements.  recv: the `count` reduced elements that belong to this rank.
 * In place: recv holds size * count elements, the result is its first `count`. */
STRETTO_API stretto_status stretto_reduce_scatter(stretto_comm comm, const void *send, void *recv,
                                                  size_t count, stretto_dtype dtype, stretto_op op);
/* send: count elements.  recv: size * count elements, rank r's from r * count on.
 * In place: this rank's contribution already lies there. */
STRETTO_API stretto_status stretto_allgather(stretto_comm comm, const void *send, void *recv,
                                             size_t count, stretto_dtype dtype);
/* send: count elements.  recv of `root`: size * count elements, rank r's from r * count on; on
 * other ranks recv is not touched and may be NULL.  In place (root): its contribution already lies
 * in recv. */
STRETTO_API stretto_status stretto_gather(stretto_comm comm, const void *send, void *recv,
                                          size_t count, stretto_dtype dtype, int root);
/* send of `root`: size * count elements, rank r's from r * count on; not read elsewhere.  recv:
 * count elements.  In place: the root passes (void *)STRETTO_IN_PLACE as recv; its part stays. */
STRETTO_API stretto_status stretto_scatter(stretto_comm comm, const void *send, void *recv,
                                           size_t count, stretto_dtype dtype, int root);
/* send, recv: size * count elements.  Elements for rank r lie from r * count on in send; elements
 * from rank r arrive from r * count on in recv.  In place: recv has the contribution. */
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
 * STRETTO_ERR_MISMATCH.  Parts lie displacements[r] elements from the start of the buffer; NULL:
 * one after the other. */

/* send: count elements.  On `root`, recv has counts[r] elements of rank r at displacements[r]; all
 * three may be NULL elsewhere.  In place (root): its contribution already lies there. */
STRETTO_API stretto_status stretto_gatherv(stretto_comm comm, const void *send, size_t count,
                                           void *recv, const size_t counts[],
                                           const size_t displacements[], stretto_dtype dtype,
                                           int root);
/* The reverse.  In place: the root passes (void *)STRETTO_IN_PLACE as recv, and keeps its part. */
STRETTO_API stretto_status stretto_scatterv(stretto_comm comm, const void *send,
                                            const size_t counts[], const size_t displacements[],
                                            void *recv, size_t count, stretto_dtype dtype,
                                            int root);
/* In place: recv holds the contribution; send_counts and send_displacements are not looked at. */
STRETTO_API stretto_status stretto_alltoallv(stretto_comm comm, const void *send,
                                             const size_t send_counts[],
                                             const size_t send_displacements[], void *recv,
                                             const size_t recv_counts[],
                                             const size_t recv_displacements[],
                                             stretto_dtype dtype);
STRETTO_API stretto_status stretto_barrier(stretto_comm comm);

/* ---- collectives, nonblocking and persistent -------------------------------------------- */

/* As above; return at once.  A progress thread moves the data while the caller computes.  The
 * buffers belong to Stretto until the request is waited for.  All ranks make a call in this form,
 * or none: blocking and nonblocking calls do not match (STRETTO_ERR_MISMATCH). */
STRETTO_API stretto_status stretto_iallreduce(stretto_comm comm, const void *send, void *recv,
                                              size_t count, stretto_dtype dtype, stretto_op op,
                                              stretto_request *request);
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

/* A persistent allreduce: planned once, started with stretto_start as often as wanted. */
STRETTO_API stretto_status stretto_allreduce_init(stretto_comm comm, const void *send, void *recv,
                                                  size_t count, stretto_dtype dtype, stretto_op op,
                                                  stretto_request *request);
STRETTO_API stretto_status stretto_start(stretto_request request);

/* Waits; the status of the collective.  A nonblocking request is freed and *request set to NULL; a
 * persistent one stays and may be started again. */
STRETTO_API stretto_status stretto_wait(stretto_request *request);
/* *done = 1 when the collective has ended (then as stretto_wait), else 0. */
STRETTO_API stretto_status stretto_test(stretto_request *request, int *done);
/* Frees a persistent request that is not running. */
STRETTO_API stretto_status stretto_request_free(stretto_request *request);

/* ---- messages --------------------------------------------------------------------------- */

/* Matched as MPI defines it: a receive takes the message sent first among those of its source and
 * tag, a message goes to the receive posted first among those it fits.  Only bytes are compared,
 * not types.  Tags are 0 ... INT_MAX. */
#define STRETTO_ANY_SOURCE (-1)
#define STRETTO_ANY_TAG (-1)

/* A message that was, or can be, received. */
typedef struct stretto_message {
    int source;
    int tag;
    size_t bytes; /* of the message, be it longer than the buffer */
} stretto_message;

/* Returns when `buffer` may be used again.  A message of some KiB is usually stored until it is
 * received.  If the message is longer, or the receiver stores no more, the send waits for the
 * receive. */
STRETTO_API stretto_status stretto_send(stretto_comm comm, const void *buffer, size_t count,
                                        stretto_dtype dtype, int dest, int tag);
/* Waits for a message from `source` (or STRETTO_ANY_SOURCE) with `tag` (or STRETTO_ANY_TAG) of at
 * most `count` elements.  `message` may be NULL.  If the message is longer, this call is
 * STRETTO_ERR_TRUNCATED, its sender notices nothing, and the communicator can be used further. */
STRETTO_API stretto_status stretto_recv(stretto_comm comm, void *buffer, size_t count,
                                        stretto_dtype dtype, int source, int tag,
                                        stretto_message *message);
/* As above; return at once.  Wait with stretto_wait or stretto_test, in any order and by any
 * thread.  `message` is filled when the request has ended. */
STRETTO_API stretto_status stretto_isend(stretto_comm comm, const void *buffer, size_t count,
                                         stretto_dtype dtype, int dest, int tag,
                                         stretto_request *request);
STRETTO_API stretto_status stretto_irecv(stretto_comm comm, void *buffer, size_t count,
                                         stretto_dtype dtype, int source, int tag,
                                         stretto_message *message, stretto_request *request);
/* Waits until a receive would find a message, and tells which, without receiving it. */
STRETTO_API stretto_status stretto_probe(stretto_comm comm, int source, int tag,
                                         stretto_message *message);
/* *found = 1 if there is such a message now, else 0. */
STRETTO_API stretto_status stretto_iprobe(stretto_comm comm, int source, int tag, int *found,
                                          stretto_message *message);

/* ---- what happened ---------------------------------------------------------------------- */

/* Runs the next collectives of this communicator by the named algorithm ("ring",
 * "segmented_ring(segments=4)", ...), or by rules for collectives and sizes in bytes, of which the
 * first that matches decides: "allreduce:-4K=auto,allreduce:4K-64K=ring,direct"; "file:PATH" is
 * a schedule of one's own, which is proved first.  NULL or "auto" lets Stretto choose.  The same on
 * all ranks.  If an algorithm does not exist or cannot run, the error lists those that can, and
 * nothing changes. */
STRETTO_API stretto_status stretto_force_algorithm(stretto_comm comm, const char *algorithm);

/* How far results of reductions repeat, bit by bit. */
typedef enum stretto_reproducible {
    STRETTO_REPRODUCIBLE_OFF = 0, /* no promise beyond: all ranks get the same bits */
    STRETTO_REPRODUCIBLE_RUN = 1, /* the same call gives the same bits in every run */
    STRETTO_REPRODUCIBLE_FULL = 2 /* and whatever the algorithm, size, split and processor are */
} stretto_reproducible;

/* The mode of the next collectives of this communicator; STRETTO_REPRODUCIBLE says which it begins
 * with.  The same on all ranks, or their calls do not match (STRETTO_ERR_MISMATCH). */
STRETTO_API stretto_status stretto_set_reproducible(stretto_comm comm, stretto_reproducible mode);

/* One line of statistics: the calls of one collective by one algorithm. */
typedef struct stretto_stat {
    const char *collective;
    const char *algorithm;
    uint64_t calls;
    uint64_t bytes;         /* of the vectors, over all calls */
    double seconds;         /* from entry to exit, over all calls */
    double waiting_seconds; /* of those, waiting for other ranks */
    uint64_t messages;      /* messages (slices) this rank published */
    uint64_t bytes_copied;  /* bytes this rank wrote into shared cells */
    uint64_t bytes_reduced; /* bytes of operands this rank read while reducing */
} stretto_stat;

/* Fills at most `capacity` lines and gives in *count how many there are. */
STRETTO_API stretto_status stretto_stats(stretto_comm comm, stretto_stat *lines, size_t capacity,
                                         size_t *count);
STRETTO_API stretto_status stretto_stats_reset(stretto_comm comm);

/* The algorithm that a call of this collective ("allreduce", ...) and size would use; the text
 * lasts as long as the communicator. */
STRETTO_API stretto_status stretto_chosen_algorithm(stretto_comm comm, const char *collective,
                                                    size_t count, stretto_dtype dtype,
                                                    const char **algorithm);

#ifdef __cplusplus
}
#endif

#include "communicators.h"
#include "embedding.h"
#include "info.h"
#include "phases.h"
#include "stall.h"
#include "waiting.h"
#endif
