// SPDX-License-Identifier: BSD-3-Clause
// Cross-memory attach: which calls copy from the memory of other ranks, that results are right, and
// what happens where the kernel refuses.
#include "doctest.h"

#include <atomic>
#include <barrier>
#include <cerrno>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "stretto/stretto.h"
#include "support/environment.hpp"
#include "support/exact.hpp"
#include "support/survivors.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

using stretto::schedule::Collective;
using test::check;
using test::contains;

namespace {

std::atomic<std::size_t> bytes_read{0}; // by system calls
std::atomic<int> refusal{0};            // not 0: the error of a call
std::atomic<bool> words_only{false};    // reads of a word are not refused

constexpr std::size_t kTrialBytes = 8; // what a rank reads to try it
constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Refuse {
    explicit Refuse(int error) {
        words_only = false;
        refusal = error;
    }
    ~Refuse() { refusal = 0; }
};

} // namespace

// In place of the C library's.
extern "C" __attribute__((visibility("default"))) ssize_t
process_vm_readv(pid_t process, const iovec *here, unsigned long into, const iovec *there,
                 unsigned long from, unsigned long flags) noexcept {
    if (refusal != 0 && (!words_only || here[0].iov_len > kTrialBytes)) {
        errno = refusal;
        return -1;
    }
    const long done = syscall(SYS_process_vm_readv, process, here, into, there, from, flags);
    if (done > static_cast<long>(kTrialBytes))
        bytes_read += static_cast<std::size_t>(done);
    return done;
}

namespace {

// Bytes that all ranks together read in one another's memory, in the second of two equal calls: in
// the first, ranks may not know yet that all can.
std::size_t read_in(int ranks, const test::Call &given) {
    test::with_ranks(ranks, [&](stretto_comm comm) {
        for (int turn = 0; turn < 2; ++turn) {
            test::Call call = given;
            call.salt = static_cast<std::size_t>(turn);
            check(stretto_barrier(comm));
            if (stretto_rank(comm) == 0)
                bytes_read = 0;
            check(stretto_barrier(comm));
            const std::string wrong = test::play(comm, call);
            CHECK_MESSAGE(wrong == "", label(call), ": ", wrong);
        }
        check(stretto_barrier(comm));
    });
    return bytes_read;
}

test::Call call_of(Collective collective, std::size_t count) {
    test::Call call;
    call.collective = collective;
    call.count = count;
    return call;
}

} // namespace

TEST_CASE("long contributions that one rank reads are copied from where they are") {
    // Counts of an alltoall and an allgather are of a part, of four bytes each.
    CHECK(read_in(2, call_of(Collective::alltoall, kMiB)) == 2 * 4 * kMiB);
    CHECK(read_in(3, call_of(Collective::alltoall, kMiB)) == 6 * 4 * kMiB);
    CHECK(read_in(2, call_of(Collective::allgather, kMiB)) == 2 * 4 * kMiB);
    // Several ranks read a part: a copy in shared memory serves all of them.
    CHECK(read_in(3, call_of(Collective::allgather, kMiB)) == 0);
    // Short vectors, and calls that a rank may leave before others come.
    CHECK(read_in(2, call_of(Collective::alltoall, 1000)) == 0);
    CHECK(read_in(2, call_of(Collective::broadcast, 4 * kMiB)) == 0);
    CHECK(read_in(2, call_of(Collective::gather, 4 * kMiB)) == 0);
    // Reductions only if that is asked for.
    CHECK(read_in(2, call_of(Collective::allreduce, kMiB)) == 0);
    const test::With all("STRETTO_CMA", "all");
    const test::With direct("STRETTO_ALGORITHM", "direct");
    CHECK(read_in(2, call_of(Collective::allreduce, kMiB)) == 4 * kMiB);
    CHECK(read_in(4, call_of(Collective::allreduce, kMiB)) == 3 * 4 * kMiB);
}

TEST_CASE("nothing is read if a setting or the kernel forbids it") {
    const test::Call call = call_of(Collective::alltoall, kMiB);
    {
        const test::With off("STRETTO_CMA", "off");
        CHECK(read_in(2, call) == 0);
    }
    for (const int error : {EPERM, ENOSYS, ESRCH, EFAULT}) {
        const Refuse refuse(error);
        CHECK(read_in(3, call) == 0);
    }
    CHECK(read_in(2, call) > 0);
}

TEST_CASE("a read that fails names the ranks, the call and the remedy, and no rank hangs") {
    for (const auto &[error, status, words] :
         {std::tuple(EPERM, STRETTO_ERR_SYSTEM, "(process_vm_readv); STRETTO_CMA=off"),
          std::tuple(ESRCH, STRETTO_ERR_PEER, "has died")}) {
        std::barrier meet(3);
        test::with_ranks(3, [&, error = error, status = status, words = words](stretto_comm comm) {
            std::vector<std::int32_t> send(3 * kMiB, 1), recv(3 * kMiB);
            const auto exchange = [&] {
                return stretto_alltoall(comm, send.data(), recv.data(), kMiB, STRETTO_INT32);
            };
            check(exchange());
            meet.arrive_and_wait();
            words_only = true;
            refusal = error;
            CHECK(exchange() == status);
            const std::string why = stretto_last_error();
            CAPTURE(why);
            CHECK(contains(why, words));
            CHECK(contains(why, "alltoall"));
            CHECK(exchange() != STRETTO_OK);
        });
        refusal = 0;
    }
}

TEST_CASE("random calls that copy from the memory of others give what they should") {
    const test::With all("STRETTO_CMA", "all");
    for (const char *hosts : {"", "a,a,b"})
        for (const int ranks : {2, 3, 4}) {
            const auto body = [&](stretto_comm comm) {
                std::minstd_rand random(static_cast<unsigned>(ranks)); // the same on all ranks
                for (int turn = 0; turn < 10; ++turn) {
                    constexpr Collective kAll[] = {Collective::allreduce, Collective::alltoall,
                                                   Collective::allgather,
                                                   Collective::reduce_scatter};
                    test::Call call;
                    call.collective = kAll[random() % 4];
                    const bool whole = call.collective == Collective::allreduce;
                    const stretto_dtype types[] = {STRETTO_INT8, STRETTO_FLOAT32, STRETTO_INT64};
                    call.dtype = types[random() % 3];
                    const std::size_t size = call.dtype == STRETTO_INT8      ? 1
                                             : call.dtype == STRETTO_FLOAT32 ? 4
                                                                             : 8;
                    call.count = (3 * kMiB + random() % 700'001) / size /
                                 static_cast<std::size_t>(whole ? 1 : ranks);
                    call.op = STRETTO_MAX;
                    call.in_place = random() % 3 == 0;
                    call.nonblocking = random() % 3 == 0;
                    call.send_offset = random() % 3 * size;
                    call.recv_offset = random() % 5 * size;
                    call.salt = static_cast<std::size_t>(turn);
                    const std::string wrong = test::play(comm, call);
                    CHECK_MESSAGE(wrong == "", ranks, " ranks, ", hosts, ", ", label(call), ": ",
                                  wrong);
                }
            };
            bytes_read = 0;
            if (*hosts == '\0')
                test::with_ranks(ranks, body);
            else {
                const test::With named("STRETTO_FAKE_HOSTS", hosts);
                const test::With secret("STRETTO_SECRET", "of-tests-only-0123456789abcdef-0123");
                const test::MeetingPlace place;
                test::with_ranks(ranks, body);
            }
            CHECK_MESSAGE(bytes_read > 0, ranks, " ranks ", hosts);
        }
}

TEST_CASE("an operation of the caller folds pieces") {
    const test::With all("STRETTO_CMA", "all");
    const test::With direct("STRETTO_ALGORITHM", "direct");
    stretto_op add = STRETTO_SUM;
    check(stretto_op_create(
        [](const void *in, void *inout, std::size_t count, stretto_dtype, void *) {
            for (std::size_t i = 0; i < count; ++i)
                static_cast<std::int64_t *>(inout)[i] += static_cast<const std::int64_t *>(in)[i];
        },
        nullptr, 1, &add));
    bytes_read = 0;
    test::with_ranks(3, [&](stretto_comm comm) {
        for (int turn = 0; turn < 2; ++turn) {
            std::vector<std::int64_t> send(400'003), recv(send.size());
            std::iota(send.begin(), send.end(), stretto_rank(comm) * 1000 + turn);
            check(
                stretto_allreduce(comm, send.data(), recv.data(), send.size(), STRETTO_INT64, add));
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < recv.size(); ++i)
                wrong += recv[i] != 3 * (static_cast<std::int64_t>(i) + turn) + 3000;
            CHECK(wrong == 0);
        }
    });
    CHECK(bytes_read > 0);
    check(stretto_op_free(add));
}
