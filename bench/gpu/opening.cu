// SPDX-License-Identifier: BSD-3-Clause
// What the device can do, and what it costs to open it, to share memory, to launch.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "probe.h"

namespace probe {

namespace {

// Bounded by the clock of the processor that runs it; waits for nobody.
__global__ void busy(long long cycles) {
    for (const long long start = clock64(); clock64() - start < cycles;) {
    }
}

double free_mib() {
    size_t free = 0, all = 0;
    CU(cuMemGetInfo, &free, &all);
    return static_cast<double>(free) / static_cast<double>(kMiB);
}

std::string hex(uint64_t number) {
    char text[32];
    snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
    return text;
}

// Rank 0 works while all others keep the GPU busy by kernels of 0.3 ms at the highest clock.
void beside_busy_peers(const Rank &rank) {
    int kilohertz = 0;
    CU(cuDeviceGetAttribute, &kilohertz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, rank.device);
    const long long cycles = 3ll * kilohertz / 10;
    struct Load {
        const char *peers;
        int blocks, queued; // kernels that a peer enqueues at once
    };
    const Load loads[] = {{"peers run a kernel of 0.3 ms on 1 block at a time", 1, 1},
                          {"peers run a kernel of 0.3 ms on the whole GPU at a time", 264, 1},
                          // Longer than a time slice: how long that is shows in rank 0's waits.
                          {"peers have 40 kernels of 0.3 ms enqueued", 264, 40}};
    HostPage page(rank);
    CUdeviceptr device = 0, second = 0;
    CU(cuMemAlloc, &device, 2 * kMiB);
    CU(cuMemAlloc, &second, 2 * kMiB);
    const auto own = [&](int blocks) {
        busy<<<blocks, 256, 0, rank.stream>>>(cycles);
        LAUNCHED("busy");
    };
    const auto measure = [&](const std::string &beside, int times, int blocks) {
        const auto report = [&](const char *what, auto call, size_t bytes = 0) {
            rank.stage(std::string(what) + ", " + beside);
            const auto once = [&] {
                call();
                rank.sync();
            };
            once();
            rank.report(std::string(what) + ", " + beside, "us", rank.time(times, once), bytes);
        };
        report("launch and sync", [&] { rank.launch_and_sync(); });
        report("own kernel of 0.3 ms", [&] { own(blocks); });
        // Which of these needs a turn of its process on the GPU?
        report("memory operation",
               [&] { CU(cuStreamWriteValue32, rank.stream, page.device + 4096, 1u, 0u); });
        for (const size_t bytes : {size_t{8}, size_t{32} << 10}) {
            report(
                "copy to registered memory",
                [&] { CU(cuMemcpyDtoHAsync, page.host, device, bytes, rank.stream); }, bytes);
            report(
                "copy from registered memory",
                [&] { CU(cuMemcpyHtoDAsync, device, page.host, bytes, rank.stream); }, bytes);
        }
        report(
            "copy on the device", [&] { CU(cuMemcpyDtoDAsync, second, device, kMiB, rank.stream); },
            kMiB);
    };
    if (rank.rank == 0)
        measure("peers are idle", 50, 264);
    for (const Load &load : loads) {
        rank.barrier();
        if (rank.rank == 0)
            rank.shared->stop.store(0);
        rank.barrier();
        if (rank.rank == 0) {
            measure(load.peers, load.queued > 1 ? 10 : 30, load.blocks);
            rank.shared->stop.store(1);
        }
        while (rank.rank != 0 && rank.shared->stop.load() == 0 && rank.shared->failed.load() == 0) {
            for (int i = 0; i < load.queued; ++i)
                own(load.blocks);
            rank.sync();
        }
    }
    rank.barrier();
}

} // namespace

void device_item(Rank &rank) {
    rank.open_device();
    char name[128] = "";
    int version = 0;
    CU(cuDeviceGetName, name, sizeof name, rank.device);
    CU(cuDriverGetVersion, &version);
    rank.note("name", name);
    rank.note("driver's CUDA version", std::to_string(version));
    rank.note("free MiB", std::to_string(free_mib()));
    const char *mps = getenv("CUDA_MPS_PIPE_DIRECTORY");
    const bool socket = access(mps ? mps : "/tmp/nvidia-mps", F_OK) == 0;
    rank.note("MPS", socket ? "its folder exists" : "no folder of its daemon");
#define STRETTO_PROBE_ATTRIBUTE(name)                                                              \
    rank.attempt(#name, [&] {                                                                      \
        int value = 0;                                                                             \
        CU(cuDeviceGetAttribute, &value, CU_DEVICE_ATTRIBUTE_##name, rank.device);                 \
        rank.note(#name, std::to_string(value));                                                   \
    });
    STRETTO_PROBE_ATTRIBUTE(MULTIPROCESSOR_COUNT)
    STRETTO_PROBE_ATTRIBUTE(L2_CACHE_SIZE)
    STRETTO_PROBE_ATTRIBUTE(CLOCK_RATE)
    STRETTO_PROBE_ATTRIBUTE(ASYNC_ENGINE_COUNT)
    STRETTO_PROBE_ATTRIBUTE(COMPUTE_MODE)
    STRETTO_PROBE_ATTRIBUTE(COMPUTE_PREEMPTION_SUPPORTED)
    STRETTO_PROBE_ATTRIBUTE(UNIFIED_ADDRESSING)
    STRETTO_PROBE_ATTRIBUTE(PAGEABLE_MEMORY_ACCESS)
    STRETTO_PROBE_ATTRIBUTE(CONCURRENT_MANAGED_ACCESS)
    STRETTO_PROBE_ATTRIBUTE(HOST_REGISTER_SUPPORTED)
    STRETTO_PROBE_ATTRIBUTE(READ_ONLY_HOST_REGISTER_SUPPORTED)
    STRETTO_PROBE_ATTRIBUTE(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM)
    STRETTO_PROBE_ATTRIBUTE(CAN_USE_STREAM_MEM_OPS_V1)
    STRETTO_PROBE_ATTRIBUTE(CAN_USE_64_BIT_STREAM_MEM_OPS)
    STRETTO_PROBE_ATTRIBUTE(CAN_USE_STREAM_WAIT_VALUE_NOR)
    STRETTO_PROBE_ATTRIBUTE(CAN_FLUSH_REMOTE_WRITES)
    STRETTO_PROBE_ATTRIBUTE(IPC_EVENT_SUPPORTED)
    STRETTO_PROBE_ATTRIBUTE(MEM_SYNC_DOMAIN_COUNT)
    STRETTO_PROBE_ATTRIBUTE(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)
    STRETTO_PROBE_ATTRIBUTE(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)
    STRETTO_PROBE_ATTRIBUTE(HANDLE_TYPE_FABRIC_SUPPORTED)
    STRETTO_PROBE_ATTRIBUTE(MEMORY_POOLS_SUPPORTED)
    STRETTO_PROBE_ATTRIBUTE(GPU_DIRECT_RDMA_SUPPORTED)
    STRETTO_PROBE_ATTRIBUTE(DMA_BUF_SUPPORTED)
    STRETTO_PROBE_ATTRIBUTE(MULTICAST_SUPPORTED)
#undef STRETTO_PROBE_ATTRIBUTE
}

void start_item(Rank &rank) {
    double init = 0, retain = 0, first = 0, before = 0;
    const auto open = [&] {
        rank.stage("cuInit");
        init = rank.time(1, [&] { CU(cuInit, 0); })[0];
        rank.stage("cuDevicePrimaryCtxRetain");
        CU(cuDeviceGet, &rank.device, 0);
        retain = rank.time(1, [&] {
            CU(cuDevicePrimaryCtxRetain, &rank.context, rank.device);
            CU(cuCtxSetCurrent, rank.context);
        })[0];
        CU(cuStreamCreate, &rank.stream, CU_STREAM_NON_BLOCKING);
        rank.stage("first launch");
        first = rank.time(1, [&] { rank.launch_and_sync(); })[0];
    };
    // Rank 0 alone, then all others at once.
    if (rank.rank == 0) {
        open();
        before = free_mib();
    }
    rank.barrier();
    if (rank.rank != 0)
        open();
    const auto report_all = [&](const char *what, double mine) {
        rank.shared->value[rank.rank] = mine;
        rank.barrier();
        rank.report(std::string(what) + ", rank 0 alone", "us", {rank.shared->value[0]});
        rank.report(std::string(what) + ", the others at once", "us",
                    {rank.shared->value + 1, rank.shared->value + rank.ranks});
        rank.barrier();
    };
    report_all("cuInit", init);
    report_all("cuDevicePrimaryCtxRetain", retain);
    report_all("first launch and its end", first);
    if (rank.rank == 0 && rank.ranks > 1) {
        rank.report("memory of each context", "MiB", {(before - free_mib()) / (rank.ranks - 1)});
    }
    rank.barrier();
    if (rank.rank == 0) {
        rank.stage("cuMemAlloc, cuMemFree");
        std::vector<double> allocs, frees;
        for (int i = 0; i < 8; ++i) {
            CUdeviceptr memory = 0;
            allocs.push_back(rank.time(1, [&] { CU(cuMemAlloc, &memory, 64 * kMiB); })[0]);
            frees.push_back(rank.time(1, [&] { CU(cuMemFree, memory); })[0]);
        }
        rank.report("cuMemAlloc", "us", allocs, 64 * kMiB);
        rank.report("cuMemFree", "us", frees, 64 * kMiB);
        rank.stage("launches alone");
        rank.time(20, [&] { rank.launch_and_sync(); });
        rank.report("launch and sync, alone", "us",
                    rank.time(300, [&] { rank.launch_and_sync(); }));
    }
    rank.barrier();
    if (rank.ranks == 1)
        return;
    rank.stage("launches of all");
    const auto samples = rank.time(300, [&] { rank.launch_and_sync(); });
    rank.barrier();
    rank.report("launch and sync, all ranks do the same", "us", samples);
    beside_busy_peers(rank);
}

void ipc_item(Rank &rank) {
    rank.open_device();
    Shared &shared = *rank.shared;
    const int me = rank.rank;
    constexpr size_t kOffset = 3 * kMiB + 4096;
    for (const size_t bytes : {2 * kMiB, 256 * kMiB, 1024 * kMiB}) {
        if (bytes > 256 * kMiB && rank.ranks > 2)
            continue;
        rank.stage("legacy handles of " + std::to_string(bytes / kMiB) + " MiB");
        const size_t offset = bytes > kOffset ? kOffset : 4096;
        std::vector<double> gets, opens, again, closes;
        CUdeviceptr mine = 0;
        CU(cuMemAlloc, &mine, bytes);
        CU(cuMemsetD32, mine + offset, 1000u + static_cast<unsigned>(me), 1);
        CU(cuCtxSynchronize);
        gets = rank.time(20, [&] { CU(cuIpcGetMemHandle, &shared.memory[me][0], mine); });
        for (int round = 0; round < 5; ++round) {
            rank.barrier();
            for (int peer = 0; peer < rank.ranks; ++peer) {
                if (peer == me)
                    continue;
                CUdeviceptr theirs = 0, second = 0;
                const auto open = [&](CUdeviceptr *address) {
                    return rank.time(1, [&] {
                        CU(cuIpcOpenMemHandle, address, shared.memory[peer][0],
                           CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
                    })[0];
                };
                opens.push_back(open(&theirs));
                if (word_at(theirs + offset) != 1000u + static_cast<unsigned>(peer)) {
                    throw std::runtime_error("an opened handle shows other memory");
                }
                rank.attempt("the same handle opened again", [&] {
                    again.push_back(open(&second));
                    if (round == 0 && me == 0 && peer == 1) {
                        rank.note("the same handle opened again",
                                  second == theirs ? "same address" : "another address");
                    }
                    CU(cuIpcCloseMemHandle, second);
                });
                closes.push_back(rank.time(1, [&] { CU(cuIpcCloseMemHandle, theirs); })[0]);
            }
        }
        rank.barrier();
        rank.report("cuIpcGetMemHandle", "us", gets, bytes);
        rank.report("cuIpcOpenMemHandle", "us", opens, bytes);
        rank.report("cuIpcOpenMemHandle, already open", "us", again, bytes);
        rank.report("cuIpcCloseMemHandle", "us", closes, bytes);
        CU(cuMemFree, mine);
        rank.barrier();
    }
    if (rank.ranks != 2)
        return;
    // What a handle of an address inside an allocation opens, and of one of two small allocations.
    CUdeviceptr large = 0, small[2] = {};
    if (me == 1) {
        rank.stage("handles of inner addresses");
        CU(cuMemAlloc, &large, 64 * kMiB);
        CU(cuMemsetD32, large, 7, 1);
        CU(cuMemsetD32, large + kOffset, 8, 1);
        for (int i = 0; i < 2; ++i) {
            CU(cuMemAlloc, &small[i], 4096);
            CU(cuMemsetD32, small[i], static_cast<unsigned>(21 + i), 1);
        }
        CU(cuCtxSynchronize);
        for (const CUdeviceptr address : {large + kOffset, small[0], small[1]}) {
            CUdeviceptr base = 0;
            size_t size = 0;
            CU(cuMemGetAddressRange, &base, &size, address);
            rank.note("cuMemGetAddressRange", "offset " + hex(address - base) + " of " +
                                                  std::to_string(size) + " bytes at " + hex(base));
        }
        const auto cost = rank.time(100, [&] {
            CUdeviceptr base = 0;
            size_t size = 0;
            CU(cuMemGetAddressRange, &base, &size, large + kOffset);
        });
        rank.shared->value[1] = *std::min_element(cost.begin(), cost.end());
        CU(cuIpcGetMemHandle, &shared.memory[1][0], large + kOffset);
        CU(cuIpcGetMemHandle, &shared.memory[1][1], small[1]);
    }
    rank.barrier();
    if (me == 0) {
        rank.report("cuMemGetAddressRange (fastest)", "us", {rank.shared->value[1]});
        rank.attempt("handle of an inner address", [&] {
            CUdeviceptr opened = 0;
            CU(cuIpcOpenMemHandle, &opened, shared.memory[1][0], 1);
            const uint32_t word = word_at(opened);
            rank.note("handle of an inner address",
                      word == 7   ? "opens the base of the allocation"
                      : word == 8 ? "opens the inner address"
                                  : "opens something else: " + std::to_string(word));
            CU(cuIpcCloseMemHandle, opened);
        });
        rank.attempt("handle of the second small allocation", [&] {
            CUdeviceptr opened = 0;
            CU(cuIpcOpenMemHandle, &opened, shared.memory[1][1], 1);
            rank.note("handle of the second small allocation",
                      "its first word is " + std::to_string(word_at(opened)) +
                          " (22: the allocation itself; 21 or another: a block that holds it)");
            CU(cuIpcCloseMemHandle, opened);
        });
    }
    rank.barrier();
    if (me == 1) {
        // Whether a cached handle can be told from that of later memory at the same address.
        rank.attempt("freed and allocated again", [&] {
            unsigned long long id[2] = {};
            CUdeviceptr address[2] = {};
            CUipcMemHandle handle[2] = {};
            for (int i = 0; i < 2; ++i) {
                CU(cuMemAlloc, &address[i], 64 * kMiB);
                CU(cuPointerGetAttribute, &id[i], CU_POINTER_ATTRIBUTE_BUFFER_ID, address[i]);
                CU(cuIpcGetMemHandle, &handle[i], address[i]);
                CU(cuMemFree, address[i]);
            }
            const bool same = memcmp(&handle[0], &handle[1], sizeof handle[0]) == 0;
            rank.note("freed and allocated again",
                      std::string(address[0] == address[1] ? "same address, " : "new address, ") +
                          (same ? "same handle, " : "new handle, ") + "buffer ids " +
                          std::to_string(id[0]) + " and " + std::to_string(id[1]));
        });
    }
    rank.barrier();
}

} // namespace probe
