// SPDX-License-Identifier: BSD-3-Clause
// Who is at the other end of the socket at which the ranks of a job meet.
#include "doctest.h"

#include <cstddef>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/local/packets.hpp"

using namespace stretto;

namespace {

std::string name_of(const std::string &job) {
    sockaddr_un where;
    const socklen_t length = bootstrap::address(job, where);
    return {where.sun_path, length - offsetof(sockaddr_un, sun_path)};
}

Descriptor listen_at(const std::string &job) {
    sockaddr_un where;
    const socklen_t length = bootstrap::address(job, where);
    Descriptor listener = bootstrap::open_socket();
    REQUIRE(bind(listener.get(), reinterpret_cast<sockaddr *>(&where), length) == 0);
    REQUIRE(listen(listener.get(), 4) == 0);
    return listener;
}

Descriptor call(const std::string &job) {
    sockaddr_un where;
    const socklen_t length = bootstrap::address(job, where);
    Descriptor caller = bootstrap::open_socket();
    REQUIRE(connect(caller.get(), reinterpret_cast<sockaddr *>(&where), length) == 0);
    return caller;
}

} // namespace

TEST_CASE("sockets have other names for other jobs, and none that tells the job's") {
    CHECK(name_of("a") == name_of("a"));
    CHECK(name_of("a") != name_of("b"));
    const std::string longer(300, 'x');
    CHECK(name_of(longer + "a") != name_of(longer + "b"));
    CHECK(name_of("secret").find("secret") == std::string::npos);
    CHECK(name_of("a")[0] == '\0'); // not in the file system
}

TEST_CASE("another user who listens where ranks meet is found out") {
    const std::string job = "test of strangers " + std::to_string(getpid());
    {
        const Descriptor mine = listen_at(job);
        const Descriptor caller = call(job);
        CHECK_FALSE(bootstrap::stranger(caller.get()));
        bootstrap::check_listener(caller.get(), job);
        CHECK(bootstrap::accept_call(mine.get()).caller.open());
    }
    if (geteuid() != 0) {
        MESSAGE("only root can be two users");
        return;
    }
    constexpr uid_t kOther = 54321;
    int ready[2], done[2];
    REQUIRE(pipe(ready) == 0);
    REQUIRE(pipe(done) == 0);
    sockaddr_un where;
    const socklen_t length = bootstrap::address(job, where);
    const pid_t child = fork();
    if (child == 0) {
        char byte = 0;
        close(done[1]);
        if (setuid(kOther) != 0)
            _exit(1);
        const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (bind(listener, reinterpret_cast<sockaddr *>(&where), length) != 0 ||
            listen(listener, 4) != 0 || write(ready[1], &byte, 1) != 1)
            _exit(1);
        (void)!read(done[0], &byte, 1);
        _exit(0);
    }
    close(ready[1]);
    close(done[0]);
    char byte = 0;
    REQUIRE(read(ready[0], &byte, 1) == 1);
    const Descriptor caller = call(job);
    CHECK(bootstrap::stranger(caller.get()) == kOther);
    try {
        bootstrap::check_listener(caller.get(), job);
        FAIL("another user was believed");
    } catch (const Error &error) {
        CHECK(error.status() == Status::system);
        CHECK(std::string(error.what()).find("another user (54321)") != std::string::npos);
    }
    close(done[1]);
    close(ready[0]);
    waitpid(child, nullptr, 0);
}
