// SPDX-License-Identifier: BSD-3-Clause
// The connections of one kind between the ranks of a communicator, while they are opened by the
// acceptor: for data by TCP, and for control.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/network/connection_acceptor.hpp"
#include "bootstrap/network/mesh.hpp"
#include "net/connection.hpp"
#include "net/connector.hpp"
#include "transport/remote/factory.hpp"

namespace stretto::bootstrap {

// Of two ranks the higher one calls.
class Weaver : public transport::Connecting {
public:
    // `lines`: between each two ranks; if they are for data, not of those that share memory.
    Weaver(std::shared_ptr<ConnectionAcceptor> acceptor, transport::Group group,
           std::vector<Line> lines, net::ConnectionLimits limits);

    void progress() override;
    bool complete() const override { return calls_.empty() && awaited().empty(); }
    void waits_for(std::vector<pollfd> &descriptors) const override;
    void check(bool over) override;
    std::string lacks() const override;
    std::string remedy() const override;
    // By line.
    std::vector<Connections> take() { return std::move(connections_); }

private:
    struct Call {
        std::size_t line;
        int rank;
        std::unique_ptr<net::Connector> connector;
    };

    int size() const { return static_cast<int>(group_.in_job.size()); }
    int in_job(int rank) const { return group_.in_job[static_cast<std::size_t>(rank)]; }
    const net::Address &address(int rank) const { return acceptor_->address(in_job(rank)); }
    bool wanted(std::size_t line, int rank) const;
    std::vector<int> awaited() const;
    void call_on();
    void add(std::size_t line, int rank, net::Opened opened);

    const std::shared_ptr<ConnectionAcceptor> acceptor_;
    const transport::Group group_;
    const std::vector<Line> lines_;
    const net::ConnectionLimits limits_;
    std::vector<Connections> connections_; // by line
    std::vector<Call> calls_;
    std::uint64_t short_since_ = 0; // of descriptors; 0: it is not
};

// The connections for control, which make no links.
class ControlWeaver final : public Weaver {
public:
    using Weaver::Weaver;
    std::unique_ptr<transport::Links> links(transport::EventSet &, transport::Segment &) override {
        return nullptr;
    }
};

} // namespace stretto::bootstrap
