// SPDX-License-Identifier: BSD-3-Clause
// Contributions that other ranks read in place by XPMEM, with a library that stands in for it
// (fake_xpmem): that results are right, also when memory at an address is replaced; what is
// attached, and for how long; and what happens where the library or the kernel refuses.
#include "doctest.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fake_xpmem/fake_xpmem.hpp"
#include "stretto/stretto.h"
#include "support/environment.hpp"
#include "support/exact.hpp"
#include "support/oracle.hpp"
#include "support/processes.hpp"
#include "support/survivors.hpp"
#include "support/text.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"

using stretto::schedule::Collective;
using test::check;
using test::contains;
using test::With;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::atomic<bool> missing{false};         // the library is not installed
std::atomic<std::size_t> copied_bytes{0}; // by system calls of the library
constexpr std::size_t kTrialBytes = 8;

using Open = void *(*)(const char *, int);

} // namespace

// In place of the C library's.
extern "C" __attribute__((visibility("default"))) void *dlopen(const char *name, int flags) {
    static const auto real = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "dlopen"));
    if (missing && name != nullptr && std::strcmp(name, "libxpmem.so.0") == 0)
        name = "libxpmem-not-installed.so.0";
    return real(name, flags);
}

extern "C" __attribute__((visibility("default"))) ssize_t
process_vm_readv(pid_t process, const iovec *here, unsigned long into, const iovec *there,
                 unsigned long from, unsigned long flags) noexcept {
    const long done = syscall(SYS_process_vm_readv, process, here, into, there, from, flags);
    if (done > static_cast<long>(kTrialBytes))
        copied_bytes += static_cast<std::size_t>(done);
    return done;
}

namespace {

// XPMEM is asked for, from a module that follows or does not; and what was attached since.
class OnXpmem {
public:
    explicit OnXpmem(bool follows)
        : on_("STRETTO_XPMEM", "on"), attaches_(fake_xpmem.attaches),
          detaches_(fake_xpmem.detaches), gets_(fake_xpmem.gets), releases_(fake_xpmem.releases) {
        fake_xpmem.follows = follows;
        copied_bytes = 0;
    }
    ~OnXpmem() {
        CHECK(detaches() == attaches());
        CHECK(fake_xpmem.releases - releases_ == fake_xpmem.gets - gets_);
        CHECK(fake_xpmem.errors == 0);
        fake_xpmem.follows = true;
    }
    OnXpmem(const OnXpmem &) = delete;
    OnXpmem &operator=(const OnXpmem &) = delete;
    std::size_t attaches() const { return fake_xpmem.attaches - attaches_; }
    std::size_t detaches() const { return fake_xpmem.detaches - detaches_; }

private:
    const With on_;
    const std::size_t attaches_, detaches_, gets_, releases_;
};

// Attachments by which the ranks of a host try it: each of a page of its own, and of a word of each
// other rank.
constexpr std::size_t trials(int ranks) {
    return static_cast<std::size_t>(ranks * ranks);
}

// A vector of a rank's own memory at one address, whatever memory that is.
class Replaceable {
public:
    explicit Replaceable(std::size_t count)
        : bytes_(count * sizeof(std::int64_t)), at_(map(nullptr)), count_(count) {}
    ~Replaceable() { munmap(at_, bytes_); }
    Replaceable(const Replaceable &) = delete;
    Replaceable &operator=(const Replaceable &) = delete;

    std::int64_t *data() const { return at_; }
    void fill(std::int64_t factor) {
        for (std::size_t i = 0; i < count_; ++i)
            at_[i] = factor * static_cast<std::int64_t>(i + 1);
    }
    // Unmapped, and other memory is mapped there.
    void replace() {
        std::int64_t *const again = map(at_);
        REQUIRE(again == at_);
    }
    // The pages are given back, and come anew.
    void discard() { REQUIRE(madvise(at_, bytes_, MADV_DONTNEED) == 0); }
    // Other pages are moved there.
    void move_over() {
        std::int64_t *const other = map(nullptr);
        REQUIRE(mremap(other, bytes_, bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, at_) == at_);
    }

private:
    std::int64_t *map(void *at) const {
        void *const mapped =
            mmap(at, bytes_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | (at == nullptr ? 0 : MAP_FIXED), -1, 0);
        REQUIRE(mapped != MAP_FAILED);
        return static_cast<std::int64_t *>(mapped);
    }
    const std::size_t bytes_;
    std::int64_t *const at_;
    const std::size_t count_;
};

// An allreduce of vectors, the number of elements of the result that are wrong; -1: an error.
long wrong_sums(stretto_comm comm, const std::int64_t *send, std::size_t count,
                std::int64_t factors) {
    std::vector<std::int64_t> sums(count, -1);
    if (stretto_allreduce(comm, send, sums.data(), count, STRETTO_INT64, STRETTO_SUM) != STRETTO_OK)
        return -1;
    long wrong = 0;
    for (std::size_t i = 0; i < count; ++i)
        wrong += sums[i] != factors * static_cast<std::int64_t>(i + 1);
    return wrong;
}

test::Call allreduce_of(std::size_t count, std::size_t salt = 0) {
    test::Call call;
    call.count = count;
    call.salt = salt;
    return call;
}

// Long enough for XPMEM.
std::size_t long_count(stretto_dtype dtype) {
    return 2 * kMiB / stretto::size_of(static_cast<stretto::Dtype>(dtype)) + 61;
}

// What a child writes on standard error, from now on.
class Said {
public:
    Said() : file_(memfd_create("said", MFD_CLOEXEC)) {}
    ~Said() { close(file_); }
    Said(const Said &) = delete;
    Said &operator=(const Said &) = delete;
    void listen() const { dup2(file_, STDERR_FILENO); }
    std::string text() const {
        std::string all(static_cast<std::size_t>(lseek(file_, 0, SEEK_END)), ' ');
        (void)!pread(file_, all.data(), all.size(), 0);
        return all;
    }

private:
    const int file_;
};

// Exit code of ranks that are processes.
int worked(stretto_comm comm, bool attached) {
    const std::size_t count = 3 * kMiB / 8 + 5;
    const std::vector<std::int64_t> send = [&] {
        std::vector<std::int64_t> each(count);
        for (std::size_t i = 0; i < count; ++i)
            each[i] = (stretto_rank(comm) + 1) * static_cast<std::int64_t>(i + 1);
        return each;
    }();
    const int ranks = stretto_size(comm);
    // In the first call ranks may not know yet that all can.
    for (int turn = 0; turn < 2; ++turn) {
        check(stretto_barrier(comm));
        fake_xpmem.attaches = 0;
        if (wrong_sums(comm, send.data(), count, ranks * (ranks + 1) / 2) != 0)
            return 1;
    }
    if ((fake_xpmem.attaches > 0) != attached)
        return 2;
    return stretto_finalize(&comm) == STRETTO_OK && fake_xpmem.errors == 0 ? 0 : 3;
}

} // namespace

// First: what is loaded in this process stays so in its children.
TEST_CASE("if one rank has no XPMEM, it warns, and all go without") {
    const With on("STRETTO_XPMEM", "on");
    const With direct("STRETTO_ALGORITHM", "direct");
    for (const auto &[how, words] :
         {std::pair("nothing", ""), std::pair("missing", "cannot load libxpmem.so.0 (libxpmem-not"),
          std::pair("make", "(xpmem_make, /dev/xpmem)"),
          std::pair("get", "Operation not permitted"),
          std::pair("attach", "Operation not permitted"),
          std::pair("off", "rank 1 does not offer")})
        for (const int ranks : {2, 3}) {
            const std::string kind = how;
            CAPTURE(kind);
            CAPTURE(ranks);
            const Said said;
            const std::string job = test::fresh_job();
            const auto codes = test::on_bare_processes(ranks, [&](int rank) {
                said.listen();
                fake_xpmem.follows = false; // no memory of another process does
                if (rank == 1) {
                    missing = kind == "missing";
                    fake_xpmem_refuses() = kind == "make"     ? Refused::make
                                           : kind == "get"    ? Refused::get
                                           : kind == "attach" ? Refused::attach
                                                              : Refused::nothing;
                    if (kind == "off")
                        setenv("STRETTO_XPMEM", "off", 1);
                }
                stretto_comm comm = nullptr;
                if (stretto_init_explicit(rank, ranks, job.c_str(), &comm) != STRETTO_OK)
                    return 10;
                return worked(comm, kind == "nothing");
            });
            const std::string text = said.text();
            CAPTURE(text);
            CHECK(codes == std::vector<int>(static_cast<std::size_t>(ranks), 0));
            CHECK((text == "") == (kind == "nothing"));
            if (kind == "nothing")
                continue;
            CHECK(contains(text, words));
            CHECK(contains(text, kind == "off" ? "rank 0 on " : "rank 1 on "));
            CHECK(contains(text, "STRETTO_XPMEM"));
            CHECK(contains(text, "go by STRETTO_CMA"));
        }
}

TEST_CASE("without the setting nothing is loaded or attached") {
    const OnXpmem none(true);
    const With off("STRETTO_XPMEM", "off");
    test::with_ranks(3, [](stretto_comm comm) {
        CHECK(test::play(comm, allreduce_of(long_count(STRETTO_FLOAT32))) == "");
    });
    CHECK(none.attaches() == 0);
    unsetenv("STRETTO_XPMEM");
}

TEST_CASE("reductions and copies read contributions where they are") {
    for (const char *algorithm : {"direct", "auto"})
        for (const auto &[collective, ranks] :
             {std::pair(Collective::allreduce, 3), std::pair(Collective::reduce_scatter, 2),
              std::pair(Collective::allgather, 3), std::pair(Collective::alltoall, 3)}) {
            if (collective == Collective::alltoall && std::string(algorithm) == "auto")
                continue;
            const OnXpmem on(true);
            test::with_ranks(ranks, [&, collective = collective](stretto_comm comm) {
                check(stretto_force_algorithm(comm, algorithm));
                for (int turn = 0; turn < 3; ++turn) {
                    test::Call call = allreduce_of(200'003, static_cast<std::size_t>(turn));
                    call.collective = collective;
                    const std::string wrong = test::play(comm, call);
                    CHECK_MESSAGE(wrong == "", algorithm, " ", ranks, " ", label(call), ": ",
                                  wrong);
                    check(stretto_barrier(comm));
                }
            });
            CAPTURE(algorithm);
            CAPTURE(static_cast<int>(collective));
            CHECK(on.attaches() > trials(ranks));
            CHECK(copied_bytes == 0);
        }
}

TEST_CASE("what has been attached stays so from call to call, if the module follows") {
    const With direct("STRETTO_ALGORITHM", "direct");
    for (const bool follows : {true, false}) {
        CAPTURE(follows);
        const OnXpmem on(follows);
        std::atomic<std::size_t> before{0};
        constexpr int kRanks = 3;
        test::with_ranks(kRanks, [&](stretto_comm comm) {
            const std::size_t count = 3 * kMiB / 8;
            Replaceable send(count);
            send.fill(stretto_rank(comm) + 1);
            for (int turn = 0; turn < 5; ++turn) {
                check(stretto_barrier(comm));
                if (turn == 2 && stretto_rank(comm) == 0)
                    before = on.attaches();
                check(stretto_barrier(comm));
                CHECK(wrong_sums(comm, send.data(), count, 6) == 0);
                check(stretto_barrier(comm));
                if (!follows) // but a barrier is no end of a step of others: all have left the call
                    CHECK(on.detaches() == on.attaches());
            }
            if (stretto_rank(comm) == 0)
                CHECK((on.attaches() == before) == follows);
            check(stretto_barrier(comm));
        });
    }
}

TEST_CASE("memory that is replaced between calls is seen as it is") {
    const With direct("STRETTO_ALGORITHM", "direct");
    const std::size_t count = 2 * kMiB / 8 + 1009;
    for (const bool follows : {true, false}) {
        CAPTURE(follows);
        const OnXpmem on(follows);
        test::with_ranks(3, [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            Replaceable send(count);
            for (int turn = 0; turn < 12; ++turn) {
                switch (turn % 4) {
                case 1: send.replace(); break;
                case 2: send.discard(); break;
                case 3: send.move_over(); break;
                }
                send.fill((rank + 1) * (turn + 1));
                CHECK(wrong_sums(comm, send.data(), count, 6 * (turn + 1)) == 0);
            }
        });
        CHECK(on.attaches() > trials(3));
    }
    // Other processes never see more than a copy.
    const OnXpmem on(false);
    const auto codes = test::on_processes(3, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        Replaceable send(count);
        for (int turn = 0; turn < 8; ++turn) {
            if (turn % 2 == 1)
                send.replace();
            send.fill((rank + 1) * (turn + 1));
            if (wrong_sums(comm, send.data(), count, 6 * (turn + 1)) != 0)
                return 1;
        }
        const bool attached = fake_xpmem.attaches > 3; // beside the trials
        check(stretto_finalize(&comm));
        return attached && fake_xpmem.attaches == fake_xpmem.detaches ? 0 : 2;
    });
    CHECK(codes == std::vector<int>(3, 0));
}

TEST_CASE("every type with every operation that it has, read in place") {
    for (const int ranks : {1, 2, 3, 5, 7, 8}) {
        if (test::sampled() && ranks > 3)
            break;
        const OnXpmem on(ranks != 2); // slices of more ranks are too short for a module like that
        test::with_ranks(ranks, [&](stretto_comm comm) {
            check(stretto_force_algorithm(comm, "direct"));
            std::size_t turn = 0;
            for (const test::Pair &pair : test::pairs()) {
                if (++turn % 7 != static_cast<std::size_t>(ranks) % 7 &&
                    (ranks != 3 || test::sampled()) && !test::full_tier())
                    continue;
                test::Call call = allreduce_of(long_count(pair.dtype), turn);
                call.dtype = pair.dtype;
                call.op = pair.op;
                call.in_place = turn % 2 == 1;
                call.send_offset = turn % 3 == 0 ? 1 : turn % 5; // of bytes
                call.recv_offset = turn % 4 == 0 ? 60 : 0;
                const std::string wrong = test::play(comm, call);
                CHECK_MESSAGE(wrong == "", ranks, " ranks, ", label(call), ": ", wrong);
            }
        });
        CHECK((on.attaches() > trials(ranks)) == (ranks > 1));
    }
}

TEST_CASE("counts of all kinds, blocking or not, in place or not, at any address") {
    for (const int ranks : {1, 2, 3, 5, 8})
        for (const bool follows : {true, false}) {
            if (test::sampled() && ranks != 3)
                continue;
            const OnXpmem on(follows);
            test::with_ranks(ranks, [&](stretto_comm comm) {
                const auto p = static_cast<std::size_t>(ranks);
                std::size_t turn = 0;
                for (const std::size_t count :
                     {std::size_t{0}, std::size_t{1}, p - 1, p + 1, std::size_t{1009},
                      std::size_t{65'537}, std::size_t{524'309}, 3 * kMiB / 4 + 1}) {
                    for (const Collective collective :
                         {Collective::allreduce, Collective::reduce_scatter, Collective::allgather,
                          Collective::alltoall}) {
                        ++turn;
                        test::Call call = allreduce_of(count, turn);
                        call.collective = collective;
                        if (collective != Collective::allreduce)
                            call.count /= count > 1009 ? p : 1;
                        call.in_place = turn % 3 == 0;
                        call.nonblocking = turn % 2 == 0;
                        call.shared = turn % 11 == 0;
                        call.send_offset = turn % 5 * 4;
                        call.recv_offset = turn % 7;
                        const std::string wrong = test::play(comm, call);
                        CHECK_MESSAGE(wrong == "", ranks, " ranks, ", label(call), ": ", wrong);
                    }
                }
            });
        }
}

TEST_CASE("calls in flight read in place what each of them has") {
    for (const bool follows : {true, false}) {
        const OnXpmem on(follows);
        test::with_ranks(3, [&](stretto_comm comm) {
            for (int turn = 0; turn < 3; ++turn) {
                std::vector<std::unique_ptr<test::Played>> calls;
                std::vector<stretto_request> requests(4);
                for (std::size_t k = 0; k < requests.size(); ++k) {
                    test::Call call = allreduce_of(600'011 + k, 10 * k + 1);
                    call.in_place = k % 2 == 1;
                    calls.push_back(test::prepare(comm, call));
                }
                for (std::size_t k = 0; k < requests.size(); ++k)
                    check(calls[k]->start(&requests[k]));
                for (std::size_t k = 0; k < requests.size(); ++k)
                    check(stretto_wait(&requests[k]));
                for (const auto &call : calls)
                    CHECK(call->verdict() == "");
            }
        });
        CHECK(on.attaches() > trials(3));
    }
}

TEST_CASE("an operation of the caller, and a communicator made of another") {
    const With direct("STRETTO_ALGORITHM", "direct");
    stretto_op add = STRETTO_SUM;
    check(stretto_op_create(
        [](const void *in, void *inout, std::size_t count, stretto_dtype, void *) {
            for (std::size_t i = 0; i < count; ++i)
                static_cast<std::int64_t *>(inout)[i] += static_cast<const std::int64_t *>(in)[i];
        },
        nullptr, 1, &add));
    for (const bool follows : {true, false}) {
        const OnXpmem on(follows);
        test::with_ranks(3, [&](stretto_comm comm) {
            const std::size_t count = 400'003;
            Replaceable send(count);
            send.fill(stretto_rank(comm) + 1);
            std::vector<std::int64_t> sums(count);
            for (int turn = 0; turn < 2; ++turn) {
                check(stretto_allreduce(comm, send.data(), sums.data(), count, STRETTO_INT64, add));
                CHECK(sums[0] == 6);
                CHECK(sums[count - 1] == 6 * static_cast<std::int64_t>(count));
            }
            stretto_comm child = nullptr;
            check(stretto_comm_split(comm, stretto_rank(comm) == 1 ? -1 : 0, 0, &child));
            check(stretto_barrier(comm));
            const std::size_t before = on.attaches();
            check(stretto_barrier(comm));
            if (child != nullptr) {
                CHECK(wrong_sums(child, send.data(), count, 4) == 0);
                CHECK(on.attaches() > before);
                check(stretto_finalize(&child));
            }
            check(stretto_barrier(comm));
        });
        CHECK(copied_bytes == 0);
    }
    check(stretto_op_free(add));
}

TEST_CASE("memory that vanishes, or that the kernel refuses, is an error that names its rank") {
    const With direct("STRETTO_ALGORITHM", "direct");
    for (const bool vanishes : {true, false}) {
        CAPTURE(vanishes);
        const OnXpmem on(false);
        test::SharedCounter through;
        const auto codes = test::on_processes(3, [&](stretto_comm comm) {
            const std::size_t count = 400'003;
            std::vector<std::int64_t> send(count, 1), sums(count);
            const auto reduce = [&] {
                return stretto_allreduce(comm, send.data(), sums.data(), count, STRETTO_INT64,
                                         STRETTO_SUM);
            };
            check(reduce());
            check(stretto_barrier(comm));
            if (stretto_rank(comm) == 1) {
                fake_xpmem.vanishes = vanishes;
                fake_xpmem_refuses() = vanishes ? Refused::nothing : Refused::attach;
            }
            const stretto_status status = reduce();
            const std::string why = stretto_last_error();
            const bool named =
                vanishes
                    ? status == STRETTO_ERR_PEER && contains(why, "(XPMEM found no page)") &&
                          (contains(why, "rank 0 (process") || contains(why, "rank 2 (process"))
                    : status == STRETTO_ERR_SYSTEM && contains(why, "(XPMEM)") &&
                          contains(why, "STRETTO_XPMEM=off");
            const bool placed = contains(why, "rank 1") && contains(why, "allreduce");
            if (!named || !placed)
                std::fprintf(stderr, "rank %d: %s: %s\n", stretto_rank(comm),
                             stretto_status_name(status), why.c_str());
            return named && placed && reduce() != STRETTO_OK ? 0 : 1;
        });
        CHECK(codes == std::vector<int>(3, 0));
    }
}

TEST_CASE("a rank that is killed among calls that read its memory is named to all others") {
    const OnXpmem on(false);
    test::SharedCounter calls;
    const auto codes = test::on_processes(
        3,
        [&](stretto_comm comm) {
            std::vector<std::int64_t> send(400'003, 1), sums(send.size());
            for (;;) {
                const stretto_status status = stretto_allreduce(
                    comm, send.data(), sums.data(), send.size(), STRETTO_INT64, STRETTO_SUM);
                ++*calls;
                if (status != STRETTO_OK)
                    return status == STRETTO_ERR_PEER && contains(stretto_last_error(), "rank 1")
                               ? 0
                               : 1;
            }
        },
        [&](const std::vector<pid_t> &processes) {
            calls.await(20);
            kill(processes[1], SIGKILL);
        });
    CHECK(codes == std::vector<int>{0, -SIGKILL, 0});
}

TEST_CASE("ranks of several hosts read those of their own in place") {
    const OnXpmem on(true);
    const With named("STRETTO_FAKE_HOSTS", "a,a,b");
    const With secret("STRETTO_SECRET", "of-tests-only-0123456789abcdef-0123");
    const test::MeetingPlace place;
    test::with_ranks(3, [&](stretto_comm comm) {
        for (const char *algorithm : {"direct", "auto"})
            for (std::size_t turn = 0; turn < 2; ++turn) {
                check(stretto_force_algorithm(comm, algorithm));
                CHECK(test::play(comm, allreduce_of(kMiB, turn)) == "");
            }
    });
    CHECK(on.attaches() > trials(2) + trials(1));
}
