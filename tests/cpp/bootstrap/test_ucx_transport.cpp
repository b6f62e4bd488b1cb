// SPDX-License-Identifier: BSD-3-Clause
// How ranks connect over UCX, over its TCP: ranks of this process.  Needs libucp.so.0.
#include "doctest.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "bootstrap/network/ucx_transport.hpp"
#include "support/ucx_settings.hpp"
#include "transport/inbox.hpp"
#include "transport/shm/placement.hpp"
#include "transport/shm/segment.hpp"
#include "transport/ucx/ucx_links.hpp"
#include "transport/ucx/ucx_message.hpp"

using namespace stretto;
using bootstrap::UcxTransport;
namespace ucp = transport::ucp;

namespace {

// Of the first rank: its hellos fail as often as this says.
int failures = 0;

ucp::Request send_or_fail(ucp::Endpoint *endpoint, unsigned id, const void *header,
                          std::size_t header_length, const void *data, std::size_t length,
                          const ucp::RequestParameters *parameters) {
    transport::UcxMessage message;
    if (header_length == sizeof(message)) {
        std::memcpy(&message, header, sizeof(message));
        if (message.kind == transport::kHelloKind && message.sender == 0 && failures > 0) {
            --failures;
            constexpr std::intptr_t kConnectionReset = -25;
            return reinterpret_cast<ucp::Request>(kConnectionReset);
        }
    }
    return ucp::library().send(endpoint, id, header, header_length, data, length, parameters);
}

const ucp::Library &failing_library() {
    static const ucp::Library failing = [] {
        ucp::Library library = ucp::library();
        library.send = &send_or_fail;
        return library;
    }();
    return failing;
}

// The ranks of a job, each on a host of its own.
struct Job {
    std::vector<std::unique_ptr<UcxTransport>> transports;
    std::vector<std::unique_ptr<transport::Connecting>> ranks;

    explicit Job(int size = 2, std::optional<std::uint64_t> pinned_bytes = {}) {
        std::vector<std::vector<std::byte>> addresses;
        std::vector<int> all;
        std::vector<std::int32_t> hosts;
        for (int rank = 0; rank < size; ++rank) {
            transport::Opening opening;
            opening.rank = rank;
            opening.size = size;
            opening.network.fake_hosts = "a,b,c,d";
            opening.network.pinned_bytes = pinned_bytes;
            transports.push_back(std::make_unique<UcxTransport>(failing_library(), opening));
            addresses.push_back(transports.back()->address());
            all.push_back(rank);
            hosts.push_back(rank);
        }
        for (int rank = 0; rank < size; ++rank) {
            const auto index = static_cast<std::size_t>(rank);
            transports[index]->meet(addresses, 1);
            transport::Group group;
            group.rank = rank;
            group.in_job = all;
            group.placement = transport::Placement(hosts, rank);
            group.epoch = 5;
            ranks.push_back(transports[index]->connect(group));
        }
    }
    bool complete() const {
        return std::ranges::all_of(ranks, [](const auto &each) { return each->complete(); });
    }
};

bool soon(const std::function<bool()> &body) {
    for (const std::uint64_t start = now_ns(); now_ns() - start < test::patience_ns();)
        if (body())
            return true;
    return false;
}

} // namespace

TEST_CASE("ranks connect over UCX") {
    Job job;
    CHECK(soon([&] {
        for (const auto &each : job.ranks)
            each->progress();
        return job.complete();
    }));
}

TEST_CASE("a rank whose hello fails says hello again") {
    failures = 2;
    Job job;
    const std::uint64_t start = now_ns();
    CHECK(soon([&] {
        for (const auto &each : job.ranks)
            each->progress();
        return job.complete();
    }));
    CHECK(failures == 0);
    constexpr std::uint64_t kPauseNs = 200'000'000; // between two tries
    CHECK(now_ns() - start >= 2 * kPauseNs);
}

// By default none where no device writes.
TEST_CASE("the nearest ranks may write into a rank's memory, as far as memory may be pinned") {
    constexpr std::size_t kRingBytes = 1 << 16;
    constexpr int size = 4;
    struct Case {
        std::optional<std::uint64_t> pinned_bytes;
        std::vector<bool> by_puts; // from ranks 1, 2, 3 to rank 0
    };
    const bool device = test::goes_by_device();
    for (const auto &[pinned_bytes, by_puts] :
         {Case{{}, {device, device, device}}, Case{0, {false, false, false}},
          Case{2 * kRingBytes, {true, false, false}}, Case{4 * kRingBytes, {true, false, true}},
          Case{6 * kRingBytes, {true, true, true}}}) {
        CAPTURE(pinned_bytes.value_or(1));
        Job job(size, pinned_bytes);
        REQUIRE(soon([&] {
            for (const auto &each : job.ranks)
                each->progress();
            return job.complete();
        }));
        struct Rank {
            std::shared_ptr<transport::Segment> segment;
            transport::EventSet events;
            test::Inbox inbox;
            std::unique_ptr<transport::Links> links;
        };
        std::vector<std::unique_ptr<Rank>> ranks;
        for (int rank = 0; rank < size; ++rank) {
            auto own = std::make_unique<Rank>();
            transport::SegmentShape shape;
            shape.ranks = size;
            shape.ring_bytes = kRingBytes;
            shape.heap_bytes = 1 << 20;
            shape.placement = transport::Placement({0, 1, 2, 3}, rank);
            own->segment = transport::Segment::create(shape);
            own->links =
                job.ranks[static_cast<std::size_t>(rank)]->links(own->events, *own->segment);
            ranks.push_back(std::move(own));
        }
        const std::vector<std::byte> payload(kRingBytes, std::byte{7});
        for (int rank = 1; rank < size; ++rank)
            ranks[static_cast<std::size_t>(rank)]->links->send(
                0,
                {transport::WireMessage::cell, transport::WireMessage::kBulk, kRingBytes, 0, 9, 0},
                payload.data(), false);
        REQUIRE(soon([&] {
            for (const auto &each : ranks) {
                transport::EventSet::Ready ready;
                each->events.look(ready);
                each->links->push(transport::Links::Which::all);
                (void)each->links->progress(each->inbox, ready);
            }
            return ranks[0]->inbox.order.size() == size - 1;
        }));
        for (int rank = 1; rank < size; ++rank) {
            CAPTURE(rank);
            const auto index = static_cast<std::size_t>(rank);
            const auto &links = dynamic_cast<transport::UcxLinks &>(*ranks[index]->links);
            CHECK((links.counts().put_cells == 1) == by_puts[index - 1]);
        }
        const auto &links = dynamic_cast<transport::UcxLinks &>(*ranks[0]->links);
        const std::uint64_t expected = pinned_bytes.value_or(device ? 6 * kRingBytes : 0);
        CHECK(links.counts().registered_bytes == expected);
        CHECK(links.registered() == expected);
        // Its own rings take one piece of the same bound, once more.
        CHECK(links.registered(ucp::MemoryUse::rings) == (expected == 0 ? 0 : 2 * kRingBytes));
    }
}
