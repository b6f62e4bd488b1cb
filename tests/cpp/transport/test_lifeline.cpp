// SPDX-License-Identifier: BSD-3-Clause
// Whether a rank's process still runs, as its neighbours see it.
#include "doctest.h"

#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/shm/segment.hpp"

using namespace stretto;
using transport::Lifeline;
using transport::Presence;
using transport::Segment;

namespace {

std::size_t first_byte = 0; // of the segment of this test, in its memory

std::shared_ptr<Segment> segment_of(int ranks) {
    transport::SegmentShape shape;
    shape.ranks = ranks;
    shape.ring_bytes = 1 << 16;
    auto segment = Segment::create(shape);
    first_byte = segment->first_byte();
    return segment;
}

// A process that does `body` and then waits until it is told to end.  `body` is given a descriptor
// of the memory, as a rank is that another process hands it to.
class Process {
public:
    Process(const Segment &segment, const std::function<void(int)> &body) {
        const int memory = dup(segment.memory()->fd()); // stays open in the child
        int pair[2];
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        pid_ = fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            close(pair[0]);
            body(memory);
            char byte = 1;
            (void)!write(pair[1], &byte, 1);
            (void)!read(pair[1], &byte, 1);
            _exit(0);
        }
        close(pair[1]);
        close(memory);
        socket_ = pair[0];
        char byte = 0;
        ready_ = read(socket_, &byte, 1) == 1;
    }
    ~Process() { kill(); }
    bool ready() const { return ready_; }
    void kill() {
        if (pid_ <= 0)
            return;
        ::kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        close(socket_);
        pid_ = 0;
    }

private:
    pid_t pid_ = 0;
    int socket_ = -1;
    bool ready_ = false;
};

// Of a process that has not mapped the memory, and lives as long as that.
Lifeline &rank_of(int memory) {
    const auto &own = *new auto(transport::open_again(memory));
    return *new Lifeline(memory, own.get(), first_byte, 2);
}

// Whether another process sees this rank: what a process holds itself it knows without looking.
bool seen_by_other(const Segment &segment, int rank) {
    const int memory = dup(segment.memory()->fd());
    const pid_t child = fork();
    if (child == 0)
        _exit(rank_of(memory).held(rank) ? 1 : 0);
    close(memory);
    int status = 0;
    waitpid(child, &status, 0);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status) == 1;
}

} // namespace

TEST_CASE("a rank is there until its process ends or it leaves") {
    const auto segment = segment_of(3);
    CHECK(segment->presence(0) == Presence::dead); // never came
    segment->hold_life(0);
    segment->hold_life(2);
    CHECK(segment->presence(0) == Presence::here);
    CHECK(segment->presence(2) == Presence::here);
    {
        Process other(*segment, [](int memory) { rank_of(memory).hold(1); });
        REQUIRE(other.ready());
        CHECK(segment->presence(1) == Presence::here);
        other.kill();
        CHECK(segment->presence(1) == Presence::dead);
    }
    segment->leave(0);
    CHECK(segment->presence(0) == Presence::left);
    CHECK(segment->presence(2) == Presence::here);
}

TEST_CASE("equal process numbers do not hide a death") {
    const auto segment = segment_of(2);
    segment->hold_life(0);
    Process other(*segment, [&](int memory) {
        rank_of(memory).hold(1);
        // As if it had this number in a PID namespace of its own.
        segment->lines(1).pid.store(getppid());
    });
    REQUIRE(other.ready());
    CHECK(segment->presence(1) == Presence::here);
    other.kill();
    CHECK(segment->presence(1) == Presence::dead);
}

TEST_CASE("closing other descriptors of the memory does not make a rank look dead") {
    const auto segment = segment_of(2);
    segment->hold_life(0);
    const int file = segment->memory()->fd();
    close(dup(file));
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    close(open(path.c_str(), O_RDWR | O_CLOEXEC));
    CHECK(segment->presence(0) == Presence::here);
    // A child of fork() shares the description of the lock.
    const pid_t child = fork();
    if (child == 0) {
        for (int fd = 3; fd < 256; ++fd)
            close(fd);
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    CHECK(seen_by_other(*segment, 0));
    CHECK_FALSE(seen_by_other(*segment, 1));
}

TEST_CASE("without /proc a death is seen as well") {
    const auto segment = segment_of(2);
    segment->hold_life(0);
    Process other(*segment, [](int memory) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
            mount("none", "/proc", "tmpfs", 0, nullptr) != 0)
            _exit(1);
        rank_of(memory).hold(1);
    });
    if (!other.ready()) {
        MESSAGE("this process may not have namespaces of its own");
        return;
    }
    CHECK(segment->presence(1) == Presence::here);
    CHECK(segment->process(1) == 0); // its number means nothing here
    other.kill();
    CHECK(segment->presence(1) == Presence::dead);
}

TEST_CASE("the number of a process is one of its PID namespace") {
    const auto segment = segment_of(2);
    segment->hold_life(0);
    CHECK(segment->process(0) == getpid());
    segment->lines(0).pid_namespace.store(1);
    CHECK(segment->process(0) == 0);
}
