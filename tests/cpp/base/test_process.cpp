// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/descriptor.hpp"
#include "base/process.hpp"

using namespace stretto;

namespace {

template<class Body>
int exit_code(pid_t child, Body &&body) {
    if (child == 0)
        _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool is_open(int fd) {
    return fcntl(fd, F_GETFD) != -1;
}

} // namespace

TEST_CASE("a child has another mark than its parent, however it was made") {
    const std::uint32_t mine = process_mark();
    CHECK(mine != 0);
    CHECK(process_mark() == mine);
    const auto is_another = [mine] {
        const std::uint32_t own = process_mark();
        const bool grandchild = exit_code(fork(), [own, mine] {
                                    return process_mark() != own && process_mark() != mine ? 0 : 1;
                                }) == 0;
        return own != 0 && own != mine && process_mark() == own && grandchild ? 0 : 1;
    };
    CHECK(exit_code(fork(), is_another) == 0);
    CHECK(exit_code(static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)), is_another) == 0);
    CHECK(process_mark() == mine);
}

TEST_CASE("the library's descriptors are closed in a child, others are not") {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const int others = ends[1];
    Descriptor first(ends[0]);
    const Descriptor owner(std::move(first)), high(fcntl(others, F_DUPFD, 700));
    REQUIRE(high.open());
    CHECK(exit_code(fork(), [&] {
              if (is_open(owner.get()) || is_open(high.get()) || !is_open(others))
                  return 1;
              // A number that is given again is not closed by whoever had it in the parent.
              const int again = dup(others);
              if (again != owner.get())
                  return 2;
              {
                  const Descriptor moved = std::move(const_cast<Descriptor &>(owner));
              }
              return is_open(again) ? 0 : 3;
          }) == 0);
    CHECK(is_open(owner.get()));
    CHECK(is_open(high.get()));
    CHECK(is_open(others));
    close(others);
}

TEST_CASE("locks of the process are free in a child, whichever thread held them") {
    static auto &lock = *new ProcessLock;
    CHECK(exit_code(fork(), [] { return lock.try_lock() ? 0 : 1; }) == 0);
    CHECK(lock.try_lock());
    lock.unlock();

    // Another thread holds it when this one forks: fork() waits until the lock is free.
    std::atomic<bool> is_held{false};
    std::thread holder([&] {
        const std::lock_guard held(lock);
        is_held = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    });
    while (!is_held)
        std::this_thread::yield();
    CHECK(exit_code(fork(), [] { return lock.try_lock() ? 0 : 1; }) == 0);
    holder.join();
}
