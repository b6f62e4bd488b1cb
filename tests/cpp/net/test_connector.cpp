// SPDX-License-Identifier: BSD-3-Clause
// Reaching a rank that may not be there yet.
#include "doctest.h"

#include <memory>
#include <poll.h>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "net/connector.hpp"
#include "net/handshakes.hpp"
#include "net/listener.hpp"
#include "net/tcp_pair.hpp"

using namespace stretto;
using namespace stretto::net;
using test::filled;
using State = Connector::State;

namespace {

const Key kJob(filled(1));

ConnectionRole purpose() {
    ConnectionRole result;
    result.from = 3;
    return result;
}

Address loopback(std::uint16_t port = 0) {
    return *Address::numeric("127.0.0.1", port);
}

Listener listening(const Address &at = loopback(), const Key &job = kJob, std::uint64_t epoch = 0) {
    return Listener(listen_at(at), job, {.rank = 0, .size = 4, .epoch = epoch});
}

Address deserted() {
    const Descriptor listener = listen_at(loopback());
    return local_address(listener.get());
}

// Lets both go on until the connector is done; the connector's clock is `now`.
State let_go_on(Connector &connector, Listener *listener) {
    const std::uint64_t deadline = now_ns() + test::kAges;
    while (connector.progress(now_ns()) == State::trying) {
        REQUIRE(now_ns() < deadline);
        if (listener != nullptr)
            listener->progress(now_ns());
        pollfd entry = connector.waits_for();
        poll(&entry, 1, 1);
    }
    return connector.state();
}

std::string failure(Connector &connector, Status status) {
    REQUIRE(connector.state() == State::failed);
    CHECK(connector.failure().status() == status);
    CHECK(connector.waits_for().fd == -1);
    const std::string text = connector.failure().what();
    CHECK(text.find("rank 3 on " + host_name() + " could not open a data connection to rank 0") ==
          0);
    return text;
}

} // namespace

TEST_CASE("a connection is opened, and both sides hold the same") {
    Listener listener = listening();
    Connector connector(kJob, purpose(), {listener.address()});
    REQUIRE(let_go_on(connector, &listener) == State::open);
    const Opened here = connector.take();
    std::optional<Opened> there;
    while (!(there = listener.take()))
        listener.progress(now_ns());
    CHECK(here.agreement.purpose == purpose());
    CHECK(here.agreement.key.bytes() == there->agreement.key.bytes());
    CHECK(here.peer == listener.address());
    CHECK(there->peer == local_address(here.socket.get()));
}

TEST_CASE("a connector tries until its peer listens") {
    const Address at = deserted();
    Connector connector(kJob, purpose(), {at});
    // Its time passes when we say so.
    std::uint64_t now = now_ns();
    std::vector<std::uint64_t> pauses;
    for (int i = 0; i < 9; ++i) {
        while (connector.wake_at() <= now || connector.waits_for().fd != -1) {
            REQUIRE(connector.progress(now) == State::trying);
            pollfd entry = connector.waits_for();
            if (entry.fd != -1)
                poll(&entry, 1, -1);
        }
        pauses.push_back((connector.wake_at() - now) / 1'000'000);
        now = connector.wake_at();
    }
    CHECK(pauses == std::vector<std::uint64_t>{10, 20, 40, 80, 160, 320, 500, 500, 500}); // ms
    Listener listener = listening(at);
    while (connector.progress(now) == State::trying) {
        listener.progress(now);
        now += 1'000'000;
    }
    CHECK(connector.state() == State::open);
}

TEST_CASE("of several addresses the one that answers") {
    Listener listener = listening();
    Connector connector(kJob, purpose(),
                        {deserted(), *Address::numeric("127.0.0.2", 1), listener.address()});
    REQUIRE(let_go_on(connector, &listener) == State::open);
    CHECK(connector.take().peer == listener.address());
}

TEST_CASE("the time is over") {
    const Address at = deserted();
    Connector connector(kJob, purpose(), {at}, {.deadline = now_ns() + 50'000'000});
    let_go_on(connector, nullptr);
    const std::string why = failure(connector, Status::timeout);
    CHECK(why.find(at.text()) != std::string::npos);
    CHECK(why.find("Connection refused") != std::string::npos);
    CHECK(why.find("STRETTO_IFACE") != std::string::npos);
    CHECK_THROWS_AS(wait_for(connector), Error);
}

TEST_CASE("a peer that does not answer is tried again") {
    Listener silent = listening(); // which nobody drives
    Connector connector(kJob, purpose(), {silent.address()},
                        {.deadline = now_ns() + 200'000'000, .try_ns = 20'000'000});
    let_go_on(connector, nullptr);
    CHECK(failure(connector, Status::timeout).find("did not answer in time") != std::string::npos);
}

TEST_CASE("a peer that proves itself too late gets twice as long each time") {
    constexpr std::uint64_t kMillisecond = 1'000'000;
    const Listener silent = listening();
    Connector connector(kJob, purpose(), {silent.address()},
                        {.try_ns = 20 * kMillisecond, .most_try_ns = 100 * kMillisecond});
    std::vector<std::uint64_t> tries; // ms
    bool trying = false;
    for (std::uint64_t now = 0; tries.size() < 6; now += kMillisecond) {
        connector.progress(now);
        if (connector.tries_now() && !trying)
            tries.push_back(0);
        trying = connector.tries_now();
        if (trying)
            ++tries.back();
    }
    tries.pop_back(); // has only begun
    CHECK(tries == std::vector<std::uint64_t>{20, 40, 80, 100, 100});
}

TEST_CASE("a different secret ends the attempts with an error that names the remedy") {
    Listener listener = listening(loopback(), Key(filled(2)));
    Connector connector(kJob, purpose(), {listener.address()});
    let_go_on(connector, &listener);
    const std::string why = failure(connector, Status::mismatch);
    CHECK(why.find("all ranks need the same secret") != std::string::npos);
    CHECK(why.find(listener.address().text()) != std::string::npos);
}

TEST_CASE("a connector waits for a peer in an earlier epoch, not in a later one") {
    Listener ahead = listening(loopback(), kJob, 5);
    Connector late(kJob, purpose(), {ahead.address()});
    let_go_on(late, &ahead);
    CHECK(failure(late, Status::revoked).find("epoch 5") != std::string::npos);

    ConnectionRole later = purpose();
    later.epoch = 6;
    Connector early(kJob, later, {ahead.address()});
    const std::uint64_t deadline = now_ns() + test::kAges;
    bool followed = false;
    while (early.progress(now_ns()) == State::trying) {
        REQUIRE(now_ns() < deadline);
        ahead.progress(now_ns());
        if (ahead.refused(Refusal::epoch) == 3 && !followed) { // of the other, twice of this one
            ahead.set_epoch(6);
            followed = true;
        }
    }
    CHECK(early.state() == State::open);
}

TEST_CASE("a peer that is no rank is named by its first bytes") {
    const Descriptor listener = listen_at(loopback());
    const Address at = local_address(listener.get());
    std::thread server([&] {
        pollfd entry{listener.get(), POLLIN, 0};
        poll(&entry, 1, -1);
        const Descriptor socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        const std::string_view banner = "SSH-2.0-OpenSSH_9.2p1\r\n";
        (void)!write(socket.get(), banner.data(), banner.size());
        char bytes[256];
        while (read(socket.get(), bytes, sizeof(bytes)) > 0) {
        }
    });
    Connector connector(kJob, purpose(), {at});
    let_go_on(connector, nullptr);
    server.join();
    const std::string why = failure(connector, Status::argument);
    CHECK(why.find("SSH-2.0-OpenSSH_9.2p1") != std::string::npos);
    CHECK(why.find("check the address and the port") != std::string::npos);
}

TEST_CASE("waiting in one call, over IPv4 and IPv6") {
    for (const char *host : {"127.0.0.1", "::1"}) {
        const Address at = *Address::numeric(host, 0);
        if (!test::has_loopback(at.family()))
            continue;
        Listener listener = listening(at);
        std::thread other([&] {
            while (!listener.take()) {
                pollfd entry{listener.descriptor(), POLLIN, 0};
                poll(&entry, 1, 100);
                listener.progress(now_ns());
            }
        });
        Connector connector(kJob, purpose(), {listener.address()},
                            {.deadline = now_ns() + test::kAges});
        const Opened opened = wait_for(connector);
        other.join();
        CHECK(opened.agreement.purpose.from == 3);
        CHECK(opened.peer == listener.address());
    }
}
