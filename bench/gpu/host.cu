// SPDX-License-Identifier: BSD-3-Clause
// Between the device and host memory that processes share: registration, copies, direct access.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "probe.h"

namespace probe {

namespace {

constexpr unsigned kMapped = CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE;
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

enum Direction { kToHost, kToDevice, kBoth };
const char *const kNames[] = {"device to host", "host to device", "both at once, sum"};

std::vector<double> gigabytes_per_second(const std::vector<double> &us, double bytes) {
    std::vector<double> rates;
    for (const double t : us)
        rates.push_back(bytes / t * 1e-3);
    return rates;
}

// Two streams and two device buffers, so that both directions can be busy.
struct Copies {
    const Rank &rank;
    size_t bytes;
    CUstream streams[2] = {};
    CUdeviceptr device[2] = {};
    Copies(const Rank &owner, size_t size) : rank(owner), bytes(size) {
        for (int i = 0; i < 2; ++i) {
            CU(cuStreamCreate, &streams[i], CU_STREAM_NON_BLOCKING);
            CU(cuMemAlloc, &device[i], bytes);
            CU(cuMemsetD32, device[i], 17u + static_cast<unsigned>(i), bytes / 4);
        }
        CU(cuCtxSynchronize);
    }
    // All of `bytes` each way, in slices; `host` has 2 * bytes.
    void run(Direction direction, char *host, size_t slice) const {
        for (size_t at = 0; at < bytes; at += slice) {
            const size_t size = std::min(slice, bytes - at);
            if (direction != kToDevice) {
                CU(cuMemcpyDtoHAsync, host + at, device[0] + at, size, streams[0]);
            }
            if (direction != kToHost) {
                CU(cuMemcpyHtoDAsync, device[1] + at, host + bytes + at, size, streams[1]);
            }
        }
        for (CUstream stream : streams)
            CU(cuStreamSynchronize, stream);
    }
    double moved(Direction direction) const {
        return static_cast<double>(bytes) * (direction == kBoth ? 2 : 1);
    }
};

__global__ void set(uint32_t *word, uint32_t value) {
    *word = value;
}

void latencies(const Rank &rank, uint32_t *host, CUdeviceptr host_on_device, CUdeviceptr device) {
    uint64_t word = 0;
    rank.stage("latencies");
    const auto report = [&](const char *what, auto call) {
        rank.time(10, call);
        rank.report(what, "us", rank.time(200, call), 8);
    };
    report("8 bytes to registered memory, cuMemcpyDtoHAsync and sync", [&] {
        CU(cuMemcpyDtoHAsync, host, device, 8, rank.stream);
        rank.sync();
    });
    report("8 bytes to pageable memory, cuMemcpyDtoH", [&] { CU(cuMemcpyDtoH, &word, device, 8); });
    report("8 bytes from registered memory, cuMemcpyHtoDAsync and sync", [&] {
        CU(cuMemcpyHtoDAsync, device, host, 8, rank.stream);
        rank.sync();
    });
    report("8 bytes from pageable memory, cuMemcpyHtoD",
           [&] { CU(cuMemcpyHtoD, device, &word, 8); });
    auto *seen = reinterpret_cast<std::atomic<uint32_t> *>(host + 1024);
    seen->store(0);
    uint32_t turn = 0;
    report("launch until the host sees the word that the kernel writes", [&] {
        set<<<1, 1, 0, rank.stream>>>(reinterpret_cast<uint32_t *>(host_on_device + 4096), ++turn);
        LAUNCHED("set");
        rank.wait_for(*seen, turn);
    });
    rank.sync();
}

} // namespace

// One process: what registration costs, and what the link gives.
void host_item(Rank &rank) {
    rank.open_device();
    constexpr size_t kEach = 128 * kMiB;
    char *shared = static_cast<char *>(map_host(rank));
    rank.report("first touch of the shared mapping (1 thread)", "us",
                rank.time(1, [&] { memset(shared, 1, 2 * kEach); }), 2 * kEach);
    for (const size_t bytes : {kMiB / 16, kMiB, 16 * kMiB, 2 * kEach}) {
        rank.stage("cuMemHostRegister");
        std::vector<double> registers, unregisters;
        for (int i = 0; i < 3; ++i) {
            registers.push_back(
                rank.time(1, [&] { CU(cuMemHostRegister, shared, bytes, kMapped); })[0]);
            unregisters.push_back(rank.time(1, [&] { CU(cuMemHostUnregister, shared); })[0]);
        }
        rank.report("cuMemHostRegister of a memfd's mapping", "us", registers, bytes);
        rank.report("cuMemHostUnregister", "us", unregisters, bytes);
    }
    CU(cuMemHostRegister, shared, 2 * kEach, kMapped);
    CUdeviceptr on_device = 0;
    CU(cuMemHostGetDevicePointer, &on_device, shared, 0);
    rank.note("device pointer of registered memory",
              on_device == reinterpret_cast<CUdeviceptr>(shared) ? "is the host's" : "is another");
    const Copies copies(rank, kEach);
    latencies(rank, reinterpret_cast<uint32_t *>(shared), on_device, copies.device[0]);
    void *allocated = nullptr;
    rank.report(
        "cuMemHostAlloc", "us",
        rank.time(1, [&] { CU(cuMemHostAlloc, &allocated, 2 * kEach, CU_MEMHOSTALLOC_PORTABLE); }),
        2 * kEach);
    std::unique_ptr<char, void (*)(void *)> pageable(static_cast<char *>(malloc(2 * kEach)), free);
    if (pageable == nullptr)
        throw std::runtime_error("malloc failed");
    memset(pageable.get(), 1, 2 * kEach);
    memset(allocated, 1, 2 * kEach);
    struct Kind {
        const char *name;
        char *memory;
    };
    for (const Kind &kind :
         {Kind{"registered memfd", shared}, Kind{"cuMemHostAlloc", static_cast<char *>(allocated)},
          Kind{"pageable", pageable.get()}}) {
        for (const Direction direction : {kToHost, kToDevice, kBoth}) {
            for (const size_t slice : {kMiB / 16, kMiB / 4, kMiB, 4 * kMiB, 16 * kMiB}) {
                const bool first = kind.memory == shared;
                if (!first && slice != 4 * kMiB && slice != kMiB / 4)
                    continue;
                rank.stage(std::string(kNames[direction]) + ", " + kind.name);
                const auto once = [&] { copies.run(direction, kind.memory, slice); };
                once();
                rank.report(
                    std::string(kNames[direction]) + ", " + kind.name + ", by slice", "GB/s",
                    gigabytes_per_second(rank.time(first ? 5 : 3, once), copies.moved(direction)),
                    slice);
            }
        }
    }
    // One slice, and its end: what a step of a pipeline costs that waits for it.
    for (const size_t slice : {kMiB / 16, kMiB / 4, kMiB, 4 * kMiB}) {
        rank.report("one slice to the host and sync", "us",
                    rank.time(30,
                              [&] {
                                  CU(cuMemcpyDtoHAsync, shared, copies.device[0], slice,
                                     rank.stream);
                                  rank.sync();
                              }),
                    slice);
    }
    // What the kernels have to replace, and what they have to find.
    memset(shared + kEach - 4096, 1, 4096);
    memset(shared + 2 * kEach - 4096, 0x23, 4096);
    for (const int blocks : {8, 32, 132, 528}) {
        rank.stage("direct access of kernels");
        const std::string grid = ", grid of " + std::to_string(blocks);
        const auto report = [&](const char *what, double moved, auto call) {
            call();
            rank.report(what + grid, "GB/s", gigabytes_per_second(rank.time(4, call), moved),
                        kEach);
        };
        const auto bytes = static_cast<double>(kEach);
        const CUdeviceptr second = on_device + kEach;
        report("kernel writes registered memory", bytes, [&] {
            launch_copy(on_device, copies.device[0], kEach, blocks, rank.stream);
            rank.sync();
        });
        report("kernel reads registered memory", bytes, [&] {
            launch_copy(copies.device[1], second, kEach, blocks, rank.stream);
            rank.sync();
        });
        report("a kernel reads, another writes registered memory, sum", 2 * bytes, [&] {
            launch_copy(on_device, copies.device[0], kEach, blocks, copies.streams[0]);
            launch_copy(copies.device[1], second, kEach, blocks, copies.streams[1]);
            for (CUstream stream : copies.streams)
                CU(cuStreamSynchronize, stream);
        });
    }
    uint32_t word = 0;
    memcpy(&word, shared + kEach - 4, sizeof word);
    if (word != 17u)
        throw std::runtime_error("the host does not see what the kernel wrote");
    if (word_at(copies.device[1] + kEach - 4) != 0x23232323u)
        throw std::runtime_error("the kernel does not see what the host wrote");
}

// Several processes: the same mapping registered by all, the link shared by all.
void hosts_item(Rank &rank) {
    rank.open_device();
    char *shared = static_cast<char *>(map_host(rank));
    const size_t part = kHostBytes / static_cast<size_t>(rank.ranks);
    rank.stage("first touch by all");
    rank.report("first touch by all ranks", "us",
                rank.time_together(
                    1, [&] { memset(shared + part * static_cast<size_t>(rank.rank), 1, part); }),
                kHostBytes);
    rank.stage("cuMemHostRegister by all");
    const auto samples = rank.time_together(3, [&] {
        CU(cuMemHostRegister, shared, kHostBytes, kMapped);
        CU(cuMemHostUnregister, shared);
    });
    rank.report("cuMemHostRegister and Unregister of the same memory by all ranks at once", "us",
                samples, kHostBytes);
    rank.report("cuMemHostRegister of the same memory by all ranks at once", "us/GiB", [&] {
        auto us =
            rank.time_together(1, [&] { CU(cuMemHostRegister, shared, kHostBytes, kMapped); });
        for (double &t : us)
            t *= kGiB / static_cast<double>(kHostBytes);
        return us;
    }());
    // All ranks at once; of its part each uses two halves.
    const Copies copies(rank, std::min(part / 2, 64 * kMiB));
    for (const Direction direction : {kToHost, kToDevice, kBoth}) {
        for (const size_t slice : {kMiB / 4, kMiB, 4 * kMiB}) {
            rank.stage(std::string(kNames[direction]) + " by all");
            const auto once = [&] {
                copies.run(direction, shared + part * static_cast<size_t>(rank.rank), slice);
            };
            rank.time_together(1, once);
            rank.report(std::string(kNames[direction]) + ", all ranks at once, by slice", "GB/s",
                        gigabytes_per_second(rank.time_together(6, once),
                                             copies.moved(direction) * rank.ranks),
                        slice);
        }
    }
}

} // namespace probe
