// SPDX-License-Identifier: BSD-3-Clause
// Allreduces of buffers on one GPU by several processes, in place or staged through the host, and
// in three phases: the whole vector to pinned host memory, an allreduce there, the whole vector
// back; where they are staged, also in host memory, and without the network: what the stages cost
// alone; and messages and alltoallv. Needs the library and a CUDA driver (or the tests' simulated
// one), and no CUDA to compile. Prints a line of JSON for each number.
//
// With --launches: in place, by turns with each process launching its own kernels, with one process
// launching those of all, and with one pass of one process (docs/gpu.md); and one pass in calls
// back to back, without anything between them, also of other collectives: vectors of so many bytes,
// in parts of at least an element.
//
//     collectives RANKS SECONDS [--launches] [--engines RATE] BYTES...
//
// RANKS 0: a launcher has started this process as one rank of a job. --engines: copy engines of the
// simulated driver take 5 us and copy RATE bytes per us.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "stretto/stretto.h"

extern "C" {
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(unsigned long long *pointer, std::size_t bytes);
int cuMemFree_v2(unsigned long long pointer);
int cuMemHostAlloc(void **memory, std::size_t bytes, unsigned flags);
int cuMemFreeHost(void *memory);
int cuMemcpy(unsigned long long to, unsigned long long from, std::size_t bytes);
int cuMemcpyAsync(unsigned long long to, unsigned long long from, std::size_t bytes, void *stream);
int cuStreamSynchronize(void *stream);
}

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRuns = 10; // the first among them, as in Ueno and Fukuda's figure 6

[[noreturn]] void give_up(const std::string &why) {
    std::printf("{\"what\":\"FAILED\",\"text\":\"%s\"}\n", why.c_str());
    std::fflush(stdout);
    _exit(1);
}

void check_cuda(int result, const char *call) {
    if (result != 0)
        give_up(std::string(call) + ": CUDA error " + std::to_string(result));
}

void check(stretto_status status) {
    if (status != STRETTO_OK)
        give_up(stretto_last_error());
}

unsigned long long address(const void *memory) {
    return reinterpret_cast<std::uintptr_t>(memory);
}

// What differs by rank and place, and has an exact sum.
std::int32_t contribution(int rank, std::size_t i) {
    return static_cast<std::int32_t>((i * 7 + static_cast<std::size_t>(rank) * 13) % 1000);
}

struct Rank {
    stretto_comm comm = nullptr;
    int rank = 0, ranks = 0; // 0: as the launcher says
    std::size_t count = 0;
    std::int32_t *device = nullptr, *other = nullptr, *host = nullptr;

    std::size_t bytes() const { return count * sizeof(std::int32_t); }

    void fill() const {
        for (std::size_t i = 0; i < count; ++i)
            host[i] = contribution(rank, i);
        check_cuda(cuMemcpy(address(device), address(host), bytes()), "cuMemcpy");
    }
    void sum() const { sum(comm); }
    void sum(stretto_comm by) const {
        check(stretto_allreduce(by, STRETTO_IN_PLACE, device, count, STRETTO_INT32, STRETTO_SUM));
    }
    std::size_t part() const {
        return std::max(count / static_cast<std::size_t>(ranks), std::size_t{1});
    }
    std::size_t room() const { // also for parts of one element
        return std::max(bytes(), static_cast<std::size_t>(ranks) * sizeof(std::int32_t));
    }
    void scatter_sum(stretto_comm by) const {
        check(stretto_reduce_scatter(by, device, other, part(), STRETTO_INT32, STRETTO_SUM));
    }
    void gather_all(stretto_comm by) const {
        check(stretto_allgather(by, device, other, part(), STRETTO_INT32));
    }
    void exchange(stretto_comm by) const {
        check(stretto_alltoall(by, device, other, part(), STRETTO_INT32));
    }
    void broadcast(stretto_comm by) const {
        check(stretto_broadcast(by, device, count, STRETTO_INT32, 0));
    }
    // To the next rank, and from the one before.
    void pass_on() const {
        stretto_request sending = nullptr;
        check(stretto_isend(comm, device, count, STRETTO_INT32, (rank + 1) % ranks, 1, &sending));
        check(stretto_recv(comm, other, count, STRETTO_INT32, (rank + ranks - 1) % ranks, 1,
                           nullptr));
        check(stretto_wait(&sending));
    }
    void exchange_counted() const {
        const std::vector<std::size_t> counts(static_cast<std::size_t>(ranks), part());
        check(stretto_alltoallv(comm, device, counts.data(), nullptr, other, counts.data(), nullptr,
                                STRETTO_INT32));
    }
    void in_host_memory() const {
        check(stretto_allreduce(comm, STRETTO_IN_PLACE, host, count, STRETTO_INT32, STRETTO_SUM));
    }
    void to_host() const { copy(host, device); }
    void in_phases() const {
        to_host();
        in_host_memory();
        copy(device, host);
    }
    void copy(void *to, const void *from) const { // by an engine, also of the simulated driver
        check_cuda(cuMemcpyAsync(address(to), address(from), bytes(), nullptr), "cuMemcpyAsync");
        check_cuda(cuStreamSynchronize(nullptr), "cuStreamSynchronize");
    }
    void verify(const char *what) const {
        check_cuda(cuMemcpy(address(host), address(device), bytes()), "cuMemcpy");
        for (std::size_t i = 0; i < count; ++i) {
            std::int32_t right = 0;
            for (int r = 0; r < ranks; ++r)
                right += contribution(r, i);
            if (host[i] != right)
                give_up(std::string(what) + ": element " + std::to_string(i) + " is " +
                        std::to_string(host[i]) + ", not " + std::to_string(right));
        }
    }
};

struct Way {
    const char *what;
    std::function<void()> call;
    int calls = 1; // back to back; the sums of several are not checked
    const char *collective = "allreduce";
    bool sums = true;               // the device memory
    std::vector<double> times = {}; // of the slowest rank and one call, in us
};

void measure_once(const Rank &rank, Way &way) {
    rank.fill();
    check(stretto_barrier(rank.comm));
    const auto begin = Clock::now();
    for (int call = 0; call < way.calls; ++call)
        way.call();
    double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / way.calls;
    check(stretto_allreduce(rank.comm, STRETTO_IN_PLACE, &us, 1, STRETTO_FLOAT64, STRETTO_MAX));
    way.times.push_back(us);
    if (way.times.size() == 1 && way.calls == 1 && way.sums)
        rank.verify(way.what);
}

void print(const Rank &rank, const Way &way) {
    if (rank.rank != 0)
        return;
    std::vector<double> times = way.times;
    const double first = times[0];
    std::sort(times.begin(), times.end());
    std::printf("{\"item\":\"%s\",\"ranks\":%d,\"bytes\":%zu,\"what\":\"%s\",\"median\":%.1f,"
                "\"unit\":\"us\",\"p10\":%.1f,\"p90\":%.1f,\"samples\":%zu,\"first\":%.1f}\n",
                way.what, rank.ranks, rank.bytes(), way.collective, times[times.size() / 2],
                times[times.size() / 10], times[times.size() * 9 / 10], times.size(), first);
    std::fflush(stdout);
}

// Some ways at one size, by turns.
void measure(const Rank &rank, Clock::time_point end, int runs, std::vector<Way> ways) {
    for (int run = 0; run < runs; ++run) {
        for (Way &way : ways)
            measure_once(rank, way);
        // All ranks go by the clock of rank 0.
        std::int32_t goes_on = Clock::now() < end ? 1 : 0;
        check(stretto_broadcast(rank.comm, &goes_on, 1, STRETTO_INT32, 0));
        if (goes_on == 0)
            break;
    }
    for (const Way &way : ways)
        print(rank, way);
}

// A communicator of a job of its own.
stretto_comm join(const Rank &rank, const std::string &job, const char *launch) {
    setenv("STRETTO_GPU_LAUNCH", launch, 1);
    stretto_comm comm = nullptr;
    check(stretto_init_explicit(rank.rank, rank.ranks, (job + launch).c_str(), &comm));
    return comm;
}

struct Options {
    std::string job;
    double seconds = 0;
    bool launches = false;
    double engines = 0; // bytes per us; 0: as they are
    std::vector<std::size_t> sizes;
};

void slow_engines(double rate) {
    struct {
        double latency_us, bytes_per_us, turn_us;
    } const speed{5, rate, 0};
    const auto set =
        reinterpret_cast<void (*)(const void *)>(dlsym(RTLD_DEFAULT, "simulated_cuda_speed"));
    if (set == nullptr)
        give_up("--engines is for the simulated driver");
    set(&speed);
}

void run(Rank rank, const Options &options) {
    const auto &[job, seconds, launches, engines, sizes] = options;
    void *context = nullptr;
    check_cuda(cuInit(0), "cuInit");
    check_cuda(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    check_cuda(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    if (rank.ranks == 0)
        check(stretto_init(&rank.comm));
    else
        check(stretto_init_explicit(rank.rank, rank.ranks, job.c_str(), &rank.comm));
    rank.rank = stretto_rank(rank.comm);
    rank.ranks = stretto_size(rank.comm);
    if (engines != 0)
        slow_engines(engines);
    stretto_comm own = launches ? join(rank, job, "own") : nullptr,
                 passes = launches ? join(rank, job, "passes") : nullptr,
                 one = launches ? join(rank, job, "auto") : nullptr;
    for (const std::size_t bytes : sizes) {
        rank.count = bytes / sizeof(std::int32_t);
        unsigned long long device = 0, other = 0;
        void *host = nullptr;
        check_cuda(cuMemAlloc_v2(&device, rank.room()), "cuMemAlloc");
        check_cuda(cuMemAlloc_v2(&other, rank.room()), "cuMemAlloc");
        check_cuda(cuMemHostAlloc(&host, bytes, 0), "cuMemHostAlloc");
        rank.device = reinterpret_cast<std::int32_t *>(device);
        rank.other = reinterpret_cast<std::int32_t *>(other);
        rank.host = static_cast<std::int32_t *>(host);
        const auto release = [&] {
            check_cuda(cuMemFree_v2(device), "cuMemFree");
            check_cuda(cuMemFree_v2(other), "cuMemFree");
            check_cuda(cuMemFreeHost(host), "cuMemFreeHost");
        };
        const auto share = std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(seconds / static_cast<double>(2 * sizes.size())));
        constexpr int kManyRuns = 100, kInARow = 10;
        constexpr const char *kRow = "one pass, back to back";
        if (launches) {
            measure(rank, Clock::now() + 2 * share, kManyRuns,
                    {{"each launches", [&] { rank.sum(own); }},
                     {"one launches", [&] { rank.sum(passes); }},
                     {"one pass", [&] { rank.sum(one); }},
                     {kRow, [&] { rank.sum(one); }, kInARow},
                     {kRow, [&] { rank.scatter_sum(one); }, kInARow, "reduce_scatter"},
                     {kRow, [&] { rank.gather_all(one); }, kInARow, "allgather"},
                     {kRow, [&] { rank.exchange(one); }, kInARow, "alltoall"},
                     {kRow, [&] { rank.broadcast(one); }, kInARow, "broadcast"}});
            release();
            continue;
        }
        // In place where ranks reach one another's memory, staged through the host elsewhere.
        const char *const off = std::getenv("STRETTO_CUDA_IPC");
        const bool staged = off != nullptr || std::getenv("STRETTO_ADDR") != nullptr;
        const char *const way = staged ? "staged" : "in place";
        measure(rank, Clock::now() + share, kRuns,
                {{way, [&] { rank.sum(); }},
                 {way, [&] { rank.pass_on(); }, 1, "message", false},
                 {way, [&] { rank.exchange_counted(); }, 1, "alltoallv", false}});
        measure(rank, Clock::now() + share, kRuns, {{"phases", [&] { rank.in_phases(); }}});
        constexpr int kPartRuns = 3;
        if (staged)
            measure(rank, Clock::now() + share, kPartRuns,
                    {{"in host memory", [&] { rank.in_host_memory(); }, 1, "allreduce", false},
                     {"one copy", [&] { rank.to_host(); }, 1, "allreduce", false}});
        release();
    }
    for (stretto_comm *comm : {&one, &passes, &own, &rank.comm})
        if (*comm != nullptr)
            check(stretto_finalize(comm));
}

} // namespace

int main(int argc, char **argv) {
    int ranks = -1;
    Options options;
    if (argc >= 3) {
        ranks = std::atoi(argv[1]);
        options.seconds = std::atof(argv[2]);
    }
    for (int i = 3; i < argc; ++i)
        if (std::strcmp(argv[i], "--launches") == 0)
            options.launches = true;
        else if (std::strcmp(argv[i], "--engines") == 0 && i + 1 < argc)
            options.engines = std::atof(argv[++i]);
        else
            options.sizes.push_back(std::strtoull(argv[i], nullptr, 10));
    if (ranks < 0 || options.sizes.empty()) {
        std::fprintf(stderr, "usage: collectives RANKS SECONDS [--launches] [--engines RATE] "
                             "BYTES...\n");
        return 2;
    }
    options.job = "gpu-collectives-" + std::to_string(getpid());
    if (ranks == 0) {
        run({}, options);
        return 0;
    }
    std::vector<pid_t> children;
    for (int rank = 0; rank < ranks; ++rank) {
        const pid_t child = fork(); // before any of them calls CUDA
        if (child == 0) {
            Rank own;
            own.rank = rank;
            own.ranks = ranks;
            run(own, options);
            _exit(0);
        }
        children.push_back(child);
    }
    int worst = 0;
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    return worst;
}
