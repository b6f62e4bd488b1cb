// SPDX-License-Identifier: BSD-3-Clause
// Long messages between devices are read where they are: one copy of the receiver's, and nothing
// through host memory.  Ranks are processes.
#include "doctest.h"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "device/message_buffers.hpp"
#include "device/ordered_vector.hpp"
#include "stretto/communicators.h"
#include "stretto/embedding.h"
#include "support/environment.hpp"
#include "support/processes.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using simulated_cuda::Counts;
using test::Bytes;
using test::check;
using test::contains;
using test::counted;
using test::kRight;
using test::kWrong;
using test::With;

constexpr std::size_t kLeast = std::size_t{128} << 10; // that is read in place

// Of rank 0 to the last one.  What this rank asked of the driver for it; `right`: it arrived whole.
Counts pass_on(stretto_comm comm, Bytes &buffer, int number, std::size_t bytes, bool &right) {
    const int rank = stretto_rank(comm), last = stretto_size(comm) - 1;
    for (std::size_t i = 0; i < bytes; ++i)
        buffer.set(i, rank == 0 ? test::letter(0, last, number, i) : std::uint8_t{0x5a});
    void *const data = buffer.data();
    check(stretto_barrier(comm));
    simulated_cuda::simulated_cuda_reset();
    if (rank == 0)
        check(stretto_send(comm, data, bytes, STRETTO_UINT8, last, number));
    else if (rank == last)
        check(stretto_recv(comm, data, bytes, STRETTO_UINT8, 0, number, nullptr));
    const Counts counts = counted();
    check(stretto_barrier(comm));
    right = right && (rank != last || test::holds(buffer, 0, last, number, bytes, bytes));
    return counts;
}

bool asks_nothing(const Counts &counts) {
    return counts.handles == 0 && counts.opened == 0 && counts.host_registrations == 0 &&
           counts.host_allocations == 0;
}
bool through_host(const Counts &counts, std::size_t bytes) {
    return counts.from_device_bytes + counts.to_device_bytes >= bytes;
}

// All ranks end with kRight; `body` says whether all is right.
void on_ranks(int ranks, const std::function<bool(stretto_comm)> &body) {
    test::on_free_ranks(ranks, [&](stretto_comm comm) { return body(comm) ? kRight : kWrong; });
}

Bytes on_device(stretto_comm comm, std::size_t bytes, std::size_t shift = 0) {
    return Bytes(comm, bytes, false, shift, true);
}

} // namespace

TEST_CASE("a long message is one copy of its receiver, and repeated ones open nothing") {
    for (const std::size_t bytes : {kLeast, kLeast + 1, std::size_t{1'300'003}})
        on_ranks(3, [&](stretto_comm comm) {
            const test::OnDevice device;
            const int rank = stretto_rank(comm);
            Bytes buffer = on_device(comm, bytes, static_cast<std::size_t>(5 * rank));
            bool right = true;
            for (int number = 0; number < 4; ++number) {
                const Counts counts = pass_on(comm, buffer, number, bytes, right);
                right = right && counts.copies == (rank == 2 ? 1 : 0) &&
                        (rank != 2 || counts.bytes == bytes) &&
                        (number == 0 ? counts.opened == (rank == 2 ? 1 : 0) &&
                                           counts.handles == (rank == 0 ? 1 : 0)
                                     : asks_nothing(counts));
            }
            return right;
        });
}

TEST_CASE("a shorter message goes through host memory, as does one that either side keeps there") {
    struct Case {
        std::size_t bytes;
        bool sends_from_host, receives_in_host;
        const char *ipc; // of rank 0, or of the last one
        const char *its_ipc;
        bool without_handles, other_device;
    };
    for (const Case &each : {Case{kLeast - 1, false, false, "on", "on", false, false},
                             Case{500'000, true, false, "on", "on", false, false},
                             Case{500'000, false, true, "on", "on", false, false},
                             Case{500'000, false, false, "off", "on", false, false},
                             Case{500'000, false, false, "on", "off", false, false},
                             Case{500'000, false, false, "on", "on", true, false},
                             Case{500'000, false, false, "on", "on", false, true}}) {
        CAPTURE(each.bytes);
        CAPTURE(each.ipc);
        const std::string job = test::fresh_job();
        const auto codes = test::on_bare_processes(2, [&](int rank) {
            const With ipc("STRETTO_CUDA_IPC", rank == 0 ? each.ipc : each.its_ipc);
            stretto_comm comm = nullptr;
            check(stretto_init_explicit(rank, 2, job.c_str(), &comm));
            const test::OnDevice device(test::OnDevice::Buffers::asked);
            if (each.without_handles)
                simulated_cuda::simulated_cuda_without_handles(true);
            if (each.other_device && rank == 1)
                simulated_cuda::simulated_cuda_other_device();
            const bool in_host = rank == 0 ? each.sends_from_host : each.receives_in_host;
            Bytes buffer(comm, each.bytes, false, 3, !in_host);
            bool right = true;
            for (int number = 0; number < 3; ++number) {
                const Counts counts = pass_on(comm, buffer, number, each.bytes, right);
                right = right && counts.opened == 0 &&
                        (in_host ? counts.copies == 0 : through_host(counts, each.bytes));
            }
            return right ? kRight : kWrong;
        });
        CHECK(codes == std::vector<int>(2, kRight));
    }
}

TEST_CASE("memory that is freed and given out again is opened again") {
    on_ranks(2, [](stretto_comm comm) {
        const test::OnDevice device;
        bool right = true;
        for (int number = 0; number < 6; ++number) {
            Bytes buffer = on_device(comm, 300'001);
            const Counts counts = pass_on(comm, buffer, number, 300'001, right);
            right = right && !through_host(counts, 1) &&
                    counts.opened == (stretto_rank(comm) == 1 ? 1 : 0);
        }
        return right;
    });
}

// Memory that a call has listed is freed, and what replaces it is sent: while a copy reads that, a
// call opens what is listed.
TEST_CASE("no listing of memory that is gone closes what a message is read from") {
    const With own("STRETTO_GPU_LAUNCH", "own"); // by steps, so ranks open memory before a call
    on_ranks(2, [](stretto_comm comm) {
        test::OnDevice device;
        const int rank = stretto_rank(comm);
        constexpr std::size_t kBytes = 400'000;
        check(stretto_force_algorithm(comm, "direct"));
        const auto sum = [&](Bytes &buffer, std::size_t bytes, stretto_request *request) {
            check(stretto_iallreduce(comm, STRETTO_IN_PLACE, buffer.data(), bytes, STRETTO_UINT8,
                                     STRETTO_SUM, request));
        };
        stretto_request listed = nullptr;
        auto gone = std::make_unique<Bytes>(comm, kBytes, false, 0, true);
        Bytes fresh = on_device(comm, 2 * kBytes), into = on_device(comm, kBytes);
        for (int call = 0; call < 2; ++call) {
            sum(*gone, kBytes, &listed);
            check(stretto_wait(&listed));
        }
        gone.reset();
        Bytes sent = on_device(comm, kBytes); // where that was
        bool right = true;
        (void)pass_on(comm, rank == 0 ? sent : into, 1, kBytes, right);
        test::write(sent, 0, 1, 2, kBytes);
        void *const from = sent.data(), *const to = into.data();
        check(stretto_barrier(comm));
        stretto_request message = nullptr;
        const simulated_cuda::Speed slow{500'000, 0};
        if (rank == 0) {
            check(stretto_isend(comm, from, kBytes, STRETTO_UINT8, 1, 2, &message));
            usleep(200'000);
        } else {
            usleep(50'000);
            simulated_cuda::simulated_cuda_speed(&slow);
            check(stretto_irecv(comm, to, kBytes, STRETTO_UINT8, 0, 2, nullptr, &message));
            int done = 0;
            for (int look = 0; look < 50; ++look, usleep(1000))
                check(stretto_test(&message, &done));
            right = right && done == 0;
        }
        sum(fresh, 2 * kBytes, &listed); // lists new memory
        check(stretto_wait(&message));
        const simulated_cuda::Speed fast{};
        simulated_cuda::simulated_cuda_speed(&fast);
        check(stretto_wait(&listed));
        return right && (rank == 0 || test::holds(into, 0, 1, 2, kBytes, kBytes));
    });
}

TEST_CASE("while a stream waits nothing is opened, and what is open already is read in place") {
    on_ranks(2, [](stretto_comm comm) {
        const test::OnDevice device;
        Bytes known = on_device(comm, 300'001), fresh = on_device(comm, 300'001);
        Bytes vector = on_device(comm, 8);
        bool right = true;
        void *const stream = test::stream_with(test::kNonBlocking);
        stretto_comm other = nullptr;
        check(stretto_comm_dup(comm, &other));
        void *const data = vector.data();
        const auto sum = [&] {
            check(stretto_stream_begin(stream));
            check(stretto_iallreduce(other, STRETTO_IN_PLACE, data, 8, STRETTO_UINT8, STRETTO_SUM,
                                     nullptr));
            check(stretto_stream_end());
        };
        sum();
        (void)cuStreamSynchronize(stream);
        (void)pass_on(comm, known, 0, 300'001, right);
        {
            test::Stream closed(stream); // of both ranks, so both streams wait for the call
            sum();
            const Counts in_place = pass_on(comm, known, 1, 300'001, right);
            const Counts staged = pass_on(comm, fresh, 2, 300'001, right);
            right = right && in_place.from_device_bytes + in_place.to_device_bytes < 300'001 &&
                    through_host(staged, 300'001) && staged.opened == 0 && staged.handles == 0 &&
                    staged.asked_while_waiting == 0;
        }
        (void)cuStreamSynchronize(stream);
        const Counts after = pass_on(comm, fresh, 3, 300'001, right);
        check(stretto_finalize(&other));
        return right && !through_host(after, 1);
    });
}

TEST_CASE(
    "memory that the driver does not open goes through host memory, and a line says so once") {
    const With silent("STRETTO_WARN", "0");
    on_ranks(2, [](stretto_comm comm) {
        const test::OnDevice device;
        Bytes buffer = on_device(comm, 300'001);
        if (stretto_rank(comm) == 1)
            simulated_cuda::simulated_cuda_fail_opening(2);
        bool right = true;
        for (int number = 0; number < 3; ++number) {
            const Counts counts = pass_on(comm, buffer, number, 300'001, right);
            right = right && through_host(counts, 300'001);
        }
        return right;
    });
}

TEST_CASE("a message that does not fit is truncated where it is, and a wildcard takes it") {
    on_ranks(2, [](stretto_comm comm) {
        const test::OnDevice device;
        constexpr std::size_t kBytes = 400'000, kRoom = 250'001;
        Bytes buffer = on_device(comm, kBytes);
        if (stretto_rank(comm) == 0) {
            test::write(buffer, 0, 1, 5, kBytes);
            void *const data = buffer.data();
            check(stretto_send(comm, data, kBytes, STRETTO_UINT8, 1, 5));
            return true;
        }
        void *const data = buffer.data();
        stretto_message seen{}, taken{};
        check(stretto_probe(comm, STRETTO_ANY_SOURCE, STRETTO_ANY_TAG, &seen));
        const bool truncated = stretto_recv(comm, data, kRoom, STRETTO_UINT8, STRETTO_ANY_SOURCE,
                                            STRETTO_ANY_TAG, &taken) == STRETTO_ERR_TRUNCATED;
        return seen.bytes == kBytes && truncated && taken.bytes == kBytes && taken.tag == 5 &&
               test::holds(buffer, 0, 1, 5, kRoom, kBytes);
    });
}

TEST_CASE("parts for each rank are read in place, between all ranks") {
    for (const int ranks : {1, 2, 3, 5})
        on_ranks(ranks, [&](stretto_comm comm) {
            const test::OnDevice device;
            const int rank = stretto_rank(comm);
            const auto all = static_cast<std::size_t>(ranks);
            std::vector<std::size_t> counts(all), its(all);
            std::size_t sum = 0, its_sum = 0;
            for (std::size_t r = 0; r < all; ++r) {
                const auto mine = static_cast<std::size_t>(rank);
                sum += counts[r] = kLeast + 1000 * mine + r;
                its_sum += its[r] = kLeast + 1000 * r + mine;
            }
            Bytes out = on_device(comm, sum), in = on_device(comm, its_sum);
            std::size_t at = 0;
            for (std::size_t r = 0; r < all; at += counts[r++])
                for (std::size_t i = 0; i < counts[r]; ++i)
                    out.set(at + i, test::letter(rank, static_cast<int>(r), 1, i));
            void *const from = out.data(), *const to = in.data();
            check(stretto_barrier(comm));
            simulated_cuda::simulated_cuda_reset();
            check(stretto_alltoallv(comm, from, counts.data(), nullptr, to, its.data(), nullptr,
                                    STRETTO_UINT8));
            bool right = !through_host(counted(), 1) && counted().bytes == its_sum;
            at = 0;
            for (std::size_t r = 0; r < all; at += its[r++])
                for (std::size_t i = 0; i < its[r]; ++i)
                    right =
                        right && in.get(at + i) == test::letter(static_cast<int>(r), rank, 1, i);
            return right;
        });
}

TEST_CASE("ranks hear of a process that dies while its message is read") {
    for (const int dies : {0, 1}) {
        CAPTURE(dies);
        const auto codes = test::on_processes(2, [&](stretto_comm comm) {
            const test::OnDevice device;
            const int rank = stretto_rank(comm);
            Bytes buffer = on_device(comm, 300'001);
            bool right = true;
            (void)pass_on(comm, buffer, 0, 300'001, right);
            void *const data = buffer.data();
            if (rank == dies) { // the sender while its message waits, or the receiver in the copy
                const simulated_cuda::Speed slow{10'000'000, 0};
                simulated_cuda::simulated_cuda_speed(&slow);
                stretto_request request = nullptr;
                if (rank == 0)
                    check(stretto_isend(comm, data, 300'001, STRETTO_UINT8, 1, 1, &request));
                else
                    check(
                        stretto_irecv(comm, data, 300'001, STRETTO_UINT8, 0, 1, nullptr, &request));
                usleep(300'000);
                kill(getpid(), SIGKILL);
            }
            if (rank == 1)
                usleep(600'000);
            const stretto_status status =
                rank == 0 ? stretto_send(comm, data, 300'001, STRETTO_UINT8, 1, 1)
                          : stretto_recv(comm, data, 300'001, STRETTO_UINT8, 0, 1, nullptr);
            // What a sender has left in memory that is open here may arrive all the same.
            const bool arrived =
                status == STRETTO_OK && rank == 1 && test::holds(buffer, 0, 1, 0, 300'001, 300'001);
            const bool failed = status == STRETTO_ERR_PEER ||
                                (arrived && stretto_barrier(comm) == STRETTO_ERR_PEER);
            return failed && contains(stretto_last_error(), "rank ") ? kRight : kWrong;
        });
        CHECK(codes == (dies == 0 ? std::vector<int>{-SIGKILL, kRight}
                                  : std::vector<int>{kRight, -SIGKILL}));
    }
}
