// SPDX-License-Identifier: BSD-3-Clause
// A 4-byte allreduce by each way that processes of one GPU can wait for each other.
#include <cstring>

#include "probe.h"

namespace probe {

namespace {

__global__ void set(uint32_t *word, uint32_t value) {
    *word = value;
}

struct Words {
    const uint32_t *of[kMostRanks];
};

struct Results {
    uint32_t *of[kMostRanks];
};

// For all ranks at once.
__global__ void sum_for_all(Words words, Results results, int ranks) {
    uint32_t total = 0;
    for (int r = 0; r < ranks; ++r)
        total += __ldcv(words.of[r]);
    for (int r = 0; r < ranks; ++r)
        *results.of[r] = total;
}

// Sums one word of each rank; counts a sum that is not `expected`.
__global__ void sum(Words words, int ranks, uint32_t expected, uint32_t *result, uint32_t *wrong) {
    uint32_t total = 0;
    for (int r = 0; r < ranks; ++r)
        total += __ldcv(words.of[r]); // not from a cache of this SM
    *result = total;
    if (total != expected)
        *wrong += 1;
}

} // namespace

// An allreduce of one word: each rank copies its word to a slot of its own, says so, waits for
// all, sums.  Two slots in turn, so that one round of waiting an allreduce is enough.
void small_item(Rank &rank) {
    rank.open_device();
    const HostPage page(rank);
    const Events events(rank);
    Window window(rank, 4096, 0);
    CU(cuMemsetD32, window.of[rank.rank], 0, 1024);
    if (rank.rank == 0)
        memset(page.host, 0, 65536);
    CU(cuCtxSynchronize);
    rank.barrier();
    const int me = rank.rank, ranks = rank.ranks;
    const CUdeviceptr result = window.of[me] + 2048, wrong = window.of[me] + 2304;
    uint32_t turn = 0;
    enum Way { kEvents, kHostFlags, kDeviceFlags, kOneSums, kHostWaits, kThroughHost, kCopiesOnly };
    const char *names[] = {"interprocess events",
                           "memory operations on registered host memory",
                           "memory operations on device memory (IPC)",
                           "memory operations, rank 0 sums for all",
                           "host waits for its kernel, then for the peers",
                           "through registered host memory, summed by the host",
                           "the same without a kernel that makes the word"};
    for (const Way way :
         {kEvents, kHostFlags, kDeviceFlags, kOneSums, kHostWaits, kThroughHost, kCopiesOnly}) {
        const CUdeviceptr flags = way == kHostFlags ? page.device : window.of[0] + 512;
        if (!rank.all_can(names[way], [&] { // waits that are over at once
                if (way == kHostFlags || way == kDeviceFlags || way == kOneSums) {
                    CU(cuStreamWaitValue32, rank.stream, flags, 0u, 0u);
                }
                rank.sync();
            })) {
            continue;
        }
        rank.stage(std::string("4-byte allreduce by ") + names[way]);
        const auto once = [&] {
            ++turn;
            const size_t slot = 128 * (turn % 2);
            // Two values in turn where the words are made in advance.
            const uint32_t number = way == kCopiesOnly ? turn % 2 : turn;
            const uint32_t mine = 1000u * static_cast<uint32_t>(me + 1) + number;
            const auto count = static_cast<uint32_t>(ranks);
            const uint32_t expected = 1000u * count * (count + 1) / 2 + count * number;
            if (way != kCopiesOnly) {
                set<<<1, 1, 0, rank.stream>>>(pointer(window.of[me] + slot), mine);
                LAUNCHED("set");
            }
            if (way == kThroughHost || way == kCopiesOnly) {
                // 256 bytes a rank and slot, behind the flags.
                uint32_t *base = page.host + 2048 + 64 * (turn % 2) * kMostRanks;
                base[64 * me] = 0;
                CU(cuMemcpyDtoHAsync, base + 64 * me, window.of[me] + slot, 4, rank.stream);
                rank.sync();
                post(rank, turn);
                uint32_t total = 0;
                for (int peer = 0; peer < ranks; ++peer) {
                    rank.wait_for(rank.shared->flag[peer].value, turn);
                    total += base[64 * peer];
                }
                require(total, expected, "sum by the host");
                page.host[16000 + 16 * me] = total;
                CU(cuMemcpyHtoDAsync, result, page.host + 16000 + 16 * me, 4, rank.stream);
                rank.sync();
                return;
            }
            if (way == kEvents) {
                CU(cuEventRecord, events.of[me][turn % 2], rank.stream);
                post(rank, turn);
                for (int peer = 0; peer < ranks; ++peer) {
                    if (peer == me)
                        continue;
                    rank.wait_for(rank.shared->flag[peer].value, turn);
                    CU(cuStreamWaitEvent, rank.stream, events.of[peer][turn % 2], 0);
                }
            } else if (way == kHostWaits) {
                rank.sync();
                post(rank, turn);
                for (int peer = 0; peer < ranks; ++peer) {
                    rank.wait_for(rank.shared->flag[peer].value, turn);
                }
            } else if (way == kOneSums) {
                const auto flag = [&](int of) { return flags + 128 * static_cast<size_t>(of); };
                CU(cuStreamWriteValue32, rank.stream, flag(me), turn, 0u);
                if (me != 0) {
                    CU(cuStreamWaitValue32, rank.stream, flag(kMostRanks), turn, 0u);
                    rank.sync();
                    return;
                }
                Words words{};
                Results results{};
                for (int peer = 0; peer < ranks; ++peer) {
                    CU(cuStreamWaitValue32, rank.stream, flag(peer), turn, 0u);
                    words.of[peer] = pointer(window.of[peer] + slot);
                    results.of[peer] = pointer(window.of[peer] + 2048);
                }
                sum_for_all<<<1, 1, 0, rank.stream>>>(words, results, ranks);
                LAUNCHED("sum_for_all");
                CU(cuStreamWriteValue32, rank.stream, flag(kMostRanks), turn, 0u);
                rank.sync();
                return;
            } else {
                CUstreamBatchMemOpParams all[kMostRanks + 1] = {};
                for (int i = 0; i <= ranks; ++i) { // 0: own flag; then one wait a rank
                    const size_t of = static_cast<size_t>(i == 0 ? me : i - 1);
                    all[i].operation =
                        i == 0 ? CU_STREAM_MEM_OP_WRITE_VALUE_32 : CU_STREAM_MEM_OP_WAIT_VALUE_32;
                    if (i == 0) {
                        all[i].writeValue.address = flags + 128 * of;
                        all[i].writeValue.value = turn;
                    } else {
                        all[i].waitValue.address = flags + 128 * of;
                        all[i].waitValue.value = turn;
                        all[i].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
                    }
                }
                CU(cuStreamBatchMemOp, rank.stream, static_cast<unsigned>(ranks + 1), all, 0);
            }
            Words words{};
            for (int peer = 0; peer < ranks; ++peer)
                words.of[peer] = pointer(window.of[peer] + slot);
            sum<<<1, 1, 0, rank.stream>>>(words, ranks, expected, pointer(result), pointer(wrong));
            LAUNCHED("sum");
            rank.sync();
        };
        if (way == kCopiesOnly) {
            for (uint32_t i = 0; i < 2; ++i)
                CU(cuMemsetD32, window.of[me] + 128 * i, 1000u * static_cast<uint32_t>(me + 1) + i,
                   1);
            CU(cuCtxSynchronize);
        }
        CU(cuMemsetD32, result, 0, 1);
        CU(cuCtxSynchronize);
        rank.time_together(5, once);
        rank.report(std::string("4-byte allreduce, one after another: ") + names[way], "us",
                    rank.time_together(60, once), 4);
        require(word_at(wrong), 0, "wrong sums");
        const auto all = static_cast<uint32_t>(ranks);
        require(word_at(result),
                500u * all * (all + 1) + all * (way == kCopiesOnly ? turn % 2 : turn), "last sum");
        rank.barrier();
    }
    window.close(rank);
}

} // namespace probe
