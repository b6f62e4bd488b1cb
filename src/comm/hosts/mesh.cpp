// SPDX-License-Identifier: BSD-3-Clause
#include "comm/hosts/mesh.hpp"

#include <algorithm>
#include <poll.h>
#include <utility>

#include "base/clock.hpp"
#include "base/warning.hpp"
#include "comm/hosts/whereabouts.hpp"
#include "comm/meeting.hpp"
#include "net/dialer.hpp"
#include "net/listener.hpp"

namespace stretto::comm {

namespace {

using Connections = std::vector<std::unique_ptr<net::Connection>>;

net::ListenerOptions only_data() {
    net::ListenerOptions options;
    options.judge = [](const net::Purpose &purpose) {
        return purpose.kind == net::ConnectionKind::data;
    };
    options.report = warn;
    return options;
}

struct Call {
    std::size_t rank;
    std::unique_ptr<net::Dialer> dialer;
};

void take_calls(net::Listener &listener, Connections &connections) {
    listener.progress(now_ns());
    while (auto opened = listener.take()) {
        const std::uint32_t from = opened->agreement.purpose.from;
        if (from < connections.size() && connections[from] == nullptr)
            connections[from] = std::make_unique<net::Connection>(
                std::move(opened->socket), net::Peer{from, "", opened->peer});
    }
}

void go_on(std::vector<Call> &calls, Connections &connections) {
    for (Call &call : calls) {
        switch (call.dialer->progress(now_ns())) {
        case net::Dialer::State::trying: continue;
        case net::Dialer::State::failed: throw call.dialer->failure();
        case net::Dialer::State::open: break;
        }
        net::Opened opened = call.dialer->take();
        connections[call.rank] = std::make_unique<net::Connection>(
            std::move(opened.socket),
            net::Peer{static_cast<std::uint32_t>(call.rank), "", opened.peer});
        call.dialer.reset();
    }
    std::erase_if(calls, [](const Call &call) { return call.dialer == nullptr; });
}

} // namespace

Connections connect_all(const Identity &me, const net::Key &key, const Table &table,
                        const transport::Placement &placement, Descriptor socket,
                        const std::function<void()> &watch) {
    const auto own = static_cast<std::uint32_t>(me.rank);
    net::Listener listener(std::move(socket), key,
                           {own, static_cast<std::uint32_t>(me.size), table.key}, only_data());
    Connections connections(static_cast<std::size_t>(me.size));
    std::vector<Call> calls;
    for (int rank = 0; rank < me.rank; ++rank)
        if (!placement.here(rank)) {
            const net::Purpose purpose{net::ConnectionKind::data,        0,         own,
                                       static_cast<std::uint32_t>(rank), table.key, net::kProtocol};
            const auto index = static_cast<std::size_t>(rank);
            calls.push_back(
                {index, std::make_unique<net::Dialer>(
                            key, purpose, std::vector<net::Address>{table.addresses[index]})});
        }
    const Patience patience(nullptr);
    for (;;) {
        take_calls(listener, connections);
        go_on(calls, connections);
        std::string missing;
        net::Address one;
        for (int rank = 0; rank < me.size; ++rank)
            if (!placement.here(rank) && connections[static_cast<std::size_t>(rank)] == nullptr) {
                one = table.addresses[static_cast<std::size_t>(rank)];
                missing += " " + std::to_string(rank) + " at " + one.text();
            }
        if (missing.empty())
            return connections;
        watch();
        if (patience.ended())
            throw Error(Status::timeout,
                        "rank " + std::to_string(me.rank) + " has no connection to rank(s)" +
                            missing + " after " + patience.seconds() + from_here(one) +
                            "; does a firewall keep the hosts from one another, or "
                            "is another interface needed (STRETTO_IFACE)?");
        std::vector<pollfd> descriptors{{listener.descriptor(), POLLIN, 0}};
        for (const Call &call : calls)
            if (call.dialer->waits_for().fd >= 0)
                descriptors.push_back(call.dialer->waits_for());
        constexpr int kMilliseconds = 5;
        (void)poll(descriptors.data(), descriptors.size(), kMilliseconds);
    }
}

} // namespace stretto::comm
