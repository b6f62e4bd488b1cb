// SPDX-License-Identifier: BSD-3-Clause
// Calls that no stream orders come after what the program has given to CUDA's legacy default
// stream: a cudaMemcpy from memory that is not pinned returns before its bytes are on the device.
#include "doctest.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/on_device.hpp"
#include "device/simulated_cuda.hpp"
#include "device/streams_of_program.hpp"
#include "support/environment.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using test::check;
using test::contains;
using test::kBlocking;
using test::kNonBlocking;
using test::OnDevice;
using test::Stream;
using test::stream_with;

constexpr std::size_t kCount = 1009;
constexpr std::int32_t kOld = -7;

void *legacy() {
    return reinterpret_cast<void *>(std::uintptr_t{1});
}

std::uint64_t synchronizations() {
    simulated_cuda::Counts counts;
    simulated_cuda::simulated_cuda_counts(&counts);
    return counts.synchronizations;
}

std::int32_t given(int rank, std::size_t i) {
    return static_cast<std::int32_t>(100 * rank + static_cast<int>(i % 97));
}

// Numbers on the device.
class Vector {
public:
    explicit Vector(OnDevice &device)
        : device_(device), memory_(device.allocate(kCount * sizeof(std::int32_t), true)) {
        put(std::vector<std::int32_t>(kCount, kOld));
        check_cuda(cuStreamSynchronize(legacy()));
    }
    ~Vector() { device_.free(memory_); }
    Vector(const Vector &) = delete;
    Vector &operator=(const Vector &) = delete;
    std::int32_t *data() const { return reinterpret_cast<std::int32_t *>(memory_); }
    // By a copy from memory that is not pinned, and that is gone when it is on the device.
    void put(const std::vector<std::int32_t> &values) {
        device_.copy(memory_, reinterpret_cast<const std::byte *>(values.data()),
                     kCount * sizeof(std::int32_t));
    }
    void put_given(int rank) {
        std::vector<std::int32_t> values(kCount);
        for (std::size_t i = 0; i < kCount; ++i)
            values[i] = given(rank, i);
        put(values);
    }
    // Whether each element is `factor` times what a rank was given.
    bool holds(int rank, std::int32_t factor = 1) {
        std::vector<std::int32_t> found(kCount);
        device_.copy(reinterpret_cast<std::byte *>(found.data()), memory_,
                     kCount * sizeof(std::int32_t));
        for (std::size_t i = 0; i < kCount; ++i)
            if (found[i] != factor * given(rank, i))
                return false;
        return true;
    }

private:
    static void check_cuda(int result) { test::check_cuda(result); }

    OnDevice &device_;
    std::byte *memory_;
};

// The default stream stands still until a thread waits for a stream, or this ends.
class Held {
public:
    Held()
        : stream_(legacy()), before_(synchronizations()), opener_([this] {
              while (synchronizations() == before_ && !over_)
                  std::this_thread::yield();
              stream_.open();
          }) {}
    ~Held() {
        over_ = true;
        opener_.join();
    }
    Held(const Held &) = delete;
    Held &operator=(const Held &) = delete;
    std::uint64_t waits() const { return synchronizations() - before_; }

private:
    Stream stream_;
    const std::uint64_t before_;
    std::atomic<bool> over_{false};
    std::thread opener_;
};

stretto_status wait(stretto_request request) {
    return stretto_wait(&request);
}

// A call of one rank that brings the contents of one vector to another.
struct Form {
    const char *name;
    std::function<void(stretto_comm, std::int32_t *from, std::int32_t *to)> call;
};
const std::size_t kCounts[] = {kCount};
const std::vector<Form> kForms = {
    {"allreduce",
     [](stretto_comm comm, std::int32_t *from, std::int32_t *to) {
         check(stretto_allreduce(comm, from, to, kCount, STRETTO_INT32, STRETTO_SUM));
     }},
    {"allreduce_batch",
     [](stretto_comm comm, std::int32_t *from, std::int32_t *to) {
         const std::size_t half = kCount / 2;
         const stretto_part parts[] = {{from, to, half}, {from + half, to + half, kCount - half}};
         check(stretto_allreduce_batch(comm, parts, 2, STRETTO_INT32, STRETTO_SUM));
     }},
    {"iallreduce_batch",
     [](stretto_comm comm, std::int32_t *from, std::int32_t *to) {
         const stretto_part part{from, to, kCount};
         stretto_request request = nullptr;
         check(stretto_iallreduce_batch(comm, &part, 1, STRETTO_INT32, STRETTO_SUM, &request));
         check(wait(request));
     }},
    {"reduce_scatterv",
     [](stretto_comm comm, std::int32_t *from, std::int32_t *to) {
         check(stretto_reduce_scatterv(comm, from, to, kCounts, STRETTO_INT32, STRETTO_SUM));
     }},
    {"iallgather",
     [](stretto_comm comm, std::int32_t *from, std::int32_t *to) {
         stretto_request request = nullptr;
         check(stretto_iallgather(comm, from, to, kCount, STRETTO_INT32, &request));
         check(wait(request));
     }},
    {"start",
     [](stretto_comm comm, std::int32_t *from, std::int32_t *to) {
         stretto_request request = nullptr;
         check(
             stretto_allreduce_init(comm, from, to, kCount, STRETTO_INT32, STRETTO_SUM, &request));
         check(stretto_start(request));
         check(stretto_wait(&request));
         check(stretto_request_free(&request));
     }},
    {"alltoallv",
     [](stretto_comm comm, std::int32_t *from, std::int32_t *to) {
         check(
             stretto_alltoallv(comm, from, kCounts, nullptr, to, kCounts, nullptr, STRETTO_INT32));
     }},
    {"gatherv",
     [](stretto_comm comm, std::int32_t *from, std::int32_t *to) {
         check(stretto_gatherv(comm, from, kCount, to, kCounts, nullptr, STRETTO_INT32, 0));
     }},
    {"iscatterv",
     [](stretto_comm comm, std::int32_t *from, std::int32_t *to) {
         stretto_request request = nullptr;
         check(stretto_iscatterv(comm, from, kCounts, nullptr, to, kCount, STRETTO_INT32, 0,
                                 &request));
         check(wait(request));
     }},
    {"irecv",
     [](stretto_comm comm, std::int32_t *from, std::int32_t *to) {
         stretto_request sent = nullptr, received = nullptr;
         check(stretto_irecv(comm, to, kCount, STRETTO_INT32, 0, 3, nullptr, &received));
         check(stretto_isend(comm, from, kCount, STRETTO_INT32, 0, 3, &sent));
         check(wait(sent));
         check(wait(received));
     }},
    {"send",
     [](stretto_comm comm, std::int32_t *from, std::int32_t *to) {
         check(stretto_send(comm, from, kCount, STRETTO_INT32, 0, 3));
         check(stretto_recv(comm, to, kCount, STRETTO_INT32, 0, 3, nullptr));
     }},
};

} // namespace

TEST_CASE("a call finds what the program has copied there, and its result is not overwritten") {
    OnDevice device(OnDevice::Buffers::asked);
    for (const Form &form : kForms)
        test::with_ranks(1, [&](stretto_comm comm) {
            CAPTURE(form.name);
            Vector from(device), to(device);
            {
                const Held held;
                from.put_given(1);
                to.put_given(2);
                form.call(comm, from.data(), to.data());
                CHECK(held.waits() == 1);
            }
            CHECK(to.holds(1));
            const std::uint64_t before = synchronizations();
            form.call(comm, from.data(), to.data());
            CHECK(synchronizations() == before); // the stream has nothing to do
        });
}

TEST_CASE("a persistent request waits at each start") {
    OnDevice device(OnDevice::Buffers::asked);
    test::with_ranks(1, [&](stretto_comm comm) {
        Vector from(device), to(device);
        stretto_request request = nullptr;
        check(stretto_allreduce_init(comm, from.data(), to.data(), kCount, STRETTO_INT32,
                                     STRETTO_SUM, &request));
        for (int round = 1; round < 4; ++round) {
            {
                const Held held;
                from.put_given(round);
                check(stretto_start(request));
                check(stretto_wait(&request));
            }
            CHECK(to.holds(round));
        }
        check(stretto_request_free(&request));
    });
}

TEST_CASE("calls in host memory, without elements or in the order of a stream wait for nothing") {
    OnDevice device(OnDevice::Buffers::asked);
    test::with_ranks(2, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm), other = 1 - rank;
        Vector data(device), more(device);
        void *const stream = stream_with(kNonBlocking);
        data.put_given(1);
        test::check_cuda(cuStreamSynchronize(legacy()));
        check(stretto_barrier(comm));
        std::optional<Held> held;
        if (rank == 0)
            held.emplace();
        check(stretto_barrier(comm));
        std::vector<std::int32_t> here(kCount, 1), there(kCount);
        check(
            stretto_allreduce(comm, here.data(), there.data(), kCount, STRETTO_INT32, STRETTO_SUM));
        CHECK(there == std::vector<std::int32_t>(kCount, 2));
        stretto_request request = nullptr;
        check(
            stretto_irecv(comm, there.data(), kCount, STRETTO_INT32, other, 0, nullptr, &request));
        check(stretto_send(comm, here.data(), kCount, STRETTO_INT32, other, 0));
        check(stretto_wait(&request));
        const std::size_t none[] = {0, 0};
        check(
            stretto_allreduce(comm, STRETTO_IN_PLACE, more.data(), 0, STRETTO_INT32, STRETTO_SUM));
        check(stretto_alltoallv(comm, more.data(), none, nullptr, data.data(), none, nullptr,
                                STRETTO_INT32));
        check(stretto_stream_begin(stream));
        check(stretto_iallreduce(comm, STRETTO_IN_PLACE, data.data(), kCount, STRETTO_INT32,
                                 STRETTO_SUM, &request));
        check(stretto_stream_end());
        check(stretto_wait(&request));
        check(stretto_barrier(comm));
        if (held)
            CHECK(held->waits() == 0);
        check(stretto_barrier(comm));
        held.reset();
        CHECK(data.holds(1, 2));
    });
}

TEST_CASE("calls that a thread's stream does not order wait, also while it orders another") {
    OnDevice device(OnDevice::Buffers::asked);
    test::with_ranks(1, [&](stretto_comm comm) {
        Vector from(device), to(device), ordered(device);
        Stream stream(stream_with(kNonBlocking)); // which stands still
        check(stretto_stream_begin(stream.handle()));
        check(stretto_iallreduce(comm, STRETTO_IN_PLACE, ordered.data(), kCount, STRETTO_INT32,
                                 STRETTO_SUM, nullptr));
        {
            const Held held;
            from.put_given(1);
            kForms.back().call(comm, from.data(), to.data()); // blocking ones
            CHECK(held.waits() == 1);
        }
        CHECK(to.holds(1));
        stream.open();
        {
            const Held held;
            from.put_given(2);
            check(stretto_allreduce(comm, from.data(), to.data(), kCount, STRETTO_INT32,
                                    STRETTO_SUM));
            CHECK(held.waits() == 1);
        }
        check(stretto_stream_end());
        CHECK(to.holds(2));
    });
}

// Rank 1 receives before it begins the call that the default stream of rank 0 waits for.
TEST_CASE("a message does not wait while the default stream waits for a call") {
    OnDevice device(OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "20"); // or it would wait for ever
    for (const bool by_default : {true, false}) {
        CAPTURE(by_default);
        test::with_ranks(2, [&](stretto_comm comm) {
            Vector sum(device), message(device);
            void *const own = stream_with(by_default ? kNonBlocking : kBlocking);
            const auto begin = [&](void *stream) {
                check(stretto_stream_begin(stream));
                check(stretto_iallreduce(comm, STRETTO_IN_PLACE, sum.data(), kCount, STRETTO_INT32,
                                         STRETTO_SUM, nullptr));
                check(stretto_stream_end());
            };
            check(stretto_barrier(comm));
            if (stretto_rank(comm) == 0) {
                void *const stream = by_default ? legacy() : own;
                begin(stream);
                sum.put_given(1); // comes behind the call, also if another stream orders that
                check(stretto_send(comm, message.data(), kCount, STRETTO_INT32, 1, 0));
                check(stretto_stream_synchronize(sum.data(), legacy()));
                CHECK(sum.holds(1));
            } else {
                check(stretto_recv(comm, message.data(), kCount, STRETTO_INT32, 0, 0, nullptr));
                void *const stream = stream_with(kNonBlocking);
                begin(stream);
                check(stretto_stream_synchronize(sum.data(), stream));
            }
        });
    }
}

TEST_CASE("a default stream that a capture holds is not asked") {
    OnDevice device(OnDevice::Buffers::asked);
    test::with_ranks(1, [&](stretto_comm comm) {
        Vector from(device), to(device);
        from.put_given(1);
        test::check_cuda(cuStreamSynchronize(legacy()));
        void *const other = stream_with(kBlocking);
        simulated_cuda::simulated_cuda_capture(other, true);
        simulated_cuda::simulated_cuda_reset();
        for (const Form &form : kForms)
            form.call(comm, from.data(), to.data());
        simulated_cuda::Counts counts;
        simulated_cuda::simulated_cuda_counts(&counts);
        CHECK(counts.synchronizations == 0);
        CHECK(counts.refused_while_capturing == 0);
        simulated_cuda::simulated_cuda_capture(other, false);
        CHECK(to.holds(1));
    });
}

TEST_CASE("an error of the default stream is one of the call, on all ranks") {
    OnDevice device(OnDevice::Buffers::asked);
    constexpr int kIllegalAddress = 700;
    std::barrier together(2);
    test::with_ranks(2, [&](stretto_comm comm) {
        Vector data(device);
        std::vector<std::int32_t> here(kCount);
        together.arrive_and_wait();
        void *buffer = here.data(); // of a rank that has no device
        if (stretto_rank(comm) == 1) {
            std::int32_t value = 0;
            simulated_cuda::simulated_cuda_fail(0, kIllegalAddress);
            (void)cuMemcpyAsync(test::address(data.data()), test::address(&value), 4, legacy());
            buffer = data.data();
        }
        CHECK(stretto_allreduce(comm, STRETTO_IN_PLACE, buffer, kCount, STRETTO_INT32,
                                STRETTO_SUM) == STRETTO_ERR_SYSTEM);
        const std::string text = stretto_last_error();
        CAPTURE(text);
        CHECK(contains(text, "rank 1"));
        CHECK(contains(text, "the program's work in CUDA's default stream"));
        CHECK(contains(text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    });
    simulated_cuda::simulated_cuda_fail(0, 0);
}
