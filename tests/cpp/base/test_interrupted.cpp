// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <array>
#include <csignal>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/interrupted.hpp"

using namespace stretto;

namespace {

// A signal every half millisecond, none of which is to restart a system call.
class Signals {
public:
    Signals() {
        struct sigaction action{};
        action.sa_handler = [](int) {};
        sigaction(SIGALRM, &action, &before_);
        set(500);
    }
    ~Signals() {
        set(0);
        sigaction(SIGALRM, &before_, nullptr);
    }
    Signals(const Signals &) = delete;
    Signals &operator=(const Signals &) = delete;

private:
    static void set(suseconds_t microseconds) {
        const itimerval timer{{0, microseconds}, {0, microseconds}};
        setitimer(ITIMER_REAL, &timer, nullptr);
    }
    struct sigaction before_{};
};

} // namespace

TEST_CASE("room in a file is taken though signals come all the time") {
    const Descriptor file(memfd_create("test", MFD_CLOEXEC));
    constexpr std::size_t kOffset = 3 * 4096, kBytes = (std::size_t{64} << 20) + 4096;
    {
        const Signals signals;
        CHECK(take_room(file.get(), kOffset, kBytes) == 0);
    }
    struct stat status{};
    REQUIRE(fstat(file.get(), &status) == 0);
    CHECK(static_cast<std::size_t>(status.st_size) == kOffset + kBytes);
    CHECK(static_cast<std::size_t>(status.st_blocks) * 512 == kBytes);
    CHECK(take_room(-1, 0, 1) == EBADF);
}

TEST_CASE("signals neither end a wait early nor prolong it for ever") {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const Descriptor reads(ends[0]), writes(ends[1]);
    pollfd entry{reads.get(), POLLIN, 0};
    const Signals signals;
    const std::uint64_t start = now_ns();
    CHECK(poll_for({&entry, 1}, 50) == 0);
    CHECK(now_ns() - start >= 50'000'000);
    REQUIRE(uninterrupted([&] { return write(writes.get(), "x", 1); }) == 1);
    CHECK(poll_for({&entry, 1}, 50) == 1);
}
