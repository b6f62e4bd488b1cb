// SPDX-License-Identifier: BSD-3-Clause
// Ranks of this process with links over UCX, over its TCP.  Needs libucp.so.0.
#pragma once

#include "doctest.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "support/environment.hpp"
#include "support/ucx_settings.hpp"
#include "transport/inbox.hpp"
#include "transport/remote/put_window.hpp"
#include "transport/ucx/ucx_links.hpp"

namespace test {

using stretto::transport::EventSet;
using stretto::transport::Links;
using stretto::transport::LinkToken;
using stretto::transport::UcxLinks;
using stretto::transport::WireMessage;

class UcxInbox final : public Inbox {
public:
    std::byte *place(int from, const WireMessage &packet) override {
        if (full)
            throw stretto::Error(stretto::Status::memory, "no room");
        return refuses ? nullptr : Inbox::place(from, packet);
    }

    bool full = false, refuses = false;
};

inline std::vector<std::byte> numbered(std::size_t length, std::uint64_t position) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>((i * 7 + position * 31 + (i >> 8)) & 0xff);
    return bytes;
}

inline std::unique_ptr<stretto::transport::ucp::OwnedWorker>
new_worker(const stretto::transport::ucp::Library &library = stretto::transport::ucp::library()) {
    namespace ucp = stretto::transport::ucp;
    return std::make_unique<ucp::OwnedWorker>(
        std::make_shared<const ucp::OwnedContext>(library, 2));
}

// Of the sender.
inline LinkToken token(int sender) {
    LinkToken bytes{};
    bytes[0] = static_cast<std::byte>(sender + 1);
    return bytes;
}

struct Rank {
    int rank;
    std::vector<std::byte> address;
    EventSet events;
    std::vector<std::byte> window;
    std::shared_ptr<const stretto::transport::ucp::OwnedContext> context;
    std::unique_ptr<UcxLinks> links;
    UcxInbox inbox;

    Rank(int own, LinkToken out, LinkToken in,
         const stretto::transport::ucp::Library &library = stretto::transport::ucp::library())
        : rank(own) {
        auto worker = new_worker(library);
        address = worker->address();
        context = worker->context();
        std::vector<std::optional<UcxLinks::Tokens>> tokens(2);
        tokens[static_cast<std::size_t>(1 - own)] = UcxLinks::Tokens{out, in};
        links = std::make_unique<UcxLinks>(std::move(worker), own, tokens);
    }
    explicit Rank(int own, const stretto::transport::ucp::Library &library =
                               stretto::transport::ucp::library())
        : Rank(own, token(own), token(1 - own), library) {}
    void meet(const Rank &other) const {
        links->meet(other.rank, "node" + std::to_string(other.rank), other.address);
    }
    // Takes part, and lets the other rank write into a window of this size.
    void begin(std::size_t ring_bytes = 0) {
        window.assign(2 * ring_bytes, std::byte{0xee});
        links->join(events);
        links->put_anyhow();
        links->offer(1 - rank, {ring_bytes == 0 ? nullptr : window.data(), ring_bytes});
    }
    void look() {
        EventSet::Ready ready;
        events.look(ready);
        links->progress(inbox, ready);
    }
    void send(WireMessage packet, const std::vector<std::byte> &payload) const {
        packet.length = static_cast<std::uint32_t>(payload.size());
        links->send(1 - rank, packet, payload.data(), false);
        links->push(Links::Which::all);
    }
};

inline bool soon(const std::function<bool()> &body) {
    for (const std::uint64_t start = stretto::now_ns(); stretto::now_ns() - start < patience_ns();)
        if (body())
            return true;
    return false;
}

struct World {
    Rank a, b{1};

    // With windows for rings of that size; 0: none.  The first rank has a library of its own.
    explicit World(std::size_t ring_bytes = 0, const stretto::transport::ucp::Library &library =
                                                   stretto::transport::ucp::library())
        : a(0, library) {
        a.meet(b);
        b.meet(a);
        REQUIRE(soon([&] {
            a.links->connect();
            b.links->connect();
            return a.links->connected(1) && b.links->connected(0);
        }));
        a.begin(ring_bytes);
        b.begin(ring_bytes);
    }
    bool soon(const std::function<bool()> &body) {
        return test::soon([&] {
            a.look();
            b.look();
            return body();
        });
    }
};

inline constexpr WireMessage kLongCell{WireMessage::cell, WireMessage::kBulk, 0, 0, 0, 0};

} // namespace test
