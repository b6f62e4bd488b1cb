// SPDX-License-Identifier: BSD-3-Clause
// Order between streams of processes that share a GPU, without kernels that spin: interprocess
// events, stream memory operations; what a waiting stream does to the others.
#include <cstring>

#include "probe.h"

namespace probe {

namespace {

__global__ void add_one(uint32_t *word) {
    *word += 1;
}

constexpr int kHops = 50; // of each rank

} // namespace

// Ranks take turns to add one to a word of rank 0; each waits for the rank before it.
void event_item(Rank &rank) {
    rank.open_device();
    const Events events(rank, true);
    Window window(rank, 4096, 0);
    CU(cuMemsetD32, window.of[rank.rank], 0, 1024);
    CU(cuCtxSynchronize);
    const int me = rank.rank, ranks = rank.ranks, peer = (me + ranks - 1) % ranks;
    uint32_t posted = 0, done = 0;
    for (const bool synchronous : {false, true}) {
        rank.stage(synchronous ? "ping-pong, host waits" : "ping-pong by events");
        const auto samples = rank.time_together(5, [&] {
            for (int hop = 0; hop < kHops; ++hop) {
                if (me != 0 ||
                    hop > 0) { // rank 0's turn `hop` follows the last rank's turn `hop - 1`
                    rank.wait_for(rank.shared->flag[peer].value, posted + (me != 0 ? 1 : 0));
                    if (!synchronous) {
                        CU(cuStreamWaitEvent, rank.stream, events.of[peer][0], 0);
                    }
                }
                add_one<<<1, 1, 0, rank.stream>>>(pointer(window.of[0]));
                LAUNCHED("add_one");
                if (synchronous) {
                    rank.sync();
                } else {
                    CU(cuEventRecord, events.of[me][0], rank.stream);
                }
                post(rank, ++posted);
            }
            rank.sync();
        });
        rank.barrier();
        done += static_cast<uint32_t>(5 * ranks * kHops);
        if (me == 0)
            require(word_at(window.of[0]), done, "turns counted");
        std::vector<double> hops;
        for (const double us : samples)
            hops.push_back(us / (ranks * kHops));
        rank.report(synchronous ? "hop: kernel, cuStreamSynchronize, flag in shared memory"
                                : "hop: kernel, record, flag in shared memory, wait of the stream",
                    "us", hops);
        rank.barrier();
    }
    rank.stage("cuEventSynchronize of a peer's event");
    // The peer's event is complete: the cost of asking is what is left.
    rank.report("cuEventSynchronize of a peer's complete event", "us",
                rank.time(100, [&] { CU(cuEventSynchronize, events.of[peer][0]); }));
    window.close(rank);
}

// The same by stream memory operations, all enqueued at once.
void memop_item(Rank &rank) {
    rank.open_device();
    const HostPage page(rank);
    Window window(rank, 4096, 0);
    CU(cuMemsetD32, window.of[rank.rank], 0, 1024);
    CU(cuCtxSynchronize);
    const int me = rank.rank, ranks = rank.ranks, peer = (me + ranks - 1) % ranks;
    uint32_t done = 0;
    for (const bool on_device : {true, false}) {
        const char *where = on_device ? "device memory (IPC)" : "registered host memory";
        const CUdeviceptr flags = on_device ? window.of[0] + 1024 : page.device;
        // Of each rank: 128 bytes apart.
        const auto flag = [&](int of) { return flags + 128 * static_cast<size_t>(of); };
        const bool able = rank.all_can(std::string("cuStreamWaitValue32 on ") + where, [&] {
            CU(cuStreamWaitValue32, rank.stream, flag(peer), 0u, CU_STREAM_WAIT_VALUE_GEQ);
            CU(cuStreamWriteValue32, rank.stream, flag(me), 0u, CU_STREAM_WRITE_VALUE_DEFAULT);
            rank.sync();
        });
        for (const bool kernels : {true, false}) {
            if (!able)
                continue;
            rank.stage(std::string("ping-pong by flags in ") + where);
            if (me == 0 && on_device)
                CU(cuMemsetD32, flags, 0, 32 * kMostRanks);
            if (me == 0 && !on_device)
                memset(page.host, 0, 128 * kMostRanks);
            CU(cuCtxSynchronize);
            uint32_t turn = 0;
            const auto samples = rank.time_together(5, [&] {
                for (int hop = 0; hop < kHops; ++hop, ++turn) {
                    if (me != 0 || hop > 0) {
                        CU(cuStreamWaitValue32, rank.stream, flag(peer), turn + (me != 0 ? 1 : 0),
                           CU_STREAM_WAIT_VALUE_GEQ);
                    }
                    if (kernels) {
                        add_one<<<1, 1, 0, rank.stream>>>(pointer(window.of[0]));
                        LAUNCHED("add_one");
                    }
                    CU(cuStreamWriteValue32, rank.stream, flag(me), turn + 1,
                       CU_STREAM_WRITE_VALUE_DEFAULT);
                }
                rank.sync();
            });
            rank.barrier();
            if (kernels)
                done += static_cast<uint32_t>(5 * ranks * kHops);
            if (me == 0)
                require(word_at(window.of[0]), done, "turns counted");
            std::vector<double> hops;
            for (const double us : samples)
                hops.push_back(us / (ranks * kHops));
            rank.report(std::string(kernels ? "hop with a kernel, flags in " : "hop, flags in ") +
                            where,
                        "us", hops);
            rank.barrier();
        }
    }
    // From a flag that the host sets until the stream has gone on, and back.
    rank.stage("host flag, stream, host flag");
    if (me == 0) {
        auto *ask = reinterpret_cast<std::atomic<uint32_t> *>(page.host + 256);
        auto *answer = reinterpret_cast<std::atomic<uint32_t> *>(page.host + 288);
        uint32_t turn = 0;
        std::vector<double> samples;
        for (int i = 0; i < 50; ++i) {
            ++turn;
            CU(cuStreamWaitValue32, rank.stream, page.device + 1024, turn, 0u);
            CU(cuStreamWriteValue32, rank.stream, page.device + 1152, turn, 0u);
            for (const double until = now_us() + 200; now_us() < until;) {
            }
            samples.push_back(rank.time(1, [&] {
                ask->store(turn, std::memory_order_release);
                rank.wait_for(*answer, turn);
            })[0]);
        }
        rank.report("host sets a flag, the stream waits for it and sets one, the host sees it",
                    "us", samples);
    }
    rank.barrier();
    window.close(rank);
}

// Whether a stream that waits holds up kernels: rank 0 works while all others wait.
void waiter_item(Rank &rank) {
    rank.open_device();
    const HostPage page(rank);
    const Events events(rank);
    Window window(rank, 4096, 0);
    CUdeviceptr from = 0, to = 0;
    constexpr size_t kBytes = 256 * kMiB;
    CUstream other = nullptr;
    CU(cuStreamCreate, &other, CU_STREAM_NON_BLOCKING);
    if (rank.rank == 0) {
        CU(cuMemAlloc, &from, kBytes);
        CU(cuMemAlloc, &to, kBytes);
        CU(cuMemsetD32, from, 5, kBytes / 4);
        memset(page.host, 0, 4096);
    }
    CU(cuMemsetD32, window.of[rank.rank], 0, 1024);
    CU(cuCtxSynchronize);
    // A kernel that is loaded at its first launch might wait for all streams of the process.
    rank.time(5, [&] { rank.launch_and_sync(); });
    const auto measure = [&](const std::string &peers) {
        const auto launch = [&] { rank.launch_and_sync(); };
        rank.time(5, launch);
        rank.report("launch and sync, peers " + peers, "us", rank.time(100, launch));
        if (rank.rank == 0) {
            rank.report("copy on the device, peers " + peers, "us",
                        rank.time(10,
                                  [&] {
                                      CU(cuMemcpyDtoDAsync, to, from, kBytes, rank.stream);
                                      rank.sync();
                                  }),
                        kBytes);
        }
    };
    uint32_t turn = 0;
    const char *kinds[] = {"are idle", "wait for a word in registered host memory",
                           "wait for a word in device memory (IPC)", "wait for an event"};
    for (int kind = 0; kind < 4; ++kind) {
        if (!rank.all_can(kinds[kind], [&] { // waits that are over at once
                if (kind == 1)
                    CU(cuStreamWaitValue32, other, page.device, turn, 0u);
                if (kind == 2)
                    CU(cuStreamWaitValue32, other, window.of[0], turn, 0u);
                if (kind == 3)
                    CU(cuStreamWaitEvent, other, events.of[0][0], 0);
                CU(cuStreamSynchronize, other);
            })) {
            continue;
        }
        ++turn;
        rank.stage(std::string("peers ") + kinds[kind]);
        auto *released = reinterpret_cast<std::atomic<uint32_t> *>(page.host);
        if (rank.rank == 0 && kind == 3) { // an event behind a wait of rank 0's second stream
            CU(cuStreamWaitValue32, other, page.device, turn, 0u);
            CU(cuEventRecord, events.of[0][0], other);
        }
        rank.barrier();
        if (rank.rank != 0 && kind == 1) {
            CU(cuStreamWaitValue32, other, page.device, turn, 0u);
        }
        if (rank.rank != 0 && kind == 2)
            CU(cuStreamWaitValue32, other, window.of[0], turn, 0u);
        if (rank.rank != 0 && kind == 3)
            CU(cuStreamWaitEvent, other, events.of[0][0], 0);
        rank.barrier();
        if (rank.rank == 0)
            measure(kinds[kind]);
        rank.barrier();
        if (rank.rank == 1 && kind > 0) { // its stream `other` waits; what of rank.stream?
            auto samples = rank.time(50, [&] { rank.launch_and_sync(); });
            std::sort(samples.begin(), samples.end());
            rank.note("launch and sync of a process whose second stream does",
                      std::string(kinds[kind]) + ": median us " + std::to_string(samples[25]));
        }
        rank.barrier();
        if (rank.rank == 0) {
            CU(cuMemsetD32Async, window.of[0], turn, 1, rank.stream);
            rank.sync();
            released->store(turn, std::memory_order_release);
        }
        CU(cuStreamSynchronize, other);
        rank.barrier();
    }
    window.close(rank);
}

} // namespace probe
