// SPDX-License-Identifier: BSD-3-Clause
// Strangers at the door.  Time is what the tests say it is.
#include "doctest.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/clock.hpp"
#include "net/exchange.hpp"
#include "net/handshakes.hpp"
#include "net/listener.hpp"
#include "net/sockets.hpp"
#include "net/tcp_pair.hpp"

using namespace stretto;
using namespace stretto::net;
using test::filled;

namespace {

const Key kJob(filled(1));
constexpr std::uint64_t kSecond = 1'000'000'000;
const std::size_t kPlaces = ListenerOptions{}.strangers;
const std::uint64_t kGrace = ListenerOptions{}.grace_ns;

ConnectionRole from_rank(std::uint32_t rank) {
    ConnectionRole purpose;
    purpose.from = rank;
    return purpose;
}

// A rank that listens, at a time of its own.
struct Door {
    std::uint64_t now = 1000 * kSecond;
    std::vector<std::string> reports;
    Listener listener;

    explicit Door(ListenerOptions options = {}, const char *host = "127.0.0.1")
        : listener(listen_at(*Address::numeric(host, 0)), kJob, {.rank = 0, .size = 2000},
                   reporting(std::move(options))) {}

    ListenerOptions reporting(ListenerOptions options) {
        options.report = [this](Refusal, const std::string &sentence) {
            reports.push_back(sentence);
        };
        return options;
    }

    // Somebody connects.
    Descriptor knock() const { return connect_until(now_ns() + test::kAges, listener.address()); }
    void progress() { listener.progress(now); }
    // To the moment at which the listener takes new ones, if it waits for that.
    void let_time_pass() {
        pollfd entry{listener.descriptor(), POLLIN, 0};
        if (poll(&entry, 1, 0) == 0 && listener.wake_at() <= now + kGrace)
            now = std::max(now, listener.wake_at());
    }
    // Until what is on its way has come.
    template<class Done>
    void progress_until(Done &&done) {
        const std::uint64_t deadline = now_ns() + test::kAges;
        while (!done()) {
            REQUIRE(now_ns() < deadline);
            pollfd entry{listener.descriptor(), POLLIN, 0};
            poll(&entry, 1, 1);
            progress();
        }
    }
    void progress_until_strangers(std::size_t count) {
        progress_until([&] { return listener.strangers() == count; });
    }
    void progress_until_refused(Refusal kind, std::uint64_t count = 1) {
        progress_until([&] { return listener.refused(kind) == count; });
    }
    // A rank comes and is let in, whatever else goes on; what it and the listener hold.
    Opened let_in(const ConnectionRole &purpose, Initiator &rank) {
        const Descriptor socket = knock();
        std::optional<Opened> opened;
        progress_until([&] {
            REQUIRE(exchange(socket.get(), rank) != Progress::closed);
            if (!opened)
                opened = listener.take();
            return opened && rank.over();
        });
        CHECK(rank.state() == Handshake::State::agreed);
        CHECK(opened->agreement.purpose == purpose);
        CHECK(opened->agreement.key.bytes() == rank.agreement().key.bytes());
        CHECK(opened->peer == local_address(socket.get()));
        return std::move(*opened);
    }
    void let_in(std::uint32_t rank) {
        Initiator initiator(kJob, from_rank(rank), random_bytes());
        let_in(from_rank(rank), initiator);
    }
};

void say(const Descriptor &socket, std::string_view text) {
    REQUIRE(write(socket.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

void say(const Descriptor &socket, const test::Bytes &bytes) {
    REQUIRE(write(socket.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
}

// Whether the listener has closed it.
bool closed(const Descriptor &socket) {
    char byte = 0;
    return recv(socket.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0 || errno == ECONNRESET;
}

// Runs both sides of a rank's try that does not succeed.
Refusal turned_away(Door &door, Initiator &rank) {
    const Descriptor socket = door.knock();
    Progress progress = Progress::waiting;
    door.progress_until([&] {
        progress = exchange(socket.get(), rank);
        return progress != Progress::waiting;
    });
    return progress == Progress::closed ? Refusal::closed : rank.refusal();
}

} // namespace

TEST_CASE("a rank is accepted over IPv4 and IPv6, and bytes that it sends at once are not lost") {
    for (const char *host : {"127.0.0.1", "::1"}) {
        if (!test::has_loopback(Address::numeric(host, 0)->family()))
            continue;
        Door door({}, host);
        Initiator rank(kJob, from_rank(3), random_bytes());
        const Opened opened = door.let_in(from_rank(3), rank);
        CHECK(door.listener.strangers() == 0);
        CHECK(door.listener.refused() == 0);
        CHECK(door.reports.empty());
        CHECK(door.listener.wake_at() == UINT64_MAX);
        CHECK_FALSE(door.listener.take());
    }
}

TEST_CASE("a hundred ranks at once, more than there are places") {
    Door door({.strangers = 8});
    struct Coming {
        Descriptor socket;
        Initiator rank;
    };
    std::vector<Coming> coming;
    for (std::uint32_t rank = 1; rank <= 100; ++rank)
        coming.push_back({door.knock(), Initiator(kJob, from_rank(rank), random_bytes())});
    std::vector<bool> seen(101);
    std::size_t in = 0;
    door.progress_until([&] {
        for (Coming &each : coming)
            REQUIRE(exchange(each.socket.get(), each.rank) != Progress::closed);
        while (const auto opened = door.listener.take()) {
            CHECK_FALSE(seen[opened->agreement.purpose.from]);
            seen[opened->agreement.purpose.from] = true;
            ++in;
        }
        return in == 100;
    });
    CHECK(door.listener.refused() == 0);
}

TEST_CASE("another secret, another version, another rank, another epoch") {
    Door door;
    Initiator stranger(Key(filled(9)), from_rank(3), random_bytes());
    CHECK(turned_away(door, stranger) == Refusal::secret);
    ConnectionRole purpose = from_rank(3);
    purpose.protocol = 2;
    Initiator newer(kJob, purpose, random_bytes());
    CHECK(turned_away(door, newer) == Refusal::protocol);
    purpose = from_rank(3);
    purpose.to = 1;
    Initiator lost(kJob, purpose, random_bytes());
    CHECK(turned_away(door, lost) == Refusal::rank);
    Initiator thawed(kJob, from_rank(3), random_bytes());
    door.listener.set_epoch(1);
    CHECK(turned_away(door, thawed) == Refusal::epoch);
    CHECK(door.listener.refused() == 4);
    for (const Refusal kind : {Refusal::secret, Refusal::protocol, Refusal::rank, Refusal::epoch})
        CHECK(door.listener.refused(kind) == 1);
    CHECK_FALSE(door.listener.take());
}

TEST_CASE("each kind of refusal is reported once, with the peer, its address and the remedy") {
    Door door;
    for (int i = 0; i < 3; ++i) {
        Initiator stranger(Key(filled(9)), from_rank(3), random_bytes());
        turned_away(door, stranger);
    }
    CHECK(door.listener.refused(Refusal::secret) == 3);
    REQUIRE(door.reports.size() == 1);
    const std::string &told = door.reports[0];
    CAPTURE(told);
    CHECK(told.find("rank 0 on " + host_name()) == 0);
    CHECK(told.find(door.listener.address().text()) != std::string::npos);
    CHECK(told.find("refused a connection from 127.0.0.1:") != std::string::npos);
    CHECK(told.find("says that it is rank 3") != std::string::npos);
    CHECK(told.find("all ranks need the same secret") != std::string::npos);
    const Descriptor browser = door.knock();
    say(browser, "GET / HTTP/1.1\r\n");
    door.progress_until_refused(Refusal::stranger);
    CHECK(closed(browser));
    REQUIRE(door.reports.size() == 2);
    CHECK(door.reports[1].find("GET / HTTP/1.1") != std::string::npos);
    door.let_in(5);
}

TEST_CASE("a recording is refused") {
    Door door;
    Initiator rank(kJob, from_rank(3), random_bytes());
    test::Bytes recorded;
    {
        const Descriptor socket = door.knock();
        door.progress_until([&] {
            const test::Bytes said = test::said_by(rank);
            recorded.insert(recorded.end(), said.begin(), said.end());
            say(socket, said);
            const auto room = rank.wanted();
            if (const ssize_t come = recv(socket.get(), room.data(), room.size(), MSG_DONTWAIT);
                come > 0)
                rank.arrived(static_cast<std::size_t>(come));
            return rank.over();
        });
        CHECK(door.listener.take());
    }
    REQUIRE(recorded.size() == kGreetingBytes + kProofBytes);
    const Descriptor again = door.knock();
    say(again, recorded);
    door.progress_until_refused(Refusal::secret);
    CHECK_FALSE(door.listener.take());
}

TEST_CASE("garbage of every length ends nothing but itself") {
    Door door;
    std::vector<Descriptor> held;
    std::uint64_t garbled = 0;
    for (std::size_t size = 1; size <= 300; size += 13) {
        held.push_back(door.knock());
        test::Bytes bytes(size);
        for (std::size_t i = 0; i < size; ++i)
            bytes[i] = static_cast<std::byte>(i * 77 + size);
        say(held.back(), bytes);
        garbled += size >= 8;
    }
    door.progress_until_refused(Refusal::stranger, garbled);
    door.let_in(1);
}

TEST_CASE("byte by byte is allowed, as long as it takes no longer than it may") {
    Door door({.patience_ns = 5 * kSecond});
    Initiator rank(kJob, from_rank(3), random_bytes());
    const Descriptor slow = door.knock();
    door.progress_until_strangers(1);
    CHECK(door.listener.wake_at() == door.now + 5 * kSecond);
    const test::Bytes greeting = test::said_by(rank);
    for (const std::byte byte : greeting) {
        door.now += kSecond / 20;
        say(slow, test::Bytes{byte});
        door.progress();
    }
    test::Bytes challenge(kChallengeBytes);
    door.progress_until([&] {
        return recv(slow.get(), challenge.data(), challenge.size(), MSG_DONTWAIT | MSG_PEEK) ==
               static_cast<ssize_t>(kChallengeBytes);
    });
    CHECK(door.listener.strangers() == 1);
    door.now += 2 * kSecond; // 64 bytes took 3.2
    door.progress();
    CHECK(door.listener.strangers() == 0);
    CHECK(door.listener.refused(Refusal::late) == 1);
    CHECK(door.reports.size() == 1);
    CHECK(closed(slow) == false); // the challenge is still in it; then the end
    recv(slow.get(), challenge.data(), challenge.size(), 0);
    CHECK(closed(slow));
    door.let_in(3);
}

TEST_CASE("a silent peer is dropped after a while, a closed connection at once") {
    Door door;
    const Descriptor silent = door.knock();
    door.progress_until_strangers(1);
    {
        const Descriptor scanner = door.knock();
    }
    door.progress_until_refused(Refusal::closed);
    CHECK(door.listener.strangers() == 1);
    door.now = door.listener.wake_at() - 1;
    door.progress();
    CHECK(door.listener.strangers() == 1);
    door.now += 1;
    door.progress();
    CHECK(door.listener.strangers() == 0);
    CHECK(closed(silent));
    CHECK(door.listener.refused(Refusal::late) == 1);
}

TEST_CASE("a thousand held open keep no rank out") {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const std::size_t many = std::min<std::size_t>(1000, limit.rlim_cur / 2);
    Door door;
    std::vector<Descriptor> held;
    // As many as there are places, then the kernel's queue.
    for (std::size_t i = 0; i < many; ++i)
        held.push_back(door.knock());
    door.progress_until_strangers(kPlaces);
    door.progress();
    CHECK(door.listener.refused() == 0); // not before they had a little time
    CHECK(door.listener.wake_at() == door.now + kGrace);

    // A rank comes last.  Every now and then a houseful of strangers makes room for the next.
    Initiator rank(kJob, from_rank(7), random_bytes());
    const Descriptor socket = door.knock();
    const std::uint64_t before = door.now;
    std::optional<Opened> opened;
    door.progress_until([&] {
        exchange(socket.get(), rank);
        door.let_time_pass();
        if (!opened)
            opened = door.listener.take();
        return opened.has_value();
    });
    CHECK(opened->agreement.purpose.from == 7);
    CHECK(door.now - before <= (many / kPlaces + 2) * kGrace);
    CHECK(door.listener.strangers() <= kPlaces);
    // The oldest first.
    CHECK(closed(held.front()));
    CHECK_FALSE(closed(held.back()));
    REQUIRE(door.reports.size() == 1);
    CHECK(door.reports[0].find("make room") != std::string::npos);
    // They come again and again; another rank comes in all the same.
    for (std::size_t i = 0; i < many / 2; ++i)
        held[i] = door.knock();
    Initiator second(kJob, from_rank(8), random_bytes());
    const Descriptor other = door.knock();
    door.progress_until([&] {
        exchange(other.get(), second);
        door.let_time_pass();
        return second.over();
    });
    CHECK(second.state() == Handshake::State::agreed);
}

TEST_CASE("without descriptors connections are refused, and later ones taken again") {
    Door door;
    std::vector<Descriptor> waiting;
    for (int i = 0; i < 3; ++i)
        waiting.push_back(door.knock());
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const Descriptor next(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const rlimit full{static_cast<rlim_t>(next.get()), before.rlim_max};
    // What is below the limit is taken, too.
    std::vector<Descriptor> all;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &full) == 0);
    for (;;) {
        Descriptor more(open("/dev/null", O_RDONLY | O_CLOEXEC));
        if (!more.open())
            break;
        all.push_back(std::move(more));
    }
    door.progress_until_refused(Refusal::descriptors, 3);
    CHECK(door.listener.strangers() == 0);
    setrlimit(RLIMIT_NOFILE, &before);
    for (const Descriptor &each : waiting)
        CHECK(closed(each));
    REQUIRE(door.reports.size() == 1);
    CHECK(door.reports[0].find("ulimit -n") != std::string::npos);
    CHECK(door.reports[0].find("from 127.0.0.1:") != std::string::npos);
    door.let_in(4);
}

TEST_CASE("in a new epoch all have to come again") {
    Door door;
    const Descriptor early = door.knock();
    door.progress_until_strangers(1);
    door.listener.set_epoch(3);
    CHECK(door.listener.strangers() == 0);
    CHECK(closed(early));
    ConnectionRole purpose = from_rank(2);
    purpose.epoch = 3;
    Initiator rank(kJob, purpose, random_bytes());
    door.let_in(purpose, rank);
}

TEST_CASE("the user of connections may refuse one") {
    std::map<std::uint32_t, int> asked;
    Door door({.judge = [&](const ConnectionRole &purpose) { return ++asked[purpose.from] == 1; }});
    door.let_in(5);
    Initiator twin(kJob, from_rank(5), random_bytes());
    CHECK(turned_away(door, twin) == Refusal::unwanted);
    door.let_in(6);
}

TEST_CASE("a child that was forked does not disturb") {
    Door door({.patience_ns = 5 * kSecond});
    const Descriptor silent = door.knock();
    door.progress_until_strangers(1);
    int pipe_ends[2];
    REQUIRE(pipe(pipe_ends) == 0);
    const Descriptor read_end(pipe_ends[0]);
    Descriptor write_end(pipe_ends[1]);
    // It holds all sockets open until the pipe is closed: no handler of fork() closes them there.
    const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    if (child == 0) {
        write_end = Descriptor();
        char byte = 0;
        (void)!read(pipe_ends[0], &byte, 1);
        _exit(0);
    }
    door.now += 10 * kSecond;
    door.progress();
    CHECK(door.listener.strangers() == 0);
    say(silent, "more"); // to a socket that only the child has
    for (int i = 0; i < 10; ++i)
        door.progress();
    door.let_in(1);
    {
        const Descriptor closed_now = std::move(write_end);
    }
    REQUIRE(waitpid(child, nullptr, 0) == child);
}
