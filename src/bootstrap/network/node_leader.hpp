// SPDX-License-Identifier: BSD-3-Clause
// The leader of a host at the rendezvous: it speaks to rank 0 for the ranks of its host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "bootstrap/environment.hpp"
#include "bootstrap/local/wire.hpp"
#include "bootstrap/network/bootstrap_channel.hpp"
#include "bootstrap/network/table.hpp"
#include "bootstrap/patience.hpp"
#include "net/connector.hpp"
#include "net/interfaces.hpp"
#include "transport/remote/factory.hpp"

namespace stretto::bootstrap {

class NodeLeader {
public:
    // Calls rank 0 until it answers, or `patience`, which outlives this, has ended.
    NodeLeader(const Config::Network &config, const Identity &me, const net::Key &key,
               const Patience &patience);

    // Names a rank of this host to rank 0, itself among them.
    void name(RankRecord record);
    // All of them have joined.
    void complete();
    // What keeps this host from joining.
    void failed(Status status, const std::string &why) noexcept;

    // Goes on as far as it can without waiting.  Throws what rank 0 says went wrong.
    void progress();
    const std::optional<AddressTable> &table() const { return table_; }
    bool may_go() const { return may_go_; }

private:
    void call();
    void hear_of_failure();
    void begin_talk();
    void hear(const BootstrapMessage &word);
    void take_table(const BootstrapMessage &word);
    void say_seats();

    const net::InterfaceFilter filter_;
    const std::string congestion_;
    const int rank_, size_;
    const std::string address_, address_from_; // of the rendezvous
    const Patience &patience_;
    const net::Key key_;
    net::Resolving resolving_;
    std::optional<net::Connector> dialer_; // once the address is known
    // To where rank 0 says why it cannot be at its address (rendezvous.hpp).
    std::optional<net::Connector> aside_;
    std::optional<BootstrapChannel> aside_talk_;
    std::optional<BootstrapChannel> channel_;
    transport::Way way_; // between this host and rank 0, once there is a connection
    std::vector<RankRecord> unsaid_, named_;
    std::optional<AddressTable> table_;
    bool may_go_ = false;
};

} // namespace stretto::bootstrap
