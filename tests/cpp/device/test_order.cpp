// SPDX-License-Identifier: BSD-3-Clause
// Calls in the order of a stream: after what the stream was given before, before what it is given
// next, and never in the way of the host.
#include "doctest.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/on_device.hpp"
#include "device/simulated_cuda.hpp"
#include "device/streams_of_program.hpp"
#include "handles.hpp"
#include "stretto/embedding.h"
#include "support/environment.hpp"
#include "support/folder.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using test::check;
using test::contains;
using test::Pinned;
using test::Stream;

std::int32_t given(int rank, int call, std::size_t i) {
    return static_cast<std::int32_t>((static_cast<std::size_t>(7 * rank + 13 * call) + i) % 1009);
}

std::int32_t expected(int ranks, int call, std::size_t i) {
    if (call % 3 == 2)
        return given(call % ranks, call, i);
    std::int32_t sum = 0;
    for (int rank = 0; rank < ranks; ++rank)
        sum += given(rank, call, i);
    return sum;
}

// A sum, a sum of two pieces, or a broadcast, in place.
stretto_status begin(stretto_comm comm, int call, std::int32_t *data, std::size_t count,
                     stretto_request *request) {
    const std::size_t half = count / 2;
    const stretto_part parts[] = {{STRETTO_IN_PLACE, data, half},
                                  {STRETTO_IN_PLACE, data + half, count - half}};
    switch (call % 3) {
    case 0:
        return stretto_iallreduce(comm, STRETTO_IN_PLACE, data, count, STRETTO_INT32, STRETTO_SUM,
                                  request);
    case 1: return stretto_iallreduce_batch(comm, parts, 2, STRETTO_INT32, STRETTO_SUM, request);
    default:
        return stretto_ibroadcast(comm, data, count, STRETTO_INT32, call % stretto_size(comm),
                                  request);
    }
}

// Many calls in flight on one buffer a stream: only their order keeps them apart.
void run_streams(test::OnDevice &device, stretto_comm comm,
                 std::vector<std::unique_ptr<Stream>> &streams, std::size_t count, int calls) {
    const int rank = stretto_rank(comm), ranks = stretto_size(comm);
    const std::size_t bytes = count * sizeof(std::int32_t);
    std::vector<std::int32_t *> buffers;
    for (std::size_t s = 0; s < streams.size(); ++s)
        buffers.push_back(reinterpret_cast<std::int32_t *>(device.allocate(bytes, true)));
    std::vector<std::unique_ptr<Pinned>> sources, results;
    for (int call = 0; call < calls; ++call) {
        const auto s = static_cast<std::size_t>(call) % streams.size();
        sources.push_back(std::make_unique<Pinned>(count));
        results.push_back(std::make_unique<Pinned>(count));
        for (std::size_t i = 0; i < count; ++i)
            sources.back()->data()[i] = given(rank, call, i);
        streams[s]->copy(buffers[s], sources.back()->data(), bytes);
        check(stretto_stream_begin(streams[s]->handle()));
        check(begin(comm, call, buffers[s], count, nullptr));
        check(stretto_stream_end());
        streams[s]->copy(results.back()->data(), buffers[s], bytes);
    }
    for (auto stream = streams.rbegin(); stream != streams.rend(); ++stream)
        (*stream)->open();
    for (std::size_t s = 0; s < streams.size(); ++s)
        check(stretto_stream_synchronize(buffers[s], streams[s]->handle()));
    std::size_t wrong = 0;
    for (int call = 0; call < calls; ++call)
        for (std::size_t i = 0; i < count; ++i)
            wrong += results[static_cast<std::size_t>(call)]->data()[i] != expected(ranks, call, i);
    CHECK(wrong == 0);
    for (std::int32_t *const buffer : buffers)
        device.free(reinterpret_cast<std::byte *>(buffer));
}

// A call that no stream orders and for which no other stream waits, so that all memory is
// registered and copies do not hold up the thread that issues them.
void prepare(stretto_comm comm, std::int32_t *data) {
    check(stretto_allreduce(comm, STRETTO_IN_PLACE, data, 1, STRETTO_INT32, STRETTO_SUM));
    check(stretto_barrier(comm)); // no rank makes another one before
}

// The same calls by a rank that has host memory and no stream.
void run_here(stretto_comm comm, std::size_t count, int calls) {
    const int rank = stretto_rank(comm), ranks = stretto_size(comm);
    for (int call = 0; call < calls; ++call) {
        std::vector<std::int32_t> data(count);
        for (std::size_t i = 0; i < count; ++i)
            data[i] = given(rank, call, i);
        stretto_request request = nullptr;
        check(begin(comm, call, data.data(), count, &request));
        check(stretto_wait(&request));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < count; ++i)
            wrong += data[i] != expected(ranks, call, i);
        CHECK(wrong == 0);
    }
}

} // namespace

TEST_CASE("calls run in the order of their streams, and streams go on behind them") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    for (const int ranks : {1, 2, 3, 5})
        for (const std::size_t several : {1u, 3u})
            test::with_ranks(ranks, [&](stretto_comm comm) {
                device.free(device.allocate(8, true)); // this thread has the context
                std::vector<std::unique_ptr<Stream>> streams;
                for (std::size_t s = 0; s < several; ++s)
                    streams.push_back(std::make_unique<Stream>());
                if (stretto_rank(comm) % 3 == 2)
                    run_here(comm, 1009, 30);
                else
                    run_streams(device, comm, streams, 1009, 30);
            });
}

// Ranks are threads here, so the first call of one rank comes while the stream of another waits.
TEST_CASE("a first call while streams wait asks the driver for nothing, and a later one does") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    constexpr int kRanks = 3;
    constexpr std::size_t kCount = 1009;
    std::barrier together(kRanks);
    test::with_ranks(1, [&](stretto_comm comm) { // the pools of the process
        device.free(device.allocate(8, true));
        std::vector<std::unique_ptr<Stream>> streams;
        streams.push_back(std::make_unique<Stream>());
        run_streams(device, comm, streams, kCount, 1);
    });
    test::with_ranks(kRanks, [&](stretto_comm comm) {
        auto *const data = reinterpret_cast<std::int32_t *>(device.allocate(4 * kCount, true));
        Stream stream;
        stream.open();
        check(stretto_stream_synchronize(data, stream.handle()));
        const auto call = [&] {
            check(stretto_stream_begin(stream.handle()));
            check(begin(comm, 0, data, kCount, nullptr));
            check(stretto_stream_end());
        };
        const auto counted = [&](auto &&body) { // what all ranks have the driver do
            simulated_cuda::Counts counts;
            together.arrive_and_wait();
            if (stretto_rank(comm) == 0)
                simulated_cuda::simulated_cuda_reset();
            together.arrive_and_wait();
            body();
            check(stretto_stream_synchronize(data, stream.handle()));
            together.arrive_and_wait();
            simulated_cuda::simulated_cuda_counts(&counts);
            together.arrive_and_wait();
            return counts;
        };
        const simulated_cuda::Counts first = counted(call), second = counted(call),
                                     third = counted(call);
        CHECK(first.asked_while_waiting == 0);
        CHECK(first.host_allocations == 0);
        CHECK(second.asked_while_waiting == 0);
        CHECK(third.asked_while_waiting == 0);
        CHECK(third.host_registrations == 0);
        CHECK(third.pageable_copies == 0);
        device.free(reinterpret_cast<std::byte *>(data));
    });
}

TEST_CASE("default streams are streams") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    for (const std::uintptr_t number : {1u, 2u})
        test::with_ranks(1, [&](stretto_comm comm) {
            device.free(device.allocate(8, true));
            std::vector<std::unique_ptr<Stream>> streams;
            streams.push_back(std::make_unique<Stream>(reinterpret_cast<void *>(number)));
            run_streams(device, comm, streams, 1009, 9);
        });
}

TEST_CASE("a request of an ordered call is waited for as any other") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    test::with_ranks(2, [&](stretto_comm comm) {
        auto *const data = reinterpret_cast<std::int32_t *>(device.allocate(4, true));
        Stream stream;
        Pinned one(1), result(1);
        one.data()[0] = 1;
        stream.copy(data, one.data(), 4);
        stretto_request request = nullptr;
        check(stretto_stream_begin(stream.handle()));
        check(begin(comm, 0, data, 1, &request));
        check(stretto_stream_end());
        int done = 1;
        check(stretto_test(&request, &done));
        CHECK(done == 0); // the stream has not come so far
        stream.open();
        check(stretto_wait(&request));
        CHECK(request == nullptr);
        device.copy(reinterpret_cast<std::byte *>(result.data()),
                    reinterpret_cast<const std::byte *>(data), 4);
        CHECK(result.data()[0] == 2);
        device.free(reinterpret_cast<std::byte *>(data));
    });
}

TEST_CASE("a stream that is followed goes on, and the host waits for the call") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    for (const std::size_t count : {std::size_t{1}, std::size_t{100'003}}) {
        std::barrier went_on(2);
        test::with_ranks(2, [&](stretto_comm comm) {
            auto *const data = reinterpret_cast<std::int32_t *>(device.allocate(4 * count, true));
            for (int call = 0; call < 3; ++call) {
                Stream stream; // for which the default stream, which is one of both, does not wait
                Pinned ones(count), result(count);
                std::fill_n(ones.data(), count, 1 + call);
                stream.copy(data, ones.data(), 4 * count);
                if (stretto_rank(comm) == 1)
                    went_on.arrive_and_wait(); // the other rank's stream has
                stretto_request request = nullptr;
                check(stretto_stream_follow(stream.handle()));
                CHECK(begin(comm, 0, data, count, nullptr) == STRETTO_ERR_ARGUMENT);
                check(begin(comm, 0, data, count, &request));
                check(stretto_stream_end());
                int done = 1;
                check(stretto_test(&request, &done));
                CHECK(done == 0); // the stream has not come so far
                stream.open();
                check(stretto_stream_synchronize(data, stream.handle()));
                if (stretto_rank(comm) == 0)
                    went_on.arrive_and_wait();
                check(stretto_wait(&request));
                device.copy(reinterpret_cast<std::byte *>(result.data()),
                            reinterpret_cast<const std::byte *>(data), 4 * count);
                CHECK(std::all_of(result.data(), result.data() + count,
                                  [&](std::int32_t each) { return each == 2 * (1 + call); }));
            }
            device.free(reinterpret_cast<std::byte *>(data));
        });
    }
}

TEST_CASE(
    "a request that nobody has is freed when its call has ended, and no plan is kept for it") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    for (const bool reported : {false, true}) { // a report hears of each end
        const test::Folder folder;
        std::optional<test::With> report;
        if (reported)
            report.emplace("STRETTO_REPORT", folder.path().c_str());
        test::with_ranks(2, [&](stretto_comm comm) {
            auto *const data = reinterpret_cast<std::int32_t *>(device.allocate(40, true));
            Stream stream;
            check(stretto_stream_begin(stream.handle()));
            for (int call = 0; call < 30; ++call)
                check(begin(comm, call, data, 10, nullptr));
            check(stretto_stream_end());
            const auto left = [&] {
                const std::lock_guard lock(comm->mutex);
                return comm->requests.size();
            };
            CHECK(left() == 30);
            CHECK_FALSE(comm->communicator.queue().forget());
            stream.open();
            // No call of the library meanwhile.
            const auto becomes = [](auto &&condition) {
                constexpr int kPatienceMs = 20'000;
                for (int ms = 0; ms < kPatienceMs; ++ms) {
                    if (condition())
                        return true;
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
                return false;
            };
            CHECK(becomes([&] { return left() == 0; }));
            check(stretto_barrier(comm)); // other ranks have read what plans describe, or soon have
            CHECK(becomes([&] { return comm->communicator.queue().forget(); }));
            device.free(reinterpret_cast<std::byte *>(data));
        });
    }
}

TEST_CASE("a failure lets the streams go on, and the next call has the error") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    for (const bool reached : {true, false}) { // the stream has come to the call, or not
        std::atomic<int> begun{0};
        test::with_ranks(3, [&](stretto_comm comm) {
            auto *const data = reinterpret_cast<std::int32_t *>(device.allocate(4, true));
            Stream stream;
            if (stretto_rank(comm) != 1) {
                if (reached)
                    stream.open();
                check(stretto_stream_begin(stream.handle()));
                check(begin(comm, 0, data, 1, nullptr));
                ++begun;
            } else {
                while (begun != 2)
                    std::this_thread::yield();
                CHECK(stretto_comm_abort(comm, "of the test") == STRETTO_OK);
                check(stretto_stream_begin(stream.handle()));
            }
            stream.open();
            check(stretto_stream_synchronize(data, stream.handle()));
            CHECK(begin(comm, 3, data, 1, nullptr) == STRETTO_ERR_ABORTED);
            CHECK(contains(stretto_last_error(), "of the test"));
            check(stretto_stream_synchronize(data, stream.handle())); // which it did not stop
            check(stretto_stream_end());
            device.free(reinterpret_cast<std::byte *>(data));
        });
    }
}

TEST_CASE("a time limit lets the streams go on, and the next call names the late rank") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    setenv("STRETTO_TIMEOUT", "0.3", 1);
    std::atomic<int> synchronized{0};
    test::with_ranks(3, [&](stretto_comm comm) {
        auto *const data = reinterpret_cast<std::int32_t *>(device.allocate(4, true));
        Stream stream;
        stream.open();
        check(stretto_stream_begin(stream.handle()));
        if (stretto_rank(comm) != 1) {
            check(begin(comm, 0, data, 1, nullptr));
            check(stretto_stream_synchronize(data, stream.handle()));
            ++synchronized;
        } else {
            while (synchronized != 2)
                std::this_thread::yield();
        }
        CHECK(begin(comm, 0, data, 1, nullptr) == STRETTO_ERR_TIMEOUT);
        CHECK(contains(stretto_last_error(), "rank 1 has not come"));
        check(stretto_stream_end());
        device.free(reinterpret_cast<std::byte *>(data));
    });
    unsetenv("STRETTO_TIMEOUT");
}

TEST_CASE("streams go on when a call times out, though its copies are behind them on the device") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "0.3");
    constexpr std::size_t kCount = 30'030; // operands of ring are fetched ahead
    std::atomic<bool> done{false}, stuck{false};
    std::thread watch([&] { // or the test would never end
        for (int ms = 0; ms < 20'000 && !done; ++ms)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        stuck = !done;
        simulated_cuda::simulated_cuda_share_queue(false);
    });
    test::with_ranks(3, [&](stretto_comm comm) {
        auto *const data = reinterpret_cast<std::int32_t *>(device.allocate(4 * kCount, true));
        Stream stream;
        stream.open();
        check(stretto_force_algorithm(comm, "ring"));
        prepare(comm, data);
        check(stretto_stream_begin(stream.handle()));
        simulated_cuda::simulated_cuda_share_queue(true);
        check(begin(comm, 0, data, kCount, nullptr));
        check(stretto_stream_synchronize(data, stream.handle()));
        CHECK(begin(comm, 0, data, kCount, nullptr) == STRETTO_ERR_TIMEOUT);
        check(stretto_stream_end());
        device.free(reinterpret_cast<std::byte *>(data));
    });
    done = true;
    watch.join();
    CHECK_FALSE(stuck);
}

TEST_CASE("the stream of a call that times out goes on when the device has left its buffers") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "0.2");
    std::atomic<bool> held{true};
    std::atomic<int> begun{0};
    std::thread release;
    test::with_ranks(3, [&](stretto_comm comm) {
        auto *const data = reinterpret_cast<std::int32_t *>(device.allocate(4, true));
        Stream stream;
        stream.open();
        prepare(comm, data);
        simulated_cuda::simulated_cuda_hold(true);
        check(stretto_stream_begin(stream.handle()));
        check(begin(comm, 0, data, 1, nullptr));
        if (++begun == 3)
            release = std::thread([&, segment = comm->communicator.segment()] {
                while (!segment->failed())
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                std::this_thread::sleep_for(std::chrono::milliseconds(300));
                held = false;
                simulated_cuda::simulated_cuda_hold(false);
            });
        check(stretto_stream_synchronize(data, stream.handle()));
        CHECK_FALSE(held);
        CHECK(begin(comm, 0, data, 1, nullptr) == STRETTO_ERR_TIMEOUT);
        check(stretto_stream_end());
        device.free(reinterpret_cast<std::byte *>(data));
    });
    release.join();
}

TEST_CASE("what cannot be ordered by a stream says so, and leaves the stream alone") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    test::with_ranks(1, [&](stretto_comm comm) {
        auto *const data = reinterpret_cast<std::int32_t *>(device.allocate(4, true));
        Stream stream;
        stream.open();
        CHECK(stretto_stream_end() == STRETTO_ERR_ARGUMENT);
        CHECK(contains(stretto_last_error(), "call stretto_stream_begin first"));
        CHECK(begin(comm, 0, data, 1, nullptr) == STRETTO_ERR_ARGUMENT);
        check(stretto_stream_begin(stream.handle()));
        CHECK(stretto_stream_begin(stream.handle()) == STRETTO_ERR_ARGUMENT);
        CHECK(contains(stretto_last_error(), "call stretto_stream_end first"));
        simulated_cuda::simulated_cuda_capture(stream.handle(), true);
        CHECK(begin(comm, 0, data, 1, nullptr) == STRETTO_ERR_UNSUPPORTED);
        CHECK(contains(stretto_last_error(), "before cudaStreamBeginCapture or after"));
        simulated_cuda::simulated_cuda_capture(stream.handle(), false);
        CHECK(stretto_allreduce_init(comm, STRETTO_IN_PLACE, data, 1, STRETTO_INT32, STRETTO_SUM,
                                     nullptr) == STRETTO_ERR_ARGUMENT);
        check(begin(comm, 0, data, 1, nullptr));
        check(stretto_stream_end());
        check(stretto_stream_synchronize(data, stream.handle()));
        device.free(reinterpret_cast<std::byte *>(data));
    });
}
