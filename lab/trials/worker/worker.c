/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank of a trial (lab/reliability): makes random calls and checks every result, until standard
 * input ends.  If a call fails, the rank reports it, shrinks the communicator to the ranks that are
 * left, repeats the calls that not all ranks had completed, and continues.
 *
 * It prints lines of fields with tabs between them: the event, its time (CLOCK_MONOTONIC, the same
 * in all hosts of a lab), and details.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

enum { STOP_EVERY = 8, GOING_AFTER = 24 };

struct options {
    uint64_t seed;
    uint64_t mark; /* the rank reports when it comes to this call; 0: never */
    uint64_t
        children; /* each time after so many calls, a communicator is made and used; 0: never */
};

static void say(const char *what, const char *format, ...) {
    struct timespec now;
    va_list more;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%s\t%ld.%06ld", what, (long)now.tv_sec, now.tv_nsec / 1000);
    va_start(more, format);
    vprintf(format, more);
    va_end(more);
    putchar('\n');
    fflush(stdout);
}

static void say_failed(const char *what, uint64_t number, const char *during,
                       stretto_status status) {
    say(what, "\t%llu\t%s\t%s\t%s", (unsigned long long)number, during, stretto_status_name(status),
        stretto_last_error());
}

static int told_to_stop(void) {
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, 0) > 0;
}

/* A collective, so all ranks get the same answer. */
static stretto_status all_stop(const struct crew *crew, int *stop) {
    const int32_t mine = told_to_stop();
    int32_t any = -1;
    const stretto_status status =
        stretto_allreduce(crew->comm, &mine, &any, 1, STRETTO_INT32, STRETTO_MAX);
    *stop = status == STRETTO_OK && any > 0;
    return status;
}

/* Makes a communicator of this one: for a moment, the ranks accept connections. */
static stretto_status use_child(const struct crew *crew, uint64_t number, size_t *wrong) {
    struct crew child = *crew;
    struct call call = call_of(number, number, crew);
    stretto_status status = stretto_comm_dup(crew->comm, &child.comm);
    if (status != STRETTO_OK)
        return status;
    status = make_call(&child, &call, number, wrong);
    const stretto_status end = stretto_finalize(&child.comm);
    return status != STRETTO_OK ? status : end;
}

/* Where a communicator is in the sequence of calls. */
struct progress {
    uint64_t first;     /* the number of its first call */
    uint64_t next;      /* of the next one */
    uint64_t completed; /* how many of its collectives this rank has completed */
};

static int asks_whether_to_stop(uint64_t number) {
    return number % STOP_EVERY == STOP_EVERY - 1;
}

static int makes_child(const struct options *options, uint64_t number) {
    return options->children != 0 && number % options->children == 0;
}

/* The number of the call to continue with, if so many collectives from `first` on are complete. */
static uint64_t after(const struct options *options, const struct crew *crew, uint64_t first,
                      uint64_t completed) {
    for (uint64_t number = first;; ++number) {
        const struct call call = call_of(options->seed, number, crew);
        const uint64_t collectives = (uint64_t)is_collective(&call) +
                                     (uint64_t)makes_child(options, number) +
                                     (uint64_t)asks_whether_to_stop(number);
        if (collectives > completed)
            return number;
        completed -= collectives;
    }
}

/* Makes calls until one fails (returns its status, and what failed in `during`), or until all ranks
 * are asked to stop (returns STRETTO_OK). */
static stretto_status go_on(const struct options *options, const struct crew *crew,
                            struct progress *progress, char *during, size_t size) {
    for (;; ++progress->next) {
        const uint64_t number = progress->next;
        if (number == options->mark)
            say("mark", "\t%llu", (unsigned long long)number);
        if (number == progress->first + GOING_AFTER)
            say("going", "\t%llu", (unsigned long long)number);
        const struct call call = call_of(options->seed, number, crew);
        size_t wrong = 0, wrong_in_child = 0;
        describe_call(&call, during, size);
        stretto_status status = make_call(crew, &call, number, &wrong);
        if (status != STRETTO_OK)
            return status;
        progress->completed += (uint64_t)is_collective(&call);
        if (makes_child(options, number)) {
            snprintf(during, size, "the making of a communicator");
            status = use_child(crew, number, &wrong_in_child);
            if (status != STRETTO_OK)
                return status;
            ++progress->completed;
        }
        if (wrong + wrong_in_child > 0)
            say("wrong", "\t%llu\t%s\t%zu", (unsigned long long)number, during,
                wrong + wrong_in_child);
        if (!asks_whether_to_stop(number))
            continue;
        int stop = 0;
        snprintf(during, size, "allreduce of 1 int32 max");
        status = all_stop(crew, &stop);
        if (status != STRETTO_OK)
            return status;
        ++progress->completed;
        if (stop) {
            say("ended", "\t%llu", (unsigned long long)number);
            return STRETTO_OK;
        }
    }
}

/* The communicator of the remaining ranks replaces the failed one; 0 if this rank is not among
 * them. */
static int shrink(const struct options *options, struct crew *crew, struct progress *progress) {
    struct crew left = {0};
    uint64_t completed = 0;
    const stretto_status status = stretto_comm_shrink(crew->comm, &completed, &left.comm);
    if (status != STRETTO_OK) {
        say_failed("outside", progress->next, "shrink", status);
        return 0;
    }
    char members[MOST_RANKS * 4] = "";
    left.rank = stretto_rank(left.comm);
    left.size = stretto_size(left.comm);
    for (int rank = 0; rank < left.size; ++rank) {
        const size_t used = strlen(members);
        left.members[rank] = crew->members[stretto_comm_parent_rank(left.comm, rank)];
        snprintf(members + used, sizeof(members) - used, "%s%d", rank > 0 ? "," : "",
                 left.members[rank]);
    }
    say("shrunk", "\t%s\t%llu\t%llu", members, (unsigned long long)completed,
        (unsigned long long)progress->completed);
    progress->first = after(options, crew, progress->first, completed);
    progress->next = progress->first;
    progress->completed = 0;
    stretto_finalize(&crew->comm);
    *crew = left;
    return 1;
}

static int join(struct crew *crew) {
    const stretto_status status = stretto_init(&crew->comm);
    if (status != STRETTO_OK) {
        say_failed("failed", 0, "init", status);
        return 0;
    }
    crew->rank = stretto_rank(crew->comm);
    crew->size = stretto_size(crew->comm);
    for (int rank = 0; rank < crew->size; ++rank)
        crew->members[rank] = rank;
    say("joined", "");
    return 1;
}

static uint64_t number_of(const char *text) {
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0') {
        fprintf(stderr, "'%s' is no number\n", text);
        exit(2);
    }
    return number;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s SEED MARK CHILDREN, as a rank of a job (0: none)\n", argv[0]);
        return 2;
    }
    const struct options options = {number_of(argv[1]), number_of(argv[2]), number_of(argv[3])};
    struct crew crew = {0};
    struct progress progress = {0};
    char during[128];
    say("begun", "");
    if (!join(&crew))
        return 0;
    for (;;) {
        stretto_status status = go_on(&options, &crew, &progress, during, sizeof(during));
        if (status == STRETTO_OK)
            break;
        say_failed("failed", progress.next, during, status);
        if (!shrink(&options, &crew, &progress))
            break;
    }
    const stretto_status status = stretto_finalize(&crew.comm);
    if (status != STRETTO_OK)
        say_failed("failed", progress.next, "finalize", status);
    free_buffers();
    return 0;
}
