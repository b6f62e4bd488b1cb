// SPDX-License-Identifier: BSD-3-Clause
// An agent's links over connections to all other ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "membership/links.hpp"
#include "net/connection.hpp"

namespace stretto::membership {

class NetLinks final : public Links {
public:
    // The limits of the connections in a job of so many ranks.
    static net::ConnectionLimits limits(int ranks);

    // The connections, by rank; null for this rank.
    explicit NetLinks(std::vector<std::unique_ptr<net::Connection>> connections);
    NetLinks(const NetLinks &) = delete;
    NetLinks &operator=(const NetLinks &) = delete;

    int ranks() const { return static_cast<int>(links_.size()); }
    // "node7, 10.0.0.7"; "" for this rank.
    std::string place(int rank) const;

    void send(int to, std::span<const std::byte> bytes) override;
    void wait(Listener &listener, std::uint64_t nanoseconds) override;
    void drain(const RankSet &ranks) override;
    void wake() override;

private:
    struct Sent {
        std::uint64_t number; // of the frame
        std::vector<std::byte> bytes;
    };
    struct Link {
        std::unique_ptr<net::Connection> connection; // null: this rank, or it broke
        std::deque<Sent> unsent;
    };
    class Incoming;

    Link &link(int rank) { return links_[static_cast<std::size_t>(rank)]; }
    static void flush(Link &link);
    void receive(int rank, Listener &listener);
    bool delivered(const RankSet &ranks) const;

    std::vector<Link> links_;
    std::vector<std::string> places_;
    Descriptor woken_; // an eventfd
};

} // namespace stretto::membership
