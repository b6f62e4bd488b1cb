// SPDX-License-Identifier: BSD-3-Clause
// A vector on the device that is summed up in the order of a stream, and what that asks of the
// driver.  Ranks are processes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "device/on_device.hpp"
#include "device/simulated_cuda.hpp"
#include "device/streams_of_program.hpp"
#include "stretto/embedding.h"
#include "support/processes.hpp"
#include "support/world.hpp"

namespace test {

using simulated_cuda::Counts;

inline constexpr int kRight = 7, kWrong = 8, kRanks = 3;
inline constexpr std::size_t kCount = 100'003; // of a vector that is read in place

inline Counts counted() {
    Counts counts;
    simulated_cuda::simulated_cuda_counts(&counts);
    return counts;
}

// All ranks end with kRight; the library chooses algorithms.
inline void on_free_ranks(int ranks, const std::function<int(stretto_comm)> &body) {
    const auto codes = on_processes(ranks, body);
    CHECK(codes == std::vector<int>(static_cast<std::size_t>(ranks), kRight));
}

// The same by `direct`.
inline void on_ranks(int ranks, const std::function<int(stretto_comm)> &body) {
    const auto codes = on_processes(ranks, [&](stretto_comm comm) {
        check(stretto_force_algorithm(comm, "direct"));
        return body(comm);
    });
    CHECK(codes == std::vector<int>(static_cast<std::size_t>(ranks), kRight));
}

// Not one that the default stream waits for, in which vectors are filled: it may wait for a call.
inline void *new_stream() {
    return stream_with(kNonBlocking);
}

enum class Order { stream, host };

// In place, as all ranks do, and in no order of a stream.
inline bool sum_by_host(stretto_comm comm, std::int32_t *data, std::size_t count) {
    stretto_request request = nullptr;
    return stretto_iallreduce(comm, STRETTO_IN_PLACE, data, count, STRETTO_INT32, STRETTO_SUM,
                              &request) == STRETTO_OK &&
           stretto_wait(&request) == STRETTO_OK;
}

// A rank's vector in memory of its own, summed up in place.
class OrderedVector {
public:
    OrderedVector(OnDevice &device, std::size_t count, void *stream)
        : device_(device), count_(count), stream_(stream),
          memory_(device.allocate(std::max(4 * count, std::size_t{4}), true)) {}
    ~OrderedVector() { device_.free(memory_); }
    OrderedVector(const OrderedVector &) = delete;
    OrderedVector &operator=(const OrderedVector &) = delete;

    void fill(stretto_comm comm) {
        std::vector<std::int32_t> mine(count_);
        for (std::size_t i = 0; i < count_; ++i)
            mine[i] = static_cast<std::int32_t>(i) * (stretto_rank(comm) + 1);
        move(mine, true);
        device_.settle(); // for which the stream does not wait
    }
    stretto_status begin(stretto_comm comm) {
        check(stretto_stream_begin(stream_));
        const stretto_status status = stretto_iallreduce(comm, STRETTO_IN_PLACE, buffer(), count_,
                                                         STRETTO_INT32, STRETTO_SUM, nullptr);
        check(stretto_stream_end());
        return status;
    }
    // In no order of a stream.
    stretto_status begin(stretto_comm comm, stretto_request *request) {
        return stretto_iallreduce(comm, STRETTO_IN_PLACE, buffer(), count_, STRETTO_INT32,
                                  STRETTO_SUM, request);
    }
    stretto_status sum_blocking(stretto_comm comm) {
        return stretto_allreduce(comm, STRETTO_IN_PLACE, buffer(), count_, STRETTO_INT32,
                                 STRETTO_SUM);
    }
    void *stream() const { return stream_; }
    // As a program reads it by cuMemcpy.
    std::int32_t first() {
        std::vector<std::int32_t> one(1);
        move(one, false);
        return one[0];
    }
    void synchronize() { check(stretto_stream_synchronize(buffer(), stream_)); }
    // Whether each element is the sum of all ranks, `calls` times.
    bool right(stretto_comm comm, int calls = 1) {
        const auto ranks = static_cast<std::uint32_t>(stretto_size(comm));
        std::uint32_t factor = ranks * (ranks + 1) / 2; // which wraps around, as the sums do
        for (int call = 1; call < calls; ++call)
            factor *= ranks;
        std::vector<std::int32_t> mine(count_);
        move(mine, false);
        for (std::size_t i = 0; i < count_; ++i)
            if (static_cast<std::uint32_t>(mine[i]) != static_cast<std::uint32_t>(i) * factor)
                return false;
        return true;
    }
    // One call, in the order of its stream or not.
    bool sum(stretto_comm comm, Order order = Order::stream) {
        fill(comm);
        if (order == Order::host)
            return sum_by_host(comm, buffer(), count_) && right(comm);
        if (begin(comm) != STRETTO_OK)
            return false;
        synchronize();
        return right(comm);
    }

    // Two calls, so that all ranks have opened the memory; then all ranks have filled their vectors
    // for the next call.  False: a sum was wrong.
    bool get_ready(stretto_comm comm) {
        const bool right = sum(comm, Order::host) && sum(comm, Order::host);
        fill(comm);
        check(stretto_barrier(comm));
        return right;
    }

private:
    std::int32_t *buffer() { return reinterpret_cast<std::int32_t *>(memory_); }
    void move(std::vector<std::int32_t> &data, bool there) {
        auto *const here = reinterpret_cast<std::byte *>(data.data());
        if (!data.empty())
            device_.copy(there ? memory_ : here, there ? here : memory_, 4 * data.size());
    }

    OnDevice &device_;
    const std::size_t count_;
    void *const stream_;
    std::byte *const memory_;
};

// What one more call asks of the driver, in this process.
inline Counts counts_of(OrderedVector &vector, stretto_comm comm, bool &right) {
    check(stretto_barrier(comm));
    simulated_cuda::simulated_cuda_reset();
    right = vector.sum(comm) && right;
    return counted();
}

// Whether nothing was copied, nor asked of the driver that a repeated call does not need.
inline bool asks_nothing(const Counts &counts) {
    return counts.copies == 0 && counts.opened == 0 && counts.handles == 0 &&
           counts.asked_while_waiting == 0 && counts.streams == 0 && counts.host_allocations == 0 &&
           counts.host_registrations == 0;
}

inline bool in_place(const Counts &counts) {
    return counts.launches != 0 && counts.copies == 0 && counts.opened == 0 &&
           counts.handles == 0 && counts.asked_while_waiting == 0;
}

} // namespace test
