// SPDX-License-Identifier: BSD-3-Clause
// Processes of one host that share one GPU, started by fork() before any of them calls CUDA, and
// what they need to measure together: a barrier, shared words, reports as lines of JSON.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace probe {

constexpr int kMostRanks = 8;
constexpr size_t kHostBytes = size_t{512} << 20; // of the host memory that all processes map
constexpr size_t kMiB = size_t{1} << 20;

// libcuda is loaded at run time: the program starts, and says what is missing, without a driver.
// clang-format off
#define STRETTO_PROBE_DRIVER(X)                                                                    \
    X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) X(cuDeviceGet)           \
    X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent)      \
    X(cuCtxSynchronize) X(cuMemGetInfo) X(cuMemAlloc) X(cuMemFree) X(cuMemGetAddressRange)         \
    X(cuMemsetD32) X(cuMemsetD32Async) X(cuMemcpyDtoH) X(cuMemcpyHtoD) X(cuMemcpyDtoHAsync)        \
    X(cuMemcpyHtoDAsync) X(cuMemcpyDtoDAsync) X(cuMemHostAlloc) X(cuMemFreeHost)                   \
    X(cuMemHostRegister) X(cuMemHostUnregister) X(cuMemHostGetDevicePointer) X(cuStreamCreate)     \
    X(cuStreamSynchronize) X(cuStreamWaitEvent) X(cuStreamWriteValue32) X(cuStreamWaitValue32)     \
    X(cuStreamBatchMemOp) X(cuEventCreate) X(cuEventRecord) X(cuEventSynchronize)                  \
    X(cuIpcGetMemHandle) X(cuIpcOpenMemHandle) X(cuIpcCloseMemHandle) X(cuIpcGetEventHandle)       \
    X(cuIpcOpenEventHandle) X(cuMemGetAllocationGranularity) X(cuMemCreate) X(cuMemRelease)        \
    X(cuMemExportToShareableHandle) X(cuMemImportFromShareableHandle) X(cuMemAddressReserve)       \
    X(cuMemAddressFree) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess) X(cuPointerGetAttribute)
// clang-format on

struct Driver {
#define STRETTO_PROBE_MEMBER(name) decltype(&::name) name = nullptr;
    STRETTO_PROBE_DRIVER(STRETTO_PROBE_MEMBER)
#undef STRETTO_PROBE_MEMBER
};

const Driver &driver(); // throws if libcuda or one of the functions is missing

void check(CUresult result, const char *function);
void check(cudaError_t result, const char *function);

#define CU(function, ...) ::probe::check(::probe::driver().function(__VA_ARGS__), #function)
#define CUDART(function, ...) ::probe::check(function(__VA_ARGS__), #function)
// After each launch of a kernel.
#define LAUNCHED(kernel) ::probe::check(cudaGetLastError(), "launch of " kernel)

inline double now_us() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); // one clock for all processes of the host
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

struct alignas(128) Word {
    std::atomic<uint32_t> value;
};

// Memory that all processes share.
struct Shared {
    std::atomic<uint32_t> failed, stop;
    Word arrived, generation;
    double begin[kMostRanks], end[kMostRanks], value[kMostRanks];
    Word flag[kMostRanks];
    CUipcMemHandle memory[kMostRanks][2];
    CUipcEventHandle event[kMostRanks][4];
    uint64_t number[kMostRanks];
    bool able[kMostRanks];
    char stage[kMostRanks][96];
    char error[kMostRanks][400];
};

struct Rank {
    const char *item;
    int rank, ranks;
    Shared *shared;
    int host_fd;        // memfd of kHostBytes, zeros
    int sockets[2];     // of rank 0 and of rank 1
    double deadline_us; // no wait lasts longer

    CUdevice device = 0;
    CUcontext context = nullptr;
    CUstream stream = nullptr;

    void open_device(); // cuInit, primary context, a stream
    void stage(const std::string &text) const;
    void barrier() const;
    // Waits until `word` has reached `value`; throws if a peer failed or time is up.
    void wait_for(const std::atomic<uint32_t> &word, uint32_t value) const;
    void sync() const { CU(cuStreamSynchronize, stream); }
    void launch_and_sync() const; // an empty kernel
    // At rank 0: what `samples` are like; the others do nothing.
    void report(const std::string &what, const char *unit, std::vector<double> samples,
                size_t bytes = 0) const;
    void note(const std::string &what, const std::string &text) const;

    // Time in us of each `call()`, made `times` times by this rank alone.
    template<typename Call>
    std::vector<double> time(int times, Call call) const {
        std::vector<double> samples;
        for (int i = 0; i < times; ++i) {
            const double start = now_us();
            call();
            samples.push_back(now_us() - start);
        }
        return samples;
    }

    // All ranks call it: from the first start after a barrier to the last end, at rank 0.
    template<typename Call>
    std::vector<double> time_together(int times, Call call) const {
        std::vector<double> samples;
        for (int i = 0; i < times; ++i) {
            barrier();
            shared->begin[rank] = now_us();
            call();
            shared->end[rank] = now_us();
            barrier();
            if (rank == 0) {
                samples.push_back(*std::max_element(shared->end, shared->end + ranks) -
                                  *std::min_element(shared->begin, shared->begin + ranks));
            }
        }
        barrier();
        return samples;
    }

    // What fails here is reported and does not end the item.  No barrier may be in `call`.
    template<typename Call>
    bool attempt(const std::string &what, Call call) const {
        stage(what);
        try {
            call();
            return true;
        } catch (const std::exception &error) {
            note(what, std::string("FAILED ") + error.what());
            return false;
        }
    }

    // All ranks call it: true at all if `call` succeeds at all.
    template<typename Call>
    bool all_can(const std::string &what, Call call) const {
        shared->able[rank] = attempt(what, call);
        barrier();
        const bool all = std::all_of(shared->able, shared->able + ranks, [](bool b) { return b; });
        barrier();
        return all;
    }
};

// Memory of this rank, and of all ranks as this rank sees it.
struct Window {
    CUdeviceptr of[kMostRanks] = {};
    // All ranks call it, with a slot of their own for each window that is open at once.
    Window(const Rank &rank, size_t bytes, int slot);
    void close(const Rank &rank); // all ranks call it
};

void *map_host(const Rank &rank); // all of rank.host_fd; throws

uint32_t word_at(CUdeviceptr address);
// Copies by a kernel, 16 bytes a thread at once.
void launch_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, int blocks, CUstream stream);

inline uint32_t *pointer(CUdeviceptr address) {
    return reinterpret_cast<uint32_t *>(address);
}

inline void require(uint32_t is, uint32_t expected, const char *what) {
    if (is == expected)
        return;
    throw std::runtime_error(std::string(what) + ": " + std::to_string(is) + " rather than " +
                             std::to_string(expected));
}

// The first page of the host memory that all ranks map, and its address for kernels.
struct HostPage {
    uint32_t *host = nullptr;
    CUdeviceptr device = 0;
    explicit HostPage(const Rank &rank) : host(static_cast<uint32_t *>(map_host(rank))) {
        rank.stage("cuMemHostRegister of a page");
        CU(cuMemHostRegister, host, 65536,
           CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE);
        CU(cuMemHostGetDevicePointer, &device, host, 0);
    }
};

// Events of all ranks, as this rank sees them.
struct Events {
    static constexpr int kOfEach = 4; // two in turn are used; more show what the later ones cost
    CUevent of[kMostRanks][kOfEach] = {};
    explicit Events(const Rank &rank, bool report = false) {
        rank.stage("interprocess events");
        std::vector<double> creates, gets, opens;
        const auto timed = [&](std::vector<double> &into, auto call) {
            into.push_back(rank.time(1, call)[0]);
        };
        for (int i = 0; i < kOfEach; ++i) {
            CUevent &mine = of[rank.rank][i];
            timed(creates, [&] {
                CU(cuEventCreate, &mine, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
            });
            timed(gets, [&] { CU(cuIpcGetEventHandle, &rank.shared->event[rank.rank][i], mine); });
        }
        rank.barrier();
        for (int peer = 0; peer < rank.ranks; ++peer) {
            for (int i = 0; peer != rank.rank && i < kOfEach; ++i) {
                timed(opens,
                      [&] { CU(cuIpcOpenEventHandle, &of[peer][i], rank.shared->event[peer][i]); });
            }
        }
        rank.barrier();
        if (!report)
            return;
        const auto both = [&](const std::string &what, const std::vector<double> &us) {
            rank.report(what + ", first", "us", {us.front()});
            rank.report(what + ", later", "us", {us.begin() + 1, us.end()});
        };
        both("cuEventCreate, interprocess", creates);
        both("cuIpcGetEventHandle", gets);
        both("cuIpcOpenEventHandle", opens);
    }
};

inline void post(Rank &rank, uint32_t value) {
    rank.shared->flag[rank.rank].value.store(value, std::memory_order_release);
}

// Items: what each measures is in README.md.
void device_item(Rank &rank);
void start_item(Rank &rank);
void ipc_item(Rank &rank);
void vmm_item(Rank &rank);
void event_item(Rank &rank);
void memop_item(Rank &rank);
void waiter_item(Rank &rank);
void blocking_item(Rank &rank);
void small_item(Rank &rank);
void copy_item(Rank &rank);
void onepass_item(Rank &rank);
void host_item(Rank &rank);
void hosts_item(Rank &rank);

} // namespace probe
