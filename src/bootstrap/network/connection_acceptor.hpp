// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of other hosts connect to this one: for the job, and for every communicator that
// is made of it later.  It stays open as long as one of them lives, at the address that all ranks
// were told when they joined; so for a new communicator there is nothing to exchange.  The epoch of
// a connection says to which communicator it belongs: it is the communicator's key.
//
// Several threads may make communicators at once: one lets in also connections that another thread
// waits for, and connections that no thread waits for yet.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/config.hpp"
#include "base/descriptor.hpp"
#include "net/connector.hpp"
#include "net/listener.hpp"

namespace stretto::bootstrap {

// One of the connections between two ranks.
struct Line {
    net::ConnectionKind kind = net::ConnectionKind::data;
    std::uint16_t channel = 0; // of several for data
    friend auto operator<=>(const Line &, const Line &) = default;
};

// Ranks here are those of the job.
class ConnectionAcceptor {
public:
    // `socket` listens at the address of `rank`, which has these settings.  `channels`: connections
    // for data between two ranks, in this job.
    ConnectionAcceptor(const net::Key &key, int rank, std::vector<net::Address> addresses,
                       Descriptor socket, Config::Network network = {}, int channels = 1);
    int channels() const { return channels_; }
    const Config::Network &network() const { return network_; }

    const net::Address &address(int rank) const {
        return addresses_[static_cast<std::size_t>(rank)];
    }
    // An epoch, from what the ranks of a communicator agree on.  Without the job's key no process
    // knows it.
    std::uint64_t epoch_named(std::string_view name) const;

    std::unique_ptr<net::Connector> call(Line line, int rank, std::uint64_t epoch) const;
    // Accepts the connections that have come.
    void progress();
    // The last connection that `rank` has opened for that, if it has.
    std::optional<net::Opened> take(Line line, int rank, std::uint64_t epoch);
    // Calls that were turned away for that.
    std::uint64_t refused(net::Refusal why) {
        const std::lock_guard lock(mutex_);
        return listener_.refused(why);
    }
    // Readable when there is something to let in.
    int descriptor() const { return listener_.descriptor(); }

private:
    // Epoch, line, and the rank that has opened it.
    using Whose = std::tuple<std::uint64_t, Line, std::uint32_t>;

    const net::Key key_;
    const int rank_, channels_;
    const std::vector<net::Address> addresses_;
    const Config::Network network_;
    std::mutex mutex_; // of what follows
    net::Listener listener_;
    std::map<Whose, net::Opened> waiting_;
};

} // namespace stretto::bootstrap
