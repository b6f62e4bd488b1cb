// SPDX-License-Identifier: BSD-3-Clause
// Measures registration, single slices and streams of slices over a device for RDMA, by verbs and
// by UCX in turns: one process sends, its child receives and checks every word.  README.md says
// what.
#define _GNU_SOURCE
#include "processes.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))
#define SENT "/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts"

enum { KIB = 1 << 10, MIB = 1 << 20 };
enum { SENDER, RECEIVER };
struct shared *shared;
static const struct way *const ways[WAYS] = {&ucx_way, &ucx_two_way, &ucx_fence_way, &verbs_way};

uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void need(bool fine, const char *what) {
    if (fine)
        return;
    printf("FAILED in process %d: %s\n", (int)getpid(), what);
    fflush(stdout);
    _exit(1);
}

void wait_for(atomic_int *word, int least) {
    for (int naps = 0; atomic_load_explicit(word, memory_order_acquire) < least; ++naps) {
        need(naps < MOST_LOOKS, "the other process has ended");
        usleep(NAP_US);
    }
}

uint64_t *memory_of(size_t bytes) {
    void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    need(memory != MAP_FAILED, "memory");
    return memory;
}

// ---- the sender

static void begin(struct job job) {
    const int order = atomic_load(&shared->order) + 1;
    shared->job = job;
    atomic_store(&shared->order, order);
    wait_for(&shared->ready, order);
}

static void finish(const struct way *way) {
    for (int looks = 0; way->outstanding() != 0; ++looks) {
        way->progress();
        need(looks < MOST_LOOKS, "operations do not end");
        usleep(NAP_US);
    }
}

static void end_job(const struct way *way) {
    finish(way);
    wait_for(&shared->done, atomic_load(&shared->order));
    need(shared->early_flags == 0, "a flag came before its payload");
}

static uint64_t *filled(const struct job *job) {
    const size_t words = job->bytes / sizeof(uint64_t);
    uint64_t *const memory = memory_of(job->slices * job->bytes);
    for (uint32_t slice = 0; slice < job->slices; ++slice)
        for (size_t index = 0; index < words; ++index)
            memory[slice * words + index] = word_of(job->round, slice, index);
    watch_memory(memory, job->slices * job->bytes);
    return memory;
}

static void count_anew(void) {
    memset(&verbs_counts, 0, sizeof(verbs_counts));
}

// When the device has been quiet for a moment.  The kernel counts anew after 10 ms.
static unsigned long packets_sent(void) {
    unsigned long before = 0, now = 1;
    while (before != now) {
        before = now;
        usleep(20000);
        FILE *const file = fopen(SENT, "r");
        need(file != NULL && fscanf(file, "%lu", &now) == 1, SENT);
        fclose(file);
    }
    return now;
}

static unsigned long long us(uint64_t ns) {
    return (ns + 500) / 1000;
}

static void say_head(const char *what, const struct job *job) {
    printf("{\"what\": \"%s\", \"way\": \"%s\", \"bytes\": %zu, \"slices\": %u, \"round\": %d",
           what, ways[job->way]->name, job->bytes, job->slices, job->round);
}

static void say(const char *name, unsigned long long value) {
    printf(", \"%s\": %llu", name, value);
}

static void say_counts(void) {
    say("registrations", verbs_counts.registrations);
    say("writes", verbs_counts.writes);
    say("sends", verbs_counts.sends);
    say("from_buffer", verbs_counts.watched_bytes);
    say("from_elsewhere", verbs_counts.other_bytes);
    say("inline", verbs_counts.inline_bytes);
    say("into_receives", shared->received_bytes);
}

static void say_end(void) {
    printf("}\n");
    fflush(stdout);
}

// Registers new memory, deregisters it, and does both once more.
static void measure_registration(struct job job) {
    const struct way *const way = ways[job.way];
    uint64_t *const memory = filled(&job);
    say_head("registration", &job);
    static const char *const names[][5] = {
        {"first_us", "first_kernel_us", "first_calls", "first_end_us", "first_ends"},
        {"again_us", "again_kernel_us", "again_calls", "again_end_us", "again_ends"}};
    for (size_t turn = 0; turn < LENGTH(names); ++turn) {
        count_anew();
        const uint64_t began = now_ns();
        void *const registration = way->register_memory(memory, job.bytes);
        const uint64_t registered = now_ns();
        way->deregister(registration);
        const uint64_t ended = now_ns();
        say(names[turn][0], us(registered - began));
        say(names[turn][1], us(verbs_counts.registration_ns));
        say(names[turn][2], verbs_counts.registrations);
        say(names[turn][3], us(ended - registered));
        say(names[turn][4], verbs_counts.deregistrations);
    }
    count_anew();
    munmap(memory, job.bytes);
    say("unmapped_ends", verbs_counts.deregistrations);
    say_end();
}

// One slice with its flag; `own`: of UCX, from memory that this program has not registered.
static void measure_slice(struct job job, bool own) {
    const struct way *const way = ways[job.way];
    uint64_t *const memory = filled(&job);
    void *const registration = own ? NULL : way->register_memory(memory, job.bytes);
    begin(job);
    const unsigned long before = packets_sent();
    count_anew();
    const uint64_t began = now_ns();
    way->send(0, memory, job.bytes, 0, registration);
    const uint64_t returned = now_ns();
    const bool posted = verbs_counts.writes != 0;
    if (job.silent)
        wait_for(&shared->let_go, 1);
    finish(way);
    const uint64_t ended = now_ns();
    end_job(way);
    say_head(own ? "unregistered" : job.silent ? "silent" : "slice", &job);
    say("posted_first", posted);
    say("call_us", us(returned - began));
    say("payload_us", us(shared->payload_ns[0] - began));
    say("flag_us", us(shared->flag_ns[0] - began));
    say("sender_us", us(ended - began));
    say("flag_in_silence", shared->flag_in_silence);
    say("packets", packets_sent() - before);
    say_counts();
    say_end();
    if (registration != NULL)
        way->deregister(registration);
    munmap(memory, job.bytes);
}

struct stream {
    const char *name;
    bool up_front, in_turn;
};

// How much of [from, to] lies in [begin, end].
static uint64_t within(uint64_t from, uint64_t to, uint64_t begin, uint64_t end) {
    const uint64_t first = from > begin ? from : begin, last = to < end ? to : end;
    return first < last ? last - first : 0;
}

static void measure_stream(struct job job, const struct stream *stream) {
    const struct way *const way = ways[job.way];
    const size_t words = job.bytes / sizeof(uint64_t);
    uint64_t *const memory = filled(&job);
    static struct {
        void *registration;
        uint64_t began, registered, returned;
        bool posted;
    } slices[MOST_SLICES];
    begin(job);
    const unsigned long before = packets_sent();
    count_anew();
    const uint64_t began = now_ns();
    void *const whole =
        stream->up_front ? way->register_memory(memory, job.slices * job.bytes) : NULL;
    const uint64_t up_front = now_ns() - began;
    for (uint32_t i = 0; i < job.slices; ++i) {
        slices[i].began = now_ns();
        void *const own =
            whole != NULL ? whole : way->register_memory(memory + i * words, job.bytes);
        slices[i].registration = own;
        slices[i].registered = now_ns();
        way->progress(); // what has become due meanwhile goes first
        const uint64_t writes = verbs_counts.writes;
        way->send(i, memory + i * words, job.bytes, i * job.bytes, own);
        slices[i].returned = now_ns();
        slices[i].posted = verbs_counts.writes > writes;
        if (stream->in_turn)
            finish(way);
    }
    finish(way);
    end_job(way);
    say_head(stream->name, &job);
    uint64_t last = 0, registering = up_front, overlapped = 0, calls = 0, lag = 0, posted = 0;
    for (uint32_t i = 0; i < job.slices; ++i) {
        const uint64_t took = slices[i].registered - slices[i].began;
        last = shared->flag_ns[i] > last ? shared->flag_ns[i] : last;
        registering += stream->up_front ? 0 : took;
        calls += slices[i].returned - slices[i].registered;
        lag += shared->flag_ns[i] - shared->payload_ns[i];
        posted += slices[i].posted;
        // Slices are on their way one after another: the one before this is the last.
        if (i != 0 && !stream->up_front)
            overlapped += within(slices[i].began, slices[i].registered, slices[i - 1].registered,
                                 shared->payload_ns[i - 1]);
    }
    say("total_us", us(last - began));
    say("registering_us", us(registering));
    say("overlapped_us", us(overlapped));
    say("call_us", us(calls / job.slices));
    say("flag_behind_us", us(lag / job.slices));
    say("posted_first", posted);
    say("packets", packets_sent() - before);
    say_counts();
    say_end();
    for (uint32_t i = 0; i < (whole != NULL ? 1 : job.slices); ++i)
        way->deregister(slices[i].registration);
    munmap(memory, job.slices * job.bytes);
}

static void run_sender(int rounds) {
    static const size_t registered[] = {64 * KIB, 256 * KIB, MIB, 4 * MIB};
    static const size_t single[] = {8 * KIB, 64 * KIB, 256 * KIB, MIB};
    static const struct job streamed[] = {{.slices = 16, .bytes = 64 * KIB},
                                          {.slices = 16, .bytes = 256 * KIB},
                                          {.slices = 8, .bytes = MIB}};
    static const struct stream streams[] = {
        {"up front", true, false}, {"pipelined", false, false}, {"in turn", false, true}};
    for (int turn = 0; turn < rounds * WAYS; ++turn) {
        const int way = turn % WAYS, round = turn / WAYS;
        // Which differ in streams alone.
        const size_t others = ways[way]->open != NULL ? 1 : 0;
        for (size_t i = 0; i < others * LENGTH(registered); ++i)
            measure_registration((struct job){way, round, 1, registered[i], false});
        for (size_t i = 0; i < others * LENGTH(single); ++i)
            measure_slice((struct job){way, round, 1, single[i], false}, false);
        for (size_t i = 1; i < others * LENGTH(single); ++i)
            measure_slice((struct job){way, round, 1, single[i], true}, false);
        for (size_t i = 0; i < LENGTH(single) && ways[way] == &ucx_way; ++i)
            measure_slice((struct job){way, round, 1, single[i], false}, true);
        for (size_t i = 0; i < LENGTH(streamed); ++i)
            for (size_t s = 0; s < LENGTH(streams); ++s)
                measure_stream(
                    (struct job){way, round, streamed[i].slices, streamed[i].bytes, false},
                    &streams[s]);
    }
    shared->job = (struct job){0};
    atomic_fetch_add(&shared->order, 1);
}

static void meet(int role, uint64_t *window) {
    for (size_t i = 0; i < WAYS; ++i) {
        if (ways[i]->open == NULL)
            continue;
        ways[i]->open(window, WINDOW_BYTES, shared->address[i][role]);
        wait_for(&shared->steps[1 - role], atomic_fetch_add(&shared->steps[role], 1) + 1);
        ways[i]->connect(shared->address[i][1 - role]);
        wait_for(&shared->steps[1 - role], atomic_fetch_add(&shared->steps[role], 1) + 1);
    }
}

int main(int arguments, char **argument) {
    const int rounds = arguments > 1 ? atoi(argument[1]) : 3;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(shared != MAP_FAILED, "memory of both processes");
    const pid_t child = fork();
    need(child >= 0, "fork");
    const int role = child == 0 ? RECEIVER : SENDER;
    uint64_t *const window = memory_of(WINDOW_BYTES);
    meet(role, window);
    if (role == RECEIVER) {
        run_receiver(ways, window);
        return 0;
    }
    run_sender(rounds);
    int status = 1;
    waitpid(child, &status, 0);
    return status != 0;
}
