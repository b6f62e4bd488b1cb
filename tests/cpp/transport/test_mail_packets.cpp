// SPDX-License-Identifier: BSD-3-Clause
// Mail to a rank of another host, and padding, go in packets that the links take whole.
#include "doctest.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "transport/remote/linked_peers.hpp"
#include "transport/shm/mailbox.hpp"

using namespace stretto;
using transport::WireMessage;

namespace {

struct Sent {
    WireMessage packet;
    std::vector<std::byte> payload;
};

class Noting final : public transport::Links {
public:
    Noting(std::vector<Sent> &sent, std::size_t most) : sent_(sent), most_(most) {}
    std::string place(int) const override { return "elsewhere"; }
    std::size_t most_mail_bytes() const override { return most_; }
    void send(int, const WireMessage &packet, const std::byte *payload, bool) override {
        if (packet.kind == WireMessage::mail || packet.kind == WireMessage::padding)
            sent_.push_back({packet, {payload, payload + packet.length}});
    }
    void push(Which) override {}
    bool progress(Receiver &, const transport::EventSet::Ready &) override { return false; }
    void drop(int) override {}
    bool sent() const override { return true; }
    bool delivered() const override { return true; }

private:
    std::vector<Sent> &sent_;
    const std::size_t most_;
};

} // namespace

TEST_CASE("mail and padding go in packets that are as long as the links take them") {
    for (const std::size_t most : {std::size_t{1000}, std::size_t{8136}, SIZE_MAX}) {
        CAPTURE(most);
        transport::SegmentShape shape;
        shape.ranks = 2;
        shape.ring_bytes = 1 << 16;
        shape.heap_bytes = 1 << 20;
        shape.placement = transport::Placement({0, 1}, 0);
        const auto segment = transport::Segment::create(shape);
        std::vector<Sent> sent;
        transport::LinkedPeers peers(*segment, 0, std::make_unique<transport::EventSet>(),
                                     std::make_unique<Noting>(sent, most));
        transport::Outbox outbox;
        outbox.open(*segment, 0, 1);
        std::vector<std::byte> payload(20'000);
        for (std::size_t i = 0; i < payload.size(); ++i)
            payload[i] = static_cast<std::byte>(i * 7 + (i >> 8));
        transport::Frame frame;
        frame.payload = static_cast<std::uint32_t>(payload.size());
        REQUIRE(outbox.put(frame, payload.data()));
        peers.ring(1);
        const std::size_t bytes = transport::frame_bytes(payload.size());
        REQUIRE(sent.size() == (most == SIZE_MAX ? 1 : (bytes + most - 1) / most));
        std::vector<std::byte> all;
        for (const Sent &each : sent) {
            CHECK(each.packet.position == all.size());
            CHECK(each.packet.length <= most);
            // Its reader looks at the mail when all of it is there.
            const bool more = (each.packet.flags & WireMessage::kMore) != 0;
            CHECK(more == (&each != &sent.back()));
            all.insert(all.end(), each.payload.begin(), each.payload.end());
        }
        REQUIRE(all.size() == bytes);
        CHECK(std::memcmp(all.data() + sizeof(frame), payload.data(), payload.size()) == 0);
        sent.clear();
        peers.warm(1, 40'000);
        std::size_t padding = 0;
        for (const Sent &each : sent) {
            CHECK(each.packet.length <= most);
            padding += each.packet.length;
        }
        CHECK(padding == 40'000);
    }
}
