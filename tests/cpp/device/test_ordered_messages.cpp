// SPDX-License-Identifier: BSD-3-Clause
// Messages in the order of a stream: after what the stream was given before, before what it is
// given next, and matched in the order in which the program began them.
#include "doctest.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/on_device.hpp"
#include "device/ordered_message.hpp"
#include "device/simulated_cuda.hpp"
#include "device/streams_of_program.hpp"
#include "handles.hpp"
#include "stretto/embedding.h"
#include "support/environment.hpp"
#include "support/job.hpp"
#include "support/on_threads.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using test::check;
using test::contains;
using test::In;
using test::letter;
using test::OnDevice;
using test::Pinned;
using test::Place;
using test::receive;
using test::send;
using test::Stream;
using test::synchronize;
using test::Then;
using test::with_context;

template<class Condition>
bool becomes(const Condition &condition) {
    constexpr int kPatienceMs = 20'000;
    for (int ms = 0; ms < kPatienceMs && !condition(); ++ms)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return condition();
}

// Nothing, eager ones, those beyond, and one that is read in place.
constexpr std::size_t kSizes[] = {0, 1, 100, 4096, 4097, 20'000, 66'000, 300'001};

// To the next rank, on a stream for each way; several of each size, on one buffer a way.
void pass_around(OnDevice &device, stretto_comm comm, bool streams_of_all) {
    const int rank = stretto_rank(comm), ranks = stretto_size(comm);
    const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    int number = 0;
    for (const std::size_t bytes : kSizes) {
        Place out(device, bytes, rank % 2 == 0 || bytes % 2 == 0), in(device, bytes, rank % 3 != 1);
        std::vector<std::unique_ptr<Place>> results;
        Stream sends, receives;
        if (rank % 3 == 2 && !streams_of_all) { // this one has no stream
            sends.open();
            receives.open();
            for (int k = 0; k < 3; ++k, ++number) {
                stretto_request request = nullptr;
                out.fill(sends, rank, right, number);
                synchronize(sends, out);
                check(receive(comm, in, left, k, &request));
                check(stretto_send(comm, out.data(), bytes, STRETTO_UINT8, right, k));
                check(stretto_wait(&request));
                CHECK(in.holds_now(left, rank, number));
            }
            continue;
        }
        std::vector<std::unique_ptr<Pinned>> copies;
        for (int k = 0; k < 3; ++k) {
            Pinned &given = *copies.emplace_back(std::make_unique<Pinned>(bytes / 4 + 1));
            auto *const letters = reinterpret_cast<std::uint8_t *>(given.data());
            for (std::size_t i = 0; i < bytes; ++i)
                letters[i] = letter(rank, right, number + k, i);
            if (bytes != 0)
                sends.copy(out.data(), given.data(), bytes);
            const In order(sends);
            check(send(comm, out, right, k));
            out.spoil(sends);
        }
        for (int k = 0; k < 3; ++k) {
            {
                const In order(receives);
                check(receive(comm, in, left, k));
            }
            Pinned &result = *copies.emplace_back(std::make_unique<Pinned>(bytes / 4 + 1));
            if (bytes != 0)
                receives.copy(result.data(), in.data(), bytes);
        }
        receives.open();
        std::this_thread::sleep_for(std::chrono::milliseconds(rank % 2));
        sends.open();
        synchronize(sends, out);
        synchronize(receives, in);
        bool right_data = true;
        for (int k = 0; k < 3; ++k, ++number) {
            const auto *const letters = reinterpret_cast<const std::uint8_t *>(
                copies[static_cast<std::size_t>(3 + k)]->data());
            for (std::size_t i = 0; i < bytes; ++i)
                right_data = right_data && letters[i] == letter(left, rank, number, i);
        }
        CHECK(right_data);
    }
}

} // namespace

TEST_CASE("messages of all sizes travel when their streams come to them") {
    OnDevice device(OnDevice::Buffers::asked);
    for (const int ranks : {1, 2, 3, 5})
        with_context(device, ranks, [&](stretto_comm comm) {
            pass_around(device, comm, false);
            pass_around(device, comm, true);
        });
}

TEST_CASE("two ranks exchange long messages in one stream that is followed, and then waits") {
    OnDevice device(OnDevice::Buffers::asked);
    for (const std::size_t bytes : {std::size_t{10}, std::size_t{300'001}})
        with_context(device, 2, [&](stretto_comm comm) {
            const int rank = stretto_rank(comm), other = 1 - rank;
            Place out(device, bytes, true), in(device, bytes, true);
            for (int number = 0; number < 4; ++number) {
                Stream stream, another;
                another.open();
                out.fill(stream, rank, other, number);
                stretto_request requests[2] = {};
                {
                    const In order(stream, Then::go_on);
                    CHECK(send(comm, out, other, 5) == STRETTO_ERR_ARGUMENT); // without a request
                    check(send(comm, out, other, 5, &requests[0]));
                    check(receive(comm, in, other, 5, &requests[1]));
                }
                for (Stream *const each : {&stream, &another})
                    for (const stretto_request request : requests)
                        check(stretto_stream_wait(each->handle(), request));
                in.read(number % 2 == 0 ? stream : another);
                out.spoil(stream);
                int done = 1;
                check(stretto_test(&requests[0], &done));
                CHECK(done == 0);
                stream.open();
                synchronize(stream, in);
                synchronize(another, in);
                CHECK(in.holds(other, rank, number));
                for (stretto_request &request : requests)
                    check(stretto_wait(&request));
            }
        });
}

TEST_CASE("a stream waits for any request, also one that has ended") {
    OnDevice device(OnDevice::Buffers::asked);
    with_context(device, 2, [&](stretto_comm comm) {
        auto *const data = reinterpret_cast<std::int32_t *>(device.allocate(4, true));
        Pinned one(1), result(1);
        one.data()[0] = 3;
        device.copy(reinterpret_cast<std::byte *>(data),
                    reinterpret_cast<const std::byte *>(one.data()), 4);
        Stream stream;
        stream.open();
        stretto_request request = nullptr;
        CHECK(stretto_stream_wait(stream.handle(), nullptr) == STRETTO_ERR_ARGUMENT);
        check(stretto_iallreduce(comm, STRETTO_IN_PLACE, data, 1, STRETTO_INT32, STRETTO_SUM,
                                 &request));
        check(stretto_stream_wait(stream.handle(), request));
        stream.copy(result.data(), data, 4);
        check(stretto_stream_synchronize(data, stream.handle()));
        CHECK(result.data()[0] == 6);
        check(stretto_stream_wait(stream.handle(), request));
        check(stretto_stream_synchronize(data, stream.handle()));
        check(stretto_wait(&request));

        check(stretto_allreduce_init(comm, STRETTO_IN_PLACE, data, 1, STRETTO_INT32, STRETTO_SUM,
                                     &request));
        CHECK(stretto_stream_wait(stream.handle(), request) == STRETTO_ERR_ARGUMENT);
        CHECK(contains(stretto_last_error(), "start it first"));
        for (const std::int32_t sum : {12, 24}) {
            check(stretto_start(request));
            check(stretto_stream_wait(stream.handle(), request));
            stream.copy(result.data(), data, 4);
            check(stretto_stream_synchronize(data, stream.handle()));
            CHECK(result.data()[0] == sum);
            check(stretto_wait(&request));
        }
        check(stretto_request_free(&request));
        device.free(reinterpret_cast<std::byte *>(data));
    });
}

TEST_CASE("messages that are alike keep their order, whatever waits for a stream") {
    OnDevice device(OnDevice::Buffers::asked);
    std::barrier sent(2);
    with_context(device, 2, [&](stretto_comm comm) {
        for (const std::size_t bytes : {std::size_t{100}, std::size_t{50'000}})
            for (const bool waits_here : {true, false}) { // the sender's stream, or the receiver's
                Stream stream, open;
                open.open();
                Place first(device, bytes, true), second(device, bytes, false),
                    third(device, bytes, true), other(device, 3, false);
                stretto_request requests[3] = {};
                if (stretto_rank(comm) == 0) {
                    first.fill(open, 0, 1, 0);
                    second.fill(open, 0, 1, 1);
                    third.fill(open, 0, 1, 2);
                    other.fill(open, 0, 1, 3);
                    synchronize(open, first);
                    if (!waits_here)
                        stream.open();
                    {
                        const In order(stream);
                        check(send(comm, first, 1, 7));
                    }
                    check(send(comm, second, 1, 7, &requests[0]));
                    {
                        const In order(open);
                        check(send(comm, third, 1, 7));
                    }
                    // Neither is held up: another tag, and a collective.
                    check(stretto_send(comm, other.data(), 3, STRETTO_UINT8, 1, 8));
                    check(stretto_barrier(comm));
                    int done = 0;
                    if (waits_here) {
                        check(stretto_test(&requests[0], &done));
                        CHECK(done == 0);
                    }
                    sent.arrive_and_wait();
                    stream.open();
                    if (requests[0] != nullptr)
                        check(stretto_wait(&requests[0]));
                    synchronize(open, third);
                } else {
                    if (waits_here)
                        stream.open();
                    {
                        const In order(stream);
                        check(receive(comm, first, 0, 7));
                    }
                    check(receive(comm, second, 0, 7, &requests[0]));
                    check(stretto_recv(comm, other.data(), 3, STRETTO_UINT8, 0, 8, nullptr));
                    check(stretto_barrier(comm));
                    check(receive(comm, third, STRETTO_ANY_SOURCE, 7, &requests[1]));
                    sent.arrive_and_wait();
                    stream.open();
                    first.read(stream);
                    synchronize(stream, first);
                    check(stretto_wait(&requests[0]));
                    check(stretto_wait(&requests[1]));
                    CHECK(first.holds(0, 1, 0));
                    CHECK(second.holds_now(0, 1, 1));
                    CHECK(third.holds_now(0, 1, 2));
                }
                check(stretto_barrier(comm));
            }
    });
}

TEST_CASE("a rank sends to itself, in any order of beginning, and by wildcards") {
    OnDevice device(OnDevice::Buffers::asked);
    with_context(device, 2, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        for (const std::size_t bytes : kSizes)
            for (int way = 0; way < 8; ++way) {
                Place out(device, bytes, way % 2 == 0), in(device, bytes, way / 2 % 2 == 0);
                Stream sends, receives;
                out.fill(sends, rank, rank, way);
                const auto begin_receive = [&] {
                    const In order(receives);
                    check(receive(comm, in, STRETTO_ANY_SOURCE, STRETTO_ANY_TAG));
                };
                if (way >= 4)
                    begin_receive();
                {
                    const In order(sends);
                    check(send(comm, out, rank, 3));
                }
                if (way < 4)
                    begin_receive();
                in.read(receives);
                (way % 2 == 0 ? sends : receives).open();
                if (way % 3 == 0)
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                sends.open();
                receives.open();
                synchronize(sends, out);
                synchronize(receives, in);
                CHECK(in.holds(rank, rank, way));
            }
    });
}

// No thread waits for the receive, so there may be one that sends.
TEST_CASE("a receive from any rank outlives the other ranks, until finalize finds no sender") {
    OnDevice device(OnDevice::Buffers::asked);
    for (const bool sends : {true, false}) {
        const std::string job = test::fresh_job();
        test::on_threads(2, [&](int rank) {
            device.free(device.allocate(8, true));
            stretto_comm comm = nullptr;
            check(stretto_init_explicit(rank, 2, job.c_str(), &comm));
            if (rank == 1)
                return check(stretto_finalize(&comm));
            Place place(device, 20'000, true);
            Stream stream;
            stream.open();
            place.fill(stream, 0, 0, 1);
            synchronize(stream, place);
            {
                const In order(stream);
                check(receive(comm, place, STRETTO_ANY_SOURCE, 1));
            }
            while (comm->communicator.segment()->presence(1) == stretto::transport::Presence::here)
                std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            CHECK_FALSE(comm->communicator.segment()->failed());
            Place sent(device, 20'000, false);
            if (sends)
                check(stretto_send(comm, sent.data(), 20'000, STRETTO_UINT8, 0, 1));
            check(stretto_finalize(&comm));
            synchronize(stream, place);
        });
    }
}

// All that are begun before, from both sides; a probe finds what no receive has matched.
TEST_CASE("many messages wait for streams at once, and are freed when they have ended") {
    OnDevice device(OnDevice::Buffers::asked);
    constexpr int kMessages = 60;
    with_context(device, 2, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm), other = 1 - rank;
        std::vector<std::unique_ptr<Place>> places;
        Stream sends, receives;
        for (int number = 0; number < kMessages; ++number) {
            const std::size_t bytes = kSizes[static_cast<std::size_t>(number) % std::size(kSizes)];
            const Place &out =
                *places.emplace_back(std::make_unique<Place>(device, bytes, number % 3 != 0));
            places.back()->fill(sends, rank, other, number);
            const Place &in =
                *places.emplace_back(std::make_unique<Place>(device, bytes, number % 3 != 1));
            {
                const In order(sends);
                check(send(comm, out, other, number % 5));
            }
            {
                const In order(receives);
                check(receive(comm, in, other, number % 5));
            }
            places.back()->read(receives);
        }
        const auto left = [&] {
            const std::lock_guard lock(comm->mutex);
            return comm->requests.size();
        };
        CHECK(left() == 2 * kMessages);
        sends.open();
        receives.open();
        synchronize(receives, *places[1]);
        for (int number = 0; number < kMessages; ++number)
            CHECK(places[static_cast<std::size_t>(2 * number + 1)]->holds(other, rank, number));
        CHECK(becomes([&] { return left() == 0; }));
    });
}

TEST_CASE("a message that is too long is an error of its request, or else of the communicator") {
    OnDevice device(OnDevice::Buffers::asked);
    for (const bool has_request : {true, false})
        with_context(device, 2, [&](stretto_comm comm) {
            Stream stream;
            stream.open();
            Place buffer(device, stretto_rank(comm) == 0 ? 20'000 : 10'000, true);
            buffer.fill(stream, 0, 1, 0);
            if (stretto_rank(comm) == 0) {
                const In order(stream);
                check(send(comm, buffer, 1, 0));
            } else {
                stretto_request request = nullptr;
                {
                    const In order(stream);
                    check(receive(comm, buffer, 0, 0, has_request ? &request : nullptr));
                }
                synchronize(stream, buffer);
                if (has_request) {
                    CHECK(stretto_wait(&request) == STRETTO_ERR_TRUNCATED);
                    CHECK(buffer.holds_now(0, 1, 0));
                }
            }
            if (has_request) {
                check(stretto_barrier(comm));
                return;
            }
            CHECK(becomes([&] { return comm->communicator.segment()->failed(); }));
            CHECK(stretto_barrier(comm) == STRETTO_ERR_TRUNCATED);
            CHECK(contains(stretto_last_error(), "20000 bytes, which do not fit"));
        });
}

TEST_CASE("finalize waits for the messages of streams") {
    OnDevice device(OnDevice::Buffers::asked);
    device.free(device.allocate(8, true));
    Place out(device, 50'000, true), in(device, 50'000, true);
    Stream sends, receives;
    std::thread later;
    with_context(device, 2, [&](stretto_comm comm) {
        if (stretto_rank(comm) == 0) {
            out.fill(sends, 0, 1, 4);
            const In order(sends);
            check(send(comm, out, 1, 0));
            later = std::thread([&] {
                std::this_thread::sleep_for(std::chrono::milliseconds(100));
                sends.open();
                receives.open();
            });
        } else {
            stretto_request kept = nullptr; // and never waited for
            const In order(receives);
            check(receive(comm, in, 0, 0, &kept));
            in.read(receives);
        }
    });
    later.join();
    synchronize(receives, in);
    CHECK(in.holds(0, 1, 4));
}

TEST_CASE("a failure lets the streams of messages go on, and the next call has the error") {
    OnDevice device(OnDevice::Buffers::asked);
    for (const bool reached : {true, false}) { // the stream has come to the message, or not
        std::atomic<int> begun{0};
        with_context(device, 3, [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            Place buffer(device, 20'000, rank == 0);
            Stream stream;
            if (rank != 1) {
                if (reached)
                    stream.open();
                const In order(stream);
                check(rank == 0 ? send(comm, buffer, 1, 0) : receive(comm, buffer, 1, 0));
                ++begun;
            } else {
                while (begun != 2)
                    std::this_thread::yield();
                check(stretto_comm_abort(comm, "of the test"));
            }
            stream.open();
            synchronize(stream, buffer);
            const In order(stream);
            CHECK(send(comm, buffer, 0, 0) == STRETTO_ERR_ABORTED);
            CHECK(contains(stretto_last_error(), "of the test"));
            synchronize(stream, buffer); // which it did not stop
        });
    }
}

// Nobody waits on the host.
TEST_CASE("a time limit ends a message of a stream, and names the rank that is late") {
    OnDevice device(OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "0.3");
    for (const bool sends : {true, false})
        with_context(device, 2, [&](stretto_comm comm) {
            Place buffer(device, 20'000, true);
            Stream stream;
            stream.open();
            if (stretto_rank(comm) == 0) {
                const In order(stream);
                check(sends ? send(comm, buffer, 1, 0) : receive(comm, buffer, 1, 0));
            } else {
                CHECK(becomes([&] { return comm->communicator.segment()->failed(); }));
            }
            synchronize(stream, buffer);
            CHECK(stretto_barrier(comm) == STRETTO_ERR_TIMEOUT);
            CHECK(contains(stretto_last_error(), "for rank 1"));
            CHECK(contains(stretto_last_error(), sends ? "send(20000 bytes" : "recv(up to 20000"));
        });
}

TEST_CASE("messages that move one after the other need more time than the limit") {
    OnDevice device(OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "1.2");
    with_context(device, 2, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        Place buffer(device, 20'000, true);
        Stream stream;
        stream.open();
        for (int number = 0; number < 6; ++number) {
            if (rank == 0) // whose progress thread is busy all the time
                std::this_thread::sleep_for(std::chrono::milliseconds(300));
            const In order(stream);
            check(rank == 0 ? send(comm, buffer, 1, 0) : receive(comm, buffer, 0, 0));
        }
        synchronize(stream, buffer);
        check(stretto_barrier(comm));
    });
}

TEST_CASE("a stream that does not come to its message is named by the rank that waits for it") {
    OnDevice device(OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "0.5");
    std::atomic<bool> failed{false};
    with_context(device, 2, [&](stretto_comm comm) {
        Place buffer(device, 20'000, true);
        Stream stream;
        if (stretto_rank(comm) == 0) {
            const std::atomic<std::uint64_t> &state =
                comm->communicator.segment()->lines(0).wait_state;
            const In order(stream);
            check(send(comm, buffer, 1, 0));
            CHECK(becomes([&] { return state.load() != 0 || failed; }));
            while (!failed)
                std::this_thread::yield();
            stream.open();
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            CHECK(stretto_recv(comm, buffer.data(), 20'000, STRETTO_UINT8, 0, 0, nullptr) ==
                  STRETTO_ERR_TIMEOUT);
            const std::string text = stretto_last_error();
            failed = true;
            CHECK(contains(text, "stream of its own"));
        }
    });
}

TEST_CASE("streams go on when a message fails, though its copies are behind them on the device") {
    OnDevice device(OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "0.3");
    for (const std::size_t bytes : {std::size_t{100}, std::size_t{50'000}}) {
        std::atomic<bool> done{false}, stuck{false};
        std::jthread watch([&] { // or the test would never end
            stuck = !becomes([&] { return done.load(); });
            simulated_cuda::simulated_cuda_share_queue(false);
        });
        with_context(device, 2, [&](stretto_comm comm) {
            Place buffer(device, bytes, true);
            Stream stream;
            stream.open();
            // In no order: while a stream of this process waits, no ring is registered, and a copy
            // to one that is not would hold up the driver.
            if (stretto_rank(comm) == 0)
                check(stretto_send(comm, buffer.data(), bytes, STRETTO_UINT8, 1, 0));
            else
                check(stretto_recv(comm, buffer.data(), bytes, STRETTO_UINT8, 0, 0, nullptr));
            check(stretto_barrier(comm));
            simulated_cuda::simulated_cuda_share_queue(true);
            {
                const In order(stream);
                check(stretto_rank(comm) == 0 ? send(comm, buffer, 1, 0)
                                              : receive(comm, buffer, 0, 0));
            }
            synchronize(stream, buffer);
            CHECK(stretto_barrier(comm) == STRETTO_ERR_TIMEOUT);
        });
        done = true;
        watch.join();
        CHECK_FALSE(stuck);
    }
}

TEST_CASE("a message is refused while its stream is captured, and the stream is left alone") {
    OnDevice device(OnDevice::Buffers::asked);
    with_context(device, 1, [&](stretto_comm comm) {
        Place buffer(device, 5000, true);
        Stream stream;
        stream.open();
        simulated_cuda::simulated_cuda_capture(stream.handle(), true);
        stretto_request request = nullptr;
        {
            const In order(stream);
            CHECK(send(comm, buffer, 0, 0) == STRETTO_ERR_UNSUPPORTED);
            CHECK(contains(stretto_last_error(), "before cudaStreamBeginCapture or after"));
            const std::size_t counts[] = {5000};
            CHECK(stretto_ialltoallv(comm, STRETTO_IN_PLACE, nullptr, nullptr, buffer.data(),
                                     counts, nullptr, STRETTO_UINT8,
                                     nullptr) == STRETTO_ERR_UNSUPPORTED);
        }
        check(stretto_irecv(comm, buffer.data(), 5000, STRETTO_UINT8, 0, 0, nullptr, &request));
        CHECK(stretto_stream_wait(stream.handle(), request) == STRETTO_ERR_UNSUPPORTED);
        simulated_cuda::simulated_cuda_capture(stream.handle(), false);
        check(stretto_send(comm, buffer.data(), 5000, STRETTO_UINT8, 0, 0));
        check(stretto_wait(&request));
        synchronize(stream, buffer);
    });
}
