// SPDX-License-Identifier: BSD-3-Clause
// Allreduces of buffers on one GPU by several processes, in place or staged through the host, and
// in three phases: the whole vector to pinned host memory, an allreduce there, the whole vector
// back. Needs the library and a CUDA driver (or the tests' simulated one), and no CUDA to compile.
// Prints a line of JSON for each number.
//
//     collectives RANKS SECONDS BYTES...
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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
    int rank = 0, ranks = 1;
    std::size_t count = 0;
    std::int32_t *device = nullptr, *host = nullptr;

    std::size_t bytes() const { return count * sizeof(std::int32_t); }

    void fill() const {
        for (std::size_t i = 0; i < count; ++i)
            host[i] = contribution(rank, i);
        check_cuda(cuMemcpy(address(device), address(host), bytes()), "cuMemcpy");
    }
    void direct() const {
        check(stretto_allreduce(comm, STRETTO_IN_PLACE, device, count, STRETTO_INT32, STRETTO_SUM));
    }
    void in_phases() const {
        check_cuda(cuMemcpy(address(host), address(device), bytes()), "cuMemcpy");
        check(stretto_allreduce(comm, STRETTO_IN_PLACE, host, count, STRETTO_INT32, STRETTO_SUM));
        check_cuda(cuMemcpy(address(device), address(host), bytes()), "cuMemcpy");
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

// The times of one way at one size, of the slowest rank.
template<class Call>
void measure(const Rank &rank, const char *what, Clock::time_point end, Call &&call) {
    std::vector<double> times;
    for (int run = 0; run < kRuns; ++run) {
        rank.fill();
        check(stretto_barrier(rank.comm));
        const auto begin = Clock::now();
        call();
        double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
        check(stretto_allreduce(rank.comm, STRETTO_IN_PLACE, &us, 1, STRETTO_FLOAT64, STRETTO_MAX));
        times.push_back(us);
        if (run == 0)
            rank.verify(what);
        // All ranks go by the clock of rank 0.
        std::int32_t goes_on = Clock::now() < end ? 1 : 0;
        check(stretto_broadcast(rank.comm, &goes_on, 1, STRETTO_INT32, 0));
        if (goes_on == 0)
            break;
    }
    if (rank.rank != 0)
        return;
    const double first = times[0];
    std::sort(times.begin(), times.end());
    std::printf(
        "{\"item\":\"%s\",\"ranks\":%d,\"bytes\":%zu,\"what\":\"allreduce\",\"median\":%.1f,"
        "\"unit\":\"us\",\"p10\":%.1f,\"p90\":%.1f,\"samples\":%zu,\"first\":%.1f}\n",
        what, rank.ranks, rank.bytes(), times[times.size() / 2], times[times.size() / 10],
        times[times.size() * 9 / 10], times.size(), first);
    std::fflush(stdout);
}

void run(Rank rank, const std::string &job, double seconds, const std::vector<std::size_t> &sizes) {
    void *context = nullptr;
    check_cuda(cuInit(0), "cuInit");
    check_cuda(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    check_cuda(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(stretto_init_explicit(rank.rank, rank.ranks, job.c_str(), &rank.comm));
    for (const std::size_t bytes : sizes) {
        rank.count = bytes / sizeof(std::int32_t);
        unsigned long long device = 0;
        void *host = nullptr;
        check_cuda(cuMemAlloc_v2(&device, bytes), "cuMemAlloc");
        check_cuda(cuMemHostAlloc(&host, bytes, 0), "cuMemHostAlloc");
        rank.device = reinterpret_cast<std::int32_t *>(device);
        rank.host = static_cast<std::int32_t *>(host);
        const auto share = std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(seconds / static_cast<double>(2 * sizes.size())));
        // In place where ranks reach one another's memory, staged through the host elsewhere.
        const char *const off = std::getenv("STRETTO_CUDA_IPC");
        const bool staged = off != nullptr || std::getenv("STRETTO_FAKE_HOSTS") != nullptr;
        measure(rank, staged ? "staged" : "in place", Clock::now() + share, [&] { rank.direct(); });
        measure(rank, "phases", Clock::now() + share, [&] { rank.in_phases(); });
        check_cuda(cuMemFree_v2(device), "cuMemFree");
        check_cuda(cuMemFreeHost(host), "cuMemFreeHost");
    }
    check(stretto_finalize(&rank.comm));
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: collectives RANKS SECONDS BYTES...\n");
        return 2;
    }
    const int ranks = std::atoi(argv[1]);
    std::vector<std::size_t> sizes;
    for (int i = 3; i < argc; ++i)
        sizes.push_back(std::strtoull(argv[i], nullptr, 10));
    const std::string job = "gpu-collectives-" + std::to_string(getpid());
    std::vector<pid_t> children;
    for (int rank = 0; rank < ranks; ++rank) {
        const pid_t child = fork(); // before any of them calls CUDA
        if (child == 0) {
            Rank own;
            own.rank = rank;
            own.ranks = ranks;
            run(own, job, std::atof(argv[2]), sizes);
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
