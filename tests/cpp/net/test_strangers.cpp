// SPDX-License-Identifier: BSD-3-Clause
// A siege: strangers of every kind and ranks of the job come at the same time, by the real clock.
#include "doctest.h"

#include <atomic>
#include <chrono>
#include <poll.h>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "net/connector.hpp"
#include "net/handshakes.hpp"
#include "net/listener.hpp"
#include "net/tcp_pair.hpp"
#include "support/tier.hpp"

using namespace stretto;
using namespace stretto::net;

namespace {

const Key kJob(test::filled(1));

// Connects about a thousand times a second and does something rude each time; keeps some
// connections open.
template<class Rudeness>
void besiege(const Address &target, const std::atomic<bool> &over, std::size_t held,
             Rudeness &&rudeness) {
    std::vector<Descriptor> open(held);
    for (std::size_t i = 0; !over.load(std::memory_order_relaxed); ++i) {
        try {
            Descriptor socket = connect_until(now_ns() + 1'000'000'000, target);
            rudeness(socket.get(), i);
            if (held != 0)
                open[i % held] = std::move(socket);
        } catch (const Error &) {
            // The kernel's queue is full, for everybody: that is what a siege is.
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

void say(int socket, std::span<const std::byte> bytes) {
    (void)send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

} // namespace

TEST_CASE("ranks are let in through a crowd of strangers") {
    const int ranks = test::full_tier() ? 1000 : 40;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const auto many = static_cast<std::size_t>(std::min<rlim_t>(1000, limit.rlim_cur / 4));

    std::vector<std::string> reports;
    ListenerOptions options;
    options.report = [&](Refusal, const std::string &sentence) { reports.push_back(sentence); };
    Listener listener(listen_at(*Address::numeric("127.0.0.1", 0)), kJob, {.rank = 0, .size = 2000},
                      options);
    const Address target = listener.address();

    std::atomic<bool> over{false};
    std::vector<std::thread> crowd;
    crowd.emplace_back([&] { // silent ones
        besiege(target, over, many, [](int, std::size_t) {});
    });
    crowd.emplace_back([&] { // garbage, of all lengths
        besiege(target, over, 16, [](int socket, std::size_t i) {
            say(socket, test::Bytes(i % 200, static_cast<std::byte>(i)));
        });
    });
    crowd.emplace_back([&] { // with another secret
        besiege(target, over, 0, [](int socket, std::size_t) {
            Initiator stranger(Key(test::filled(2)), ConnectionRole{.from = 5}, random_bytes());
            const std::uint64_t deadline = now_ns() + 1'000'000'000;
            while (exchange(socket, stranger) == Progress::waiting && now_ns() < deadline)
                std::this_thread::yield();
            CHECK(stranger.state() != Handshake::State::agreed);
        });
    });
    std::atomic<int> failed{0};
    std::atomic<bool> crowded{false}; // there has been a refusal of each kind
    std::thread job([&] {
        while (!crowded.load(std::memory_order_relaxed))
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        for (int rank = 1; rank <= ranks; ++rank) {
            ConnectionRole purpose;
            purpose.from = static_cast<std::uint32_t>(rank);
            Connector connector(kJob, purpose, {target}, {.deadline = now_ns() + test::kAges});
            try {
                wait_for(connector);
            } catch (const Error &error) {
                ++failed;
                MESSAGE(error.what());
            }
        }
        over.store(true, std::memory_order_relaxed);
    });

    std::vector<int> seen(static_cast<std::size_t>(ranks) + 1);
    while (!over.load(std::memory_order_relaxed)) {
        pollfd entry{listener.descriptor(), POLLIN, 0};
        poll(&entry, 1, 10);
        listener.progress(now_ns());
        CHECK(listener.strangers() <= options.strangers);
        while (const auto opened = listener.take())
            ++seen[opened->agreement.purpose.from];
        if (listener.refused(Refusal::secret) > 0 && listener.refused(Refusal::stranger) > 0 &&
            listener.refused(Refusal::crowded) > 0)
            crowded.store(true, std::memory_order_relaxed);
    }
    job.join();
    for (std::thread &each : crowd)
        each.join();
    CHECK(failed == 0);
    // A rank whose try was cut off after its proof has come a second time.
    for (std::size_t rank = 1; rank < seen.size(); ++rank)
        CHECK(seen[rank] >= 1);
    MESSAGE(ranks << " ranks came in, " << listener.refused() << " strangers did not");
    CHECK(reports.size() <= kRefusals); // once for each kind
}
