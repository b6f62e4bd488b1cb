// SPDX-License-Identifier: BSD-3-Clause
// Bandwidth of the device's memory: copies, and the allreduce of one pass, in which each rank
// reads its block of all ranks' vectors, sums it and writes the sums to all: 2 P n bytes.
#include <cstring>

#include "probe.h"

namespace probe {

namespace {

struct Vectors {
    const uint4 *in[kMostRanks];
    uint4 *out[kMostRanks];
};

struct Float32 {
    static constexpr int kInVector = 4;
    static constexpr size_t kBytes = 4;
    __device__ static void add(float *sums, const uint4 &x) {
        sums[0] += __uint_as_float(x.x);
        sums[1] += __uint_as_float(x.y);
        sums[2] += __uint_as_float(x.z);
        sums[3] += __uint_as_float(x.w);
    }
    __device__ static uint4 pack(const float *sums) {
        return make_uint4(__float_as_uint(sums[0]), __float_as_uint(sums[1]),
                          __float_as_uint(sums[2]), __float_as_uint(sums[3]));
    }
    // Exact in every sum of eight.
    __device__ static float value(int rank, size_t i) {
        return static_cast<float>((rank + 1) * static_cast<int>((i * 7 + rank * 13) % 1021));
    }
    __device__ static void store(void *vector, size_t i, float value) {
        static_cast<float *>(vector)[i] = value;
    }
    __device__ static float load(const void *vector, size_t i) {
        return static_cast<const float *>(vector)[i];
    }
};

// Summed as float32, rounded once; the values here need no rounding.
struct Bfloat16 {
    static constexpr int kInVector = 8;
    static constexpr size_t kBytes = 2;
    __device__ static uint32_t bits(float value) { // rounds to nearest, ties to even
        const uint32_t all = __float_as_uint(value);
        return (all + 0x7fffu + ((all >> 16) & 1u)) >> 16;
    }
    __device__ static void add(float *sums, const uint4 &x) {
        const uint32_t words[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            sums[2 * i] += __uint_as_float(words[i] << 16);
            sums[2 * i + 1] += __uint_as_float(words[i] & 0xffff0000u);
        }
    }
    __device__ static uint4 pack(const float *sums) {
        uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            words[i] = bits(sums[2 * i]) | bits(sums[2 * i + 1]) << 16;
        return make_uint4(words[0], words[1], words[2], words[3]);
    }
    __device__ static float value(int rank, size_t i) { // sums of eight stay below 256
        return static_cast<float>((i * 7 + static_cast<size_t>(rank) * 13) % 31);
    }
    __device__ static void store(void *vector, size_t i, float value) {
        static_cast<uint16_t *>(vector)[i] = static_cast<uint16_t>(bits(value));
    }
    __device__ static float load(const void *vector, size_t i) {
        return __uint_as_float(uint32_t{static_cast<const uint16_t *>(vector)[i]} << 16);
    }
};

// Units [first, last) of 16 bytes.  kAtOnce units of each rank are in flight in a thread.
template<typename Type, int kRanks, int kAtOnce>
__global__ void __launch_bounds__(512) one_pass(Vectors vectors, size_t first, size_t last) {
    const size_t stride = size_t{gridDim.x} * blockDim.x;
    for (size_t at = first + size_t{blockIdx.x} * blockDim.x + threadIdx.x; at < last;
         at += stride * kAtOnce) {
        uint4 x[kAtOnce][kRanks];
#pragma unroll
        for (int u = 0; u < kAtOnce; ++u) {
#pragma unroll
            for (int r = 0; r < kRanks; ++r) {
                if (at + u * stride < last)
                    x[u][r] = vectors.in[r][at + u * stride];
            }
        }
#pragma unroll
        for (int u = 0; u < kAtOnce; ++u) {
            float sums[Type::kInVector] = {};
#pragma unroll
            for (int r = 0; r < kRanks; ++r)
                Type::add(sums, x[u][r]);
            const uint4 packed = Type::pack(sums);
#pragma unroll
            for (int r = 0; r < kRanks; ++r) {
                if (at + u * stride < last)
                    vectors.out[r][at + u * stride] = packed;
            }
        }
    }
}

template<typename Type>
__global__ void fill(void *vector, size_t count, int rank) {
    for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += size_t{gridDim.x} * blockDim.x) {
        Type::store(vector, i, Type::value(rank, i));
    }
}

template<typename Type>
__global__ void compare(const void *vector, size_t count, int ranks, unsigned *wrong) {
    for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += size_t{gridDim.x} * blockDim.x) {
        float expected = 0;
        for (int r = 0; r < ranks; ++r)
            expected += Type::value(r, i);
        if (Type::load(vector, i) != expected)
            atomicAdd(wrong, 1u);
    }
}

template<typename Type>
void launch(const Rank &rank, int ranks, const Vectors &vectors, size_t first, size_t last,
            int blocks) {
    // No more blocks than there is work for.
    const size_t needed = (last - first + 511) / 512;
    const auto grid = static_cast<unsigned>(std::min<size_t>(needed, blocks));
    if (ranks == 2)
        one_pass<Type, 2, 4><<<grid, 512, 0, rank.stream>>>(vectors, first, last);
    if (ranks == 4)
        one_pass<Type, 4, 2><<<grid, 512, 0, rank.stream>>>(vectors, first, last);
    if (ranks == 8)
        one_pass<Type, 8, 1><<<grid, 512, 0, rank.stream>>>(vectors, first, last);
    LAUNCHED("one_pass");
}

constexpr int kBlocks = 132 * 4;

template<typename Type>
void measure(Rank &rank, const Window &in, const Window &out, size_t bytes, const char *type) {
    const int me = rank.rank, ranks = rank.ranks;
    const size_t count = bytes / Type::kBytes, units = bytes / 16;
    const size_t first = units / ranks * me, last = me == ranks - 1 ? units : first + units / ranks;
    const int times = bytes < 16 * kMiB ? 40 : 15;
    const std::string of = std::string(type) + ": ";
    void *mine = reinterpret_cast<void *>(in.of[me]);
    Vectors vectors{};
    for (int r = 0; r < ranks; ++r) {
        vectors.in[r] = reinterpret_cast<const uint4 *>(in.of[r]);
        vectors.out[r] = reinterpret_cast<uint4 *>(out.of[r]);
    }
    CUdeviceptr wrong = 0;
    CU(cuMemAlloc, &wrong, 4);
    rank.stage("filling vectors");
    fill<Type><<<kBlocks, 256, 0, rank.stream>>>(mine, count, me);
    LAUNCHED("fill");
    const auto poison = [&] {
        CU(cuMemsetD32Async, out.of[me], 0xffffffffu, bytes / 4, rank.stream); // all NaN
        CU(cuMemsetD32Async, wrong, 0, 1, rank.stream);
        rank.sync();
        rank.barrier();
    };
    const auto require_exact = [&] {
        rank.barrier();
        compare<Type><<<kBlocks, 256, 0, rank.stream>>>(reinterpret_cast<void *>(out.of[me]), count,
                                                        ranks, reinterpret_cast<unsigned *>(wrong));
        LAUNCHED("compare");
        rank.sync();
        unsigned errors = 0;
        CU(cuMemcpyDtoH, &errors, wrong, sizeof errors);
        if (errors != 0)
            throw std::runtime_error(std::to_string(errors) + " wrong elements");
        rank.barrier();
    };
    const auto all = [&] {
        launch<Type>(rank, ranks, vectors, first, last, kBlocks);
        rank.sync();
    };
    rank.stage("one pass");
    poison();
    rank.time_together(3, all);
    require_exact();
    rank.report(of + "one pass, each rank its block", "us", rank.time_together(times, all), bytes);
    // The same bytes moved by a kernel of one process: without turns of processes.
    for (const int blocks : {132, 132 * 2, 132 * 4, 132 * 16}) {
        if (blocks != kBlocks && bytes != 64 * kMiB)
            continue;
        rank.stage("one pass by one process");
        poison();
        const auto samples = rank.time_together(times, [&] {
            if (me != 0)
                return;
            launch<Type>(rank, ranks, vectors, 0, units, blocks);
            rank.sync();
        });
        require_exact();
        rank.report(of + "one pass, rank 0 does all blocks, grid of " + std::to_string(blocks),
                    "us", samples, bytes);
    }
    CU(cuMemFree, wrong);
    if (Type::kBytes != 4)
        return;
    // As many bytes as a ring moves, 5 (P - 1) n in all, read and written by copies of all ranks.
    rank.stage("copies of as many bytes as a ring moves");
    rank.report(
        "copies of 5 (P - 1) n bytes, read and written", "us",
        rank.time_together(times,
                           [&] {
                               for (size_t left = bytes / 2 * 5 * (ranks - 1) / ranks; left > 0;) {
                                   const size_t part = std::min(left, bytes);
                                   CU(cuMemcpyDtoDAsync, out.of[me], in.of[me], part, rank.stream);
                                   left -= part;
                               }
                               rank.sync();
                           }),
        bytes);
    rank.report("copy of P n bytes (2 P n read and written), each rank its vector", "us",
                rank.time_together(times,
                                   [&] {
                                       CU(cuMemcpyDtoDAsync, out.of[me], in.of[me], bytes,
                                          rank.stream);
                                       rank.sync();
                                   }),
                bytes);
}

} // namespace

void copy_item(Rank &rank) {
    rank.open_device();
    CUdeviceptr from = 0, to = 0;
    constexpr size_t kMost = 1024 * kMiB;
    CU(cuMemAlloc, &from, kMost);
    CU(cuMemAlloc, &to, kMost);
    fill<Float32><<<kBlocks, 256, 0, rank.stream>>>(reinterpret_cast<void *>(from), kMost / 4, 3);
    LAUNCHED("fill");
    rank.sync();
    for (const size_t bytes : {kMiB / 16, kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB, kMost}) {
        rank.stage("copies on the device");
        const auto by_driver = [&] {
            CU(cuMemcpyDtoDAsync, to, from, bytes, rank.stream);
            rank.sync();
        };
        const auto by_kernel = [&] {
            launch_copy(to, from, bytes, kBlocks, rank.stream);
            rank.sync();
        };
        rank.time(2, by_driver);
        rank.report("cuMemcpyDtoDAsync and sync", "us", rank.time(20, by_driver), bytes);
        rank.time(2, by_kernel);
        rank.report("copy by a kernel and sync", "us", rank.time(20, by_kernel), bytes);
        // Ten in a row: without the launch and the sync.
        std::vector<double> each;
        for (const double us : rank.time(5, [&] {
                 for (int i = 0; i < 10; ++i) {
                     CU(cuMemcpyDtoDAsync, to, from, bytes, rank.stream);
                 }
                 rank.sync();
             })) {
            each.push_back(us / 10);
        }
        rank.report("cuMemcpyDtoDAsync, each of ten in a row", "us", each, bytes);
    }
}

void onepass_item(Rank &rank) {
    if (rank.ranks != 2 && rank.ranks != 4 && rank.ranks != 8) {
        throw std::runtime_error("onepass has kernels for 2, 4, 8 ranks");
    }
    rank.open_device();
    Window in(rank, 256 * kMiB, 0);
    Window out(rank, 256 * kMiB, 1);
    for (const size_t bytes : {kMiB / 16, kMiB, 16 * kMiB, 64 * kMiB, 256 * kMiB}) {
        measure<Float32>(rank, in, out, bytes, "float32");
        if (bytes == kMiB || bytes == 64 * kMiB) {
            measure<Bfloat16>(rank, in, out, bytes, "bfloat16");
        }
    }
    in.close(rank);
    out.close(rank);
}

} // namespace probe
