// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/connection_acceptor.hpp"

#include <cerrno>
#include <sys/socket.h>
#include <utility>

#include "base/clock.hpp"
#include "base/interrupted.hpp"
#include "base/warning.hpp"
#include "net/bytes.hpp"

namespace stretto::bootstrap {

namespace {

net::ListenerOptions for_communicators() {
    net::ListenerOptions options;
    options.judge = [](const net::ConnectionRole &purpose) {
        return purpose.kind != net::ConnectionKind::rendezvous;
    };
    options.report = [](net::Refusal kind, const std::string &sentence) {
        if (kind !=
            net::Refusal::closed) // so end calls that a rank gives up; a rank that waits says so
            warn(sentence);
    };
    return options;
}

net::LocalIdentity station(int rank, std::size_t size) {
    net::LocalIdentity station;
    station.rank = static_cast<std::uint32_t>(rank);
    station.size = static_cast<std::uint32_t>(size);
    station.every_epoch = true;
    return station;
}

// A rank that gives up the making of a communicator closes its connections.
bool is_over(const net::Opened &opened) {
    char byte;
    const ssize_t got =
        uninterrupted([&] { return recv(opened.socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT); });
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

} // namespace

ConnectionAcceptor::ConnectionAcceptor(const net::Key &key, int rank,
                                       std::vector<net::Address> addresses, Descriptor socket,
                                       Config::Network network, int channels)
    : key_(key), rank_(rank), channels_(channels), addresses_(std::move(addresses)),
      network_(std::move(network)),
      listener_(std::move(socket), key, station(rank, addresses_.size()), for_communicators()) {}

std::uint64_t ConnectionAcceptor::epoch_named(std::string_view name) const {
    const net::Bytes32 hash = net::KeyedHash(key_, "stretto communicator").add(name).finish();
    return net::get<std::uint64_t>(hash, 0) | 1; // not 0
}

std::unique_ptr<net::Connector> ConnectionAcceptor::call(Line line, int rank,
                                                         std::uint64_t epoch) const {
    net::ConnectionRole purpose;
    purpose.kind = line.kind;
    purpose.channel = line.channel;
    purpose.from = static_cast<std::uint32_t>(rank_);
    purpose.to = static_cast<std::uint32_t>(rank);
    purpose.epoch = epoch;
    return std::make_unique<net::Connector>(key_, purpose,
                                            std::vector<net::Address>{address(rank)});
}

void ConnectionAcceptor::progress() {
    const std::lock_guard lock(mutex_);
    listener_.progress(now_ns());
    while (auto opened = listener_.take()) {
        const net::ConnectionRole &purpose = opened->agreement.purpose;
        waiting_.insert_or_assign({purpose.epoch, {purpose.kind, purpose.channel}, purpose.from},
                                  std::move(*opened));
    }
    std::erase_if(waiting_, [](const auto &each) { return is_over(each.second); });
}

std::optional<net::Opened> ConnectionAcceptor::take(Line line, int rank, std::uint64_t epoch) {
    const std::lock_guard lock(mutex_);
    auto node = waiting_.extract({epoch, line, static_cast<std::uint32_t>(rank)});
    if (node.empty())
        return std::nullopt;
    return std::move(node.mapped());
}

} // namespace stretto::bootstrap
