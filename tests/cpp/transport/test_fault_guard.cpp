// SPDX-License-Identifier: BSD-3-Clause
// Work that reads pages which are not there ends; other faults are those of the program.
#include "doctest.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/on_threads.hpp"
#include "transport/shm/fault_guard.hpp"

using namespace stretto::transport;

namespace {

// Two pages, of which only the first is in the file.
class HalfThere {
public:
    HalfThere() {
        const int file = memfd_create("half", MFD_CLOEXEC);
        (void)!ftruncate(file, static_cast<off_t>(page()));
        at_ = static_cast<char *>(
            mmap(nullptr, 2 * page(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
        close(file);
        std::memset(at_, 7, page());
    }
    ~HalfThere() { munmap(at_, 2 * page()); }
    HalfThere(const HalfThere &) = delete;
    HalfThere &operator=(const HalfThere &) = delete;
    static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
    char *there() const { return at_; }
    char *missing() const { return at_ + page(); }

private:
    char *at_;
};

char read_byte(const char *at) {
    return *const_cast<const volatile char *>(at);
}

} // namespace

// First: a child must not have the handler yet.
TEST_CASE("other faults go to the handler that was there before, or end the process") {
    const auto end_of = [](void (*handler)(int), bool guards) {
        const pid_t child = fork();
        if (child == 0) {
            (void)signal(SIGBUS, handler);
            install_fault_guard();
            const HalfThere memory;
            const void *const read = memory.there();
            if (guards) // another page than that of the read
                (void)guarded({&read, 1, 10}, [&] { (void)read_byte(memory.missing() + 10); });
            else
                (void)read_byte(memory.missing());
            _exit(3);
        }
        int status = 0;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    };
    for (const bool guards : {false, true}) {
        CHECK(end_of([](int) { _exit(5); }, guards) == 5);
        CHECK(end_of(SIG_DFL, guards) == -SIGBUS);
    }
}

TEST_CASE("guarded work ends where a page is missing, and says in which read") {
    install_fault_guard();
    install_fault_guard();
    test::on_threads(4, [](int) {
        const HalfThere memory;
        for (int turn = 0; turn < 100; ++turn) {
            const void *reads[] = {memory.there(), memory.missing() + 100};
            std::atomic<int> done{0};
            CHECK(guarded({reads, 2, 50}, [&] { done += read_byte(memory.there() + 5); }) ==
                  kNoRead);
            CHECK(done == 7);
            CHECK(guarded({reads, 2, 50}, [&] {
                      done += read_byte(memory.there());
                      done += read_byte(memory.missing() + 149);
                      done += 1000;
                  }) == 1);
            CHECK(done == 14);
        }
    });
}
