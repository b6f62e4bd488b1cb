// SPDX-License-Identifier: BSD-3-Clause
// Messages in the order of a stream where something goes wrong, or threads, limits and slow streams
// meet.
#include "doctest.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/ordered_message.hpp"
#include "handles.hpp"
#include "support/environment.hpp"
#include "support/scarce.hpp"
#include "support/text.hpp"

namespace {

using test::check;
using test::contains;
using test::In;
using test::OnDevice;
using test::Place;
using test::receive;
using test::send;
using test::Stream;
using test::synchronize;
using test::Then;
using test::with_context;

using Milliseconds = std::chrono::milliseconds;

stretto_status sum(stretto_comm comm, const Place &place) {
    return stretto_iallreduce(comm, STRETTO_IN_PLACE, place.data(), place.bytes() / 4,
                              STRETTO_INT32, STRETTO_SUM, nullptr);
}

// Runs `body` in another thread, and `beside` in this one.
template<class Body, class Beside>
void together(OnDevice &device, const Body &body, const Beside &beside) {
    std::thread other([&] {
        device.free(device.allocate(8, true)); // it has the context
        body();
    });
    beside();
    other.join();
}

} // namespace

TEST_CASE("two threads begin messages in one stream that waits for each") {
    OnDevice device(OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "20"); // or they would wait for ever
    constexpr int kRounds = 1000;
    with_context(device, 2, [&](stretto_comm comm) {
        Stream stream;
        stream.open();
        const Place one(device, 8, false), two(device, 8, false);
        std::barrier round(2);
        const auto messages = [&](int tag, const Place &place) {
            for (int k = 0; k < kRounds; ++k) {
                if (stretto_rank(comm) == 1) {
                    check(stretto_recv(comm, place.data(), 8, STRETTO_UINT8, 0, tag, nullptr));
                    continue;
                }
                round.arrive_and_wait();
                {
                    const In order(stream);
                    check(send(comm, place, 1, tag));
                }
                if (k % 8 == 7)
                    synchronize(stream, place);
            }
        };
        together(device, [&] { messages(1, one); }, [&] { messages(2, two); });
    });
}

TEST_CASE("two threads begin messages that are alike, in one stream that waits for each") {
    OnDevice device(OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "20"); // or they would wait for ever
    constexpr int kRounds = 1000;
    for (const bool sends : {true, false}) // of rank 0
        with_context(device, 2, [&](stretto_comm comm) {
            Stream stream;
            stream.open();
            const std::size_t bytes = sends ? 8 : 50'000;
            const Place one(device, bytes, false), two(device, bytes, false);
            if (stretto_rank(comm) == 1) {
                for (int k = 0; k < 2 * kRounds; ++k)
                    check(sends
                              ? stretto_recv(comm, one.data(), bytes, STRETTO_UINT8, 0, 1, nullptr)
                              : stretto_send(comm, one.data(), bytes, STRETTO_UINT8, 0, 1));
                return;
            }
            std::barrier round(2);
            const auto messages = [&](const Place &place) {
                for (int k = 0; k < kRounds; ++k) {
                    round.arrive_and_wait();
                    {
                        const In order(stream);
                        check(sends ? send(comm, place, 1, 1) : receive(comm, place, 1, 1));
                    }
                    if (k % 8 == 7)
                        synchronize(stream, place);
                }
            };
            together(device, [&] { messages(one); }, [&] { messages(two); });
        });
}

TEST_CASE("a thread begins exchanges and another one messages, in one stream") {
    OnDevice device(OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "20"); // or they would wait for ever
    constexpr int kRounds = 504;                       // a multiple of 8
    with_context(device, 2, [&](stretto_comm comm) {
        Stream stream;
        stream.open();
        const Place parts(device, 8, false), message(device, 8, false);
        const int rank = stretto_rank(comm);
        const std::size_t counts[] = {4, 4};
        std::barrier round(2);
        const auto messages = [&] {
            for (int k = 0; k < kRounds; ++k) {
                round.arrive_and_wait();
                if (rank == 1) {
                    check(stretto_recv(comm, message.data(), 8, STRETTO_UINT8, 0, 3, nullptr));
                } else {
                    const In order(stream);
                    check(send(comm, message, 1, 3));
                }
            }
        };
        const auto exchanges = [&] {
            for (int k = 0; k < kRounds; ++k) {
                round.arrive_and_wait();
                {
                    const In order(stream);
                    check(stretto_ialltoallv(comm, STRETTO_IN_PLACE, nullptr, nullptr, parts.data(),
                                             counts, nullptr, STRETTO_UINT8, nullptr));
                }
                if (k % 8 == 7)
                    synchronize(stream, parts);
            }
        };
        together(device, messages, exchanges);
    });
}

// The limit is for a wait; none of these is longer than 0.3 s.
TEST_CASE("a message does not time out while its stream does something else") {
    OnDevice device(OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "1.2");
    for (const bool host_waits : {false, true})
        with_context(device, 2, [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            const Place numbers(device, 8, false), message(device, 8, false);
            Stream stream;
            stream.open();
            if (rank == 0) {
                stretto_request sent = nullptr;
                {
                    const In order(stream);
                    for (int k = 0; k < 6; ++k)
                        check(sum(comm, numbers));
                    check(send(comm, message, 1, 0, host_waits ? &sent : nullptr));
                }
                if (host_waits)
                    check(stretto_wait(&sent));
            } else {
                for (int k = 0; k < 6; ++k) {
                    std::this_thread::sleep_for(Milliseconds(300));
                    const In order(stream);
                    check(sum(comm, numbers));
                }
                const In order(stream);
                check(receive(comm, message, 0, 0));
            }
            synchronize(stream, numbers);
            check(stretto_barrier(comm));
        });
}

TEST_CASE("a message does not time out while one of a slow stream holds it back") {
    OnDevice device(OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "1.2");
    for (const bool of_host : {false, true})
        with_context(device, 2, [&](stretto_comm comm) {
            const Place longer(device, 20'000, false), message(device, 8, false);
            Stream slow, fast;
            slow.open();
            fast.open();
            if (stretto_rank(comm) == 0) {
                {
                    const In order(slow);
                    for (int k = 0; k < 6; ++k)
                        check(send(comm, longer, 1, 0));
                    check(send(comm, message, 1, 7));
                }
                if (of_host) {
                    check(stretto_send(comm, message.data(), 8, STRETTO_UINT8, 1, 7));
                } else {
                    const In order(fast);
                    check(send(comm, message, 1, 7));
                }
            } else {
                for (int k = 0; k < 6; ++k) {
                    std::this_thread::sleep_for(Milliseconds(300));
                    const In order(slow);
                    check(receive(comm, longer, 0, 0));
                }
                const In order(slow);
                check(receive(comm, message, 0, 7));
                check(receive(comm, message, 0, 7));
            }
            synchronize(slow, longer);
            synchronize(fast, longer);
            check(stretto_barrier(comm));
        });
}

TEST_CASE("no limit of calls ends a message for which no caller waits, in finalize neither") {
    OnDevice device(OnDevice::Buffers::asked);
    device.free(device.allocate(8, true));
    Place out(device, 50'000, false), in(device, 50'000, false);
    Stream sends, receives;
    std::thread later;
    with_context(device, 2, [&](stretto_comm comm) {
        check(stretto_set_timeout(comm, 0.3));
        if (stretto_rank(comm) == 0) {
            out.fill(sends, 0, 1, 4);
            const In order(sends);
            check(send(comm, out, 1, 0));
            later = std::thread([&] {
                std::this_thread::sleep_for(Milliseconds(900));
                sends.open();
                receives.open();
            });
        } else {
            const In order(receives);
            check(receive(comm, in, 0, 0));
            in.read(receives);
        }
        std::this_thread::sleep_for(Milliseconds(400)); // since the last call
    });
    later.join();
    synchronize(receives, in);
    CHECK(in.holds(0, 1, 4));
}

// Of three ranks, rank 1 leaves; rank 0 waits for what comes behind a message from there.
TEST_CASE("a caller that waits for something else notices that the rank of a message has left") {
    OnDevice device(OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "20");
    for (const bool for_itself : {true, false})
        with_context(device, 3, [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            const Place one(device, 8, false), two(device, 8, false), three(device, 8, false);
            Stream stream;
            stream.open();
            check(stretto_barrier(comm));
            if (rank == 1)
                return;
            stretto_status status = STRETTO_OK;
            if (rank == 0) {
                stretto_request sent = nullptr;
                {
                    const In order(stream);
                    check(receive(comm, one, 1, 1));
                    check(send(comm, two, for_itself ? 0 : 2, 1, &sent));
                }
                if (!for_itself)
                    status = stretto_recv(comm, three.data(), 8, STRETTO_UINT8, 2, 1, nullptr);
                const stretto_status of_send = stretto_wait(&sent);
                status = for_itself ? of_send : status;
            } else {
                status = stretto_recv(comm, two.data(), 8, STRETTO_UINT8, 0, 1, nullptr);
            }
            CHECK(status == STRETTO_ERR_PEER);
            CHECK(contains(stretto_last_error(), "rank 1"));
        });
}

TEST_CASE("a rank that has left is not missed while its messages are still to be read") {
    OnDevice device(OnDevice::Buffers::asked);
    constexpr int kMessages = 700; // more than are read at once
    with_context(device, 2, [&](stretto_comm comm) {
        const Place place(device, 8, false);
        check(stretto_barrier(comm));
        if (stretto_rank(comm) == 1) {
            for (int tag = 0; tag < kMessages; ++tag)
                check(stretto_send(comm, place.data(), 8, STRETTO_UINT8, 0, tag));
            return;
        }
        while (comm->communicator.segment()->presence(1) == stretto::transport::Presence::here)
            std::this_thread::yield();
        Stream stream;
        stream.open();
        stretto_request last = nullptr;
        {
            const In order(stream);
            check(receive(comm, place, 1, kMessages - 1, &last));
        }
        std::this_thread::sleep_for(Milliseconds(100)); // no caller is there
        check(stretto_wait(&last));
    });
}

TEST_CASE("the function of a request may let another thread free the request") {
    OnDevice device(OnDevice::Buffers::asked);
    with_context(device, 1, [&](stretto_comm comm) {
        const Place place(device, 8, false);
        Stream stream;
        stream.open();
        struct Both {
            std::atomic<bool> told{false}, freed{false};
        } both;
        stretto_request request = nullptr;
        check(receive(comm, place, 0, 1, &request));
        check(stretto_stream_wait(stream.handle(), request));
        check(stretto_send(comm, place.data(), 8, STRETTO_UINT8, 0, 1));
        synchronize(stream, place); // so its end has been told
        stretto_request same = request;
        std::thread waits([&] {
            while (!both.told)
                std::this_thread::yield();
            CHECK(stretto_wait(&same) == STRETTO_OK);
            both.freed = true;
        });
        check(stretto_request_notify(
            request,
            [](stretto_status, const char *, void *context) {
                auto &of_test = *static_cast<Both *>(context);
                of_test.told = true;
                while (!of_test.freed)
                    std::this_thread::yield();
            },
            &both));
        waits.join();
    });
}

TEST_CASE("finalize ends a receive that no message has matched, unless a stream waits for it") {
    OnDevice device(OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "20");
    device.free(device.allocate(8, true));
    const Place in(device, 8, false);
    Stream follows, another;
    follows.open();
    another.open();
    const auto before = std::chrono::steady_clock::now();
    with_context(device, 1, [&](stretto_comm comm) {
        stretto_request kept = nullptr; // and never waited for
        const In order(follows, Then::go_on);
        check(receive(comm, in, 0, 1, &kept));
    });
    CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(10));
    for (const bool by_request : {true, false}) // such a receive must find its message
        with_context(device, 2, [&](stretto_comm comm) {
            stretto_request kept = nullptr;
            if (stretto_rank(comm) == 1) {
                std::this_thread::sleep_for(Milliseconds(200)); // the other one is in finalize
                return check(stretto_send(comm, in.data(), 8, STRETTO_UINT8, 0, 1));
            }
            const In order(follows, by_request ? Then::go_on : Then::wait);
            check(receive(comm, in, 1, 1, &kept));
            if (by_request)
                check(stretto_stream_wait(another.handle(), kept));
        });
    synchronize(follows, in);
    synchronize(another, in);
}

TEST_CASE("a stream that cannot wait for a request is an error of that call alone") {
    OnDevice device(OnDevice::Buffers::asked);
    constexpr int kAll = 16'384;
    with_context(device, 1, [&](stretto_comm comm) {
        const Place in(device, 8, false);
        Stream stream;
        stream.open();
        stretto_request received = nullptr;
        check(receive(comm, in, 0, 1, &received));
        int waits = 0;
        while (waits <= kAll && stretto_stream_wait(stream.handle(), received) == STRETTO_OK)
            ++waits;
        CHECK(waits == kAll);
        CHECK(contains(stretto_last_error(), "wait for streams of this process"));
        check(stretto_send(comm, in.data(), 8, STRETTO_UINT8, 0, 1));
        check(stretto_wait(&received));
        synchronize(stream, in);
    });
}

TEST_CASE("a failure ends a message to oneself once, though both of its sides wait") {
    OnDevice device(OnDevice::Buffers::asked);
    constexpr std::size_t kOthers = 500; // that are ended between its sides
    for (int round = 0; round < 3; ++round) {
        std::atomic<bool> begun{false};
        with_context(device, 2, [&](stretto_comm comm) {
            if (stretto_rank(comm) == 1) {
                while (!begun)
                    std::this_thread::yield();
                return check(stretto_comm_abort(comm, "of the test"));
            }
            const Place out(device, 20'000, false), in(device, 20'000, false);
            Stream open, closed;
            open.open();
            stretto_request sent = nullptr, received = nullptr;
            std::vector<stretto_request> others(kOthers);
            {
                const In order(open, Then::go_on);
                check(send(comm, out, 0, 1, &sent));
            }
            std::this_thread::sleep_for(Milliseconds(20)); // the stream has come to it
            {
                const In order(closed, Then::go_on);
                for (stretto_request &each : others)
                    check(stretto_irecv(comm, in.data(), 8, STRETTO_UINT8, 0, 7, nullptr, &each));
                check(receive(comm, in, 0, 1, &received));
            }
            for (std::size_t k = 0; k < kOthers; ++k)
                check(stretto_send(comm, out.data(), 8, STRETTO_UINT8, 0, 7));
            std::thread waits([&] { // and frees the send as soon as it has ended
                while (!sent->transfers.begin()[0]->ended())
                    std::this_thread::yield();
                CHECK(stretto_wait(&sent) == STRETTO_ERR_ABORTED);
            });
            begun = true;
            waits.join();
            CHECK(stretto_wait(&received) == STRETTO_ERR_ABORTED);
            for (stretto_request &each : others)
                CHECK(stretto_wait(&each) == STRETTO_ERR_ABORTED);
        });
    }
}

TEST_CASE("without memory a call in a stream is an error, and its stream goes on") {
    OnDevice device(OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "20");
    enum class Call { send, receive, exchange, exchange_without_request };
    for (const Call call :
         {Call::send, Call::receive, Call::exchange, Call::exchange_without_request}) {
        bool struck = true;
        for (long allocations = 0; struck; ++allocations)
            with_context(device, 1, [&](stretto_comm comm) {
                const Place out(device, 20'000, true), in(device, 20'000, true);
                Stream stream;
                stream.open();
                const std::size_t counts[] = {20'000};
                stretto_status status = STRETTO_OK;
                stretto_request request = nullptr;
                {
                    const In order(stream);
                    const test::Scarce scarce(allocations);
                    status = call == Call::send ? send(comm, out, 0, 1, &request)
                             : call == Call::receive
                                 ? receive(comm, in, 0, 1, &request)
                                 : stretto_ialltoallv(comm, out.data(), counts, nullptr, in.data(),
                                                      counts, nullptr, STRETTO_UINT8,
                                                      call == Call::exchange ? &request : nullptr);
                    struck = scarce.struck();
                }
                CHECK((status == STRETTO_OK || (struck && status == STRETTO_ERR_MEMORY)));
                if (status == STRETTO_OK && call == Call::send)
                    (void)stretto_recv(comm, in.data(), 20'000, STRETTO_UINT8, 0, 1, nullptr);
                if (status == STRETTO_OK && call == Call::receive)
                    (void)stretto_send(comm, out.data(), 20'000, STRETTO_UINT8, 0, 1);
                if (request != nullptr)
                    (void)stretto_wait(&request);
                synchronize(stream, out);
            });
    }
}
