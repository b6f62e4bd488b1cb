// SPDX-License-Identifier: BSD-3-Clause
// Links over TCP: a connection to each rank of another host.
//
// What is sent goes out at once, header and payload in one system call, right from where it lies;
// what the kernel does not take waits, by reference, until the socket can be written.  What comes
// is put where the receiver wants it: a short payload by way of the connection's buffer, in which
// it came together with its header, a long one by the kernel itself.
#pragma once

#include <memory>
#include <vector>

#include "net/connection.hpp"
#include "transport/links.hpp"
#include "transport/poll.hpp"

namespace stretto::transport {

class TcpLinks final : public Links {
public:
    // By rank; null where there is no connection: this rank, and those that share its memory.
    TcpLinks(Poll &poll, std::vector<std::unique_ptr<net::Connection>> connections);
    ~TcpLinks() override;

    std::string place(int rank) const override;
    void send(int to, const Parcel &parcel, const std::byte *payload) override;
    bool progress(Receiver &receiver, const Poll::Ready &ready) override;
    void drop(int rank) override { (void)give_up(static_cast<std::uint64_t>(rank)); }
    bool sent() const override { return unsent_ == 0; }
    bool delivered() const override;

private:
    struct Link {
        std::unique_ptr<net::Connection> connection;
        bool writing = false; // it waits for room
        bool broken = false;  // or given up: the receiver knows
    };
    class Incoming;

    Link &link(std::uint64_t rank) { return links_[rank]; }
    void flush(std::uint64_t rank);
    bool give_up(std::uint64_t rank);
    bool tell_broken(std::uint64_t rank, Receiver &receiver);

    Poll &poll_;
    std::vector<Link> links_;
    int unsent_ = 0; // links with something to send
};

} // namespace stretto::transport
