// SPDX-License-Identifier: BSD-3-Clause
// What communicators made of others cost, in files and in memory, and what happens if there is no
// memory for one.
#include "doctest.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <numeric>
#include <string>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "support/environment.hpp"
#include "support/processes.hpp"
#include "support/shared_counter.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

using test::check;
using test::contains;

namespace {

// What the library gets if it takes more than so many bytes at once.
enum class Room : std::uint8_t { there, refused, deadly };
std::atomic<Room> room{Room::there};
constexpr off_t kLongBytes = 64 << 10;
constexpr std::size_t kRingBytes = std::size_t{256} << 10;

} // namespace

// In place of that of the C library.
extern "C" [[gnu::visibility("default")]] int posix_fallocate(int file, off_t offset, off_t bytes) {
    if (bytes > kLongBytes && room != Room::there) {
        if (room == Room::deadly)
            raise(SIGKILL);
        return ENOSPC;
    }
    return fallocate(file, 0, offset, bytes) == 0 ? 0 : errno;
}

namespace {

// Bytes that the memory of this process's job has.
std::size_t taken() {
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        struct stat status{};
        if (std::filesystem::read_symlink(entry, gone).string().starts_with("/memfd:stretto ") &&
            stat(entry.path().c_str(), &status) == 0)
            return static_cast<std::size_t>(status.st_blocks) * 512;
    }
    return 0;
}

std::size_t open_files() {
    std::size_t count = 0;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd"))
        count += entry.path().empty() ? 0 : 1;
    return count;
}

// From now on this process cannot open files, nor sockets.
bool forbid_files() {
    const auto number = [](long call) { return static_cast<std::uint32_t>(call); };
    const auto forbid = [&](long call) {
        return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number(call), 0, 1);
    };
    const sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EMFILE);
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        forbid(SYS_openat),
        refuse,
        forbid(SYS_socket),
        refuse,
        forbid(SYS_memfd_create),
        refuse,
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{sizeof(filter) / sizeof(filter[0]), filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

std::vector<int> all_of(stretto_comm comm) {
    std::vector<int> ranks(static_cast<std::size_t>(stretto_size(comm)));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

stretto_status create(stretto_comm comm, int tag, stretto_comm *child) {
    const std::vector<int> ranks = all_of(comm);
    return stretto_comm_create(comm, ranks.data(), static_cast<int>(ranks.size()), tag, child);
}

stretto_status sum(stretto_comm comm) {
    int x = stretto_rank(comm) + 1, result = 0;
    const stretto_status status =
        stretto_allreduce(comm, &x, &result, 1, STRETTO_INT32, STRETTO_SUM);
    if (status == STRETTO_OK)
        CHECK(result == stretto_size(comm) * (stretto_size(comm) + 1) / 2);
    return status;
}

} // namespace

TEST_CASE("a child takes a few pages, its first call takes the rings, and its end frees all") {
    const test::With rings("STRETTO_RING_BYTES", std::to_string(kRingBytes).c_str());
    constexpr std::size_t kHeadBytes = 16384; // at most, of 4 ranks
    for (const int ranks : {1, 4}) {
        const auto all_rings = 2 * kRingBytes * static_cast<std::size_t>(ranks);
        const auto codes = test::on_processes(ranks, [&](stretto_comm comm) {
            const std::size_t before = taken(), files = open_files();
            check(stretto_barrier(comm));
            stretto_comm child = nullptr, other = nullptr;
            check(create(comm, 0, &child));
            check(stretto_comm_dup(comm, &other));
            check(stretto_barrier(comm));
            const std::size_t made = taken() - before;
            check(stretto_barrier(comm));
            check(sum(child));
            check(stretto_barrier(comm));
            const std::size_t used = taken() - before;
            const bool no_file = open_files() == files;
            check(stretto_barrier(comm));
            check(stretto_finalize(&child));
            check(stretto_finalize(&other));
            check(stretto_barrier(comm));
            const bool freed = taken() == before;
            check(stretto_barrier(comm));
            return made > 0 && made <= 2 * kHeadBytes && used == made + all_rings && no_file &&
                           freed
                       ? 7
                       : 8;
        });
        CHECK(codes == std::vector<int>(static_cast<std::size_t>(ranks), 7));
    }
}

TEST_CASE("the end of a child frees what its ranks have allocated and not freed") {
    constexpr std::size_t kBytes = std::size_t{1} << 20;
    const auto codes = test::on_processes(3, [](stretto_comm comm) {
        const std::size_t before = taken();
        check(stretto_barrier(comm));
        stretto_comm child = nullptr;
        check(stretto_comm_dup(comm, &child));
        void *memory = nullptr;
        if (stretto_rank(comm) != 1)
            check(stretto_alloc(child, kBytes, &memory));
        check(stretto_barrier(child));
        const bool there = taken() >= before + 2 * kBytes;
        check(stretto_barrier(comm));
        check(stretto_finalize(&child));
        check(stretto_barrier(comm));
        return there && taken() == before ? 7 : 8;
    });
    CHECK(codes == std::vector<int>(3, 7));
}

TEST_CASE("making a child opens no file") {
    const auto codes = test::on_processes(3, [&](stretto_comm comm) {
        if (!forbid_files())
            return 1;
        stretto_comm child = nullptr, grandchild = nullptr;
        check(create(comm, 3, &child));
        check(stretto_comm_split(child, 0, -stretto_rank(comm), &grandchild));
        check(sum(grandchild));
        return 7;
    });
    CHECK(codes == std::vector<int>(3, 7));
}

TEST_CASE("communicators of one name follow one another") {
    const auto codes = test::on_processes(4, [&](stretto_comm comm) {
        for (int round = 0; round < 300; ++round) {
            stretto_comm child = nullptr;
            check(create(comm, 0, &child));
            if ((round + stretto_rank(comm)) % 7 == 0)
                usleep(100);
            if (round % 10 == 0)
                check(sum(child));
            check(stretto_finalize(&child));
        }
        return 7;
    });
    CHECK(codes == std::vector<int>(4, 7));
}

TEST_CASE("the memory of a child is freed even if one of its ranks has died") {
    test::SharedCounter made, done;
    const auto codes = test::on_processes(4, [&](stretto_comm comm) {
        const std::size_t before = taken();
        check(stretto_barrier(comm));
        stretto_comm child = nullptr;
        const int ranks[] = {1, 2, 3};
        if (stretto_rank(comm) != 0)
            check(stretto_comm_create(comm, ranks, 3, 0, &child));
        if (child != nullptr)
            check(sum(child));
        ++*made;
        made.await(4);
        if (stretto_rank(comm) == 2)
            raise(SIGKILL);
        if (child != nullptr)
            CHECK(stretto_barrier(child) == STRETTO_ERR_PEER);
        const bool was_there = taken() > before;
        ++*done;
        done.await(3);
        if (child != nullptr)
            check(stretto_finalize(&child));
        ++*done;
        done.await(6);
        return was_there && taken() == before ? 7 : 8;
    });
    CHECK(codes == std::vector<int>{7, 7, -SIGKILL, 7});
}

TEST_CASE("no room for the rings is the same error on all ranks of the child") {
    const test::With rings("STRETTO_RING_BYTES", std::to_string(kRingBytes).c_str());
    for (const int poor : {-1, 0, 2}) { // the rank without room; -1: all
        CAPTURE(poor);
        const auto codes = test::on_processes(3, [&](stretto_comm comm) {
            stretto_comm child = nullptr, next = nullptr;
            check(stretto_comm_dup(comm, &child));
            room = poor < 0 || poor == stretto_rank(comm) ? Room::refused : Room::there;
            // Another rank may come first, and take the room of all.
            const stretto_status status = sum(child);
            const bool told = status == STRETTO_ERR_MEMORY &&
                              contains(stretto_last_error(), "no room for the shared segment of 1 "
                                                             "MiB; free memory") &&
                              sum(child) == STRETTO_ERR_REVOKED;
            room = Room::there;
            check(sum(comm)); // is whole
            check(stretto_finalize(&child));
            check(stretto_comm_dup(comm, &next));
            check(sum(next));
            return told ? 7 : status == STRETTO_OK ? 6 : 8;
        });
        CHECK(codes == std::vector<int>(3, codes[0])); // the same
        CHECK((codes[0] == 7 || (codes[0] == 6 && poor >= 0)));
    }
}

TEST_CASE("a rank that dies while it takes the room for the rings is an error of all others") {
    const test::With rings("STRETTO_RING_BYTES", std::to_string(kRingBytes).c_str());
    test::SharedCounter told;
    const auto codes = test::on_processes(3, [&](stretto_comm comm) {
        stretto_comm child = nullptr;
        check(stretto_comm_dup(comm, &child));
        if (stretto_rank(comm) == 1)
            room = Room::deadly;
        else
            usleep(20'000); // so that rank 1 takes it, most of the time
        if (stretto_rank(comm) == 1 && sum(child) == STRETTO_OK)
            raise(SIGKILL);
        const stretto_status status = sum(child);
        const bool right =
            (status == STRETTO_ERR_PEER && contains(stretto_last_error(), "rank 1 has died")) ||
            (status == STRETTO_OK && stretto_barrier(child) == STRETTO_ERR_PEER);
        ++*told; // whose process ends before is dead, too
        told.await(2);
        return right ? 7 : 8;
    });
    CHECK(codes == std::vector<int>{7, -SIGKILL, 7});
}
