// SPDX-License-Identifier: BSD-3-Clause
// Links over UCX: an endpoint to each rank of another host, all of one worker, which belongs to one
// communicator.  So the lock of its peers guards the worker as well, and communicators do not wait
// for one another.
//
// A packet is an active message: its header, and its payload from where it lies.  UCX sends short
// payloads with the header, and lets the receiver fetch long ones straight into the memory that the
// receiver names.  Long cells and padding may overtake others and be overtaken, as with several
// connections (tcp_links.hpp); all other packets keep their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/remote/links.hpp"
#include "transport/ucx/in_turn.hpp"
#include "transport/ucx/ucp_worker.hpp"
#include "transport/ucx/ucx_message.hpp"

namespace stretto::transport {

class UcxLinks final : public Links, private EventSource {
public:
    struct Tokens {
        LinkToken out, in; // of what this rank sends, and of what it receives
    };
    // `tokens`: by rank of the communicator, in which this is `rank`; nothing: no link.
    UcxLinks(std::unique_ptr<ucp::OwnedWorker> worker, int rank,
             const std::vector<std::optional<Tokens>> &tokens);
    ~UcxLinks() override;

    // UCX connects two workers when one sends.  A link has to be there before: at the end of a job,
    // a rank may send to a worker that it has never sent to.  So each rank says hello on each link,
    // and the links are connected when each peer has been heard.
    //
    // Says hello to this peer, which is at `place` ("node7"), at its worker's address.  A second
    // call is for another address: the first was of an earlier attempt of the peer.
    void meet(int rank, std::string place, std::span<const std::byte> address);
    void connect();
    // Lets UCX go on for links that will not be used.
    void settle() noexcept { (void)worker_->progress(); }
    // Whether this peer has been heard, from the worker at that address.
    bool connected(int rank) const;
    // Why the link to this peer is broken; "" if it is not.
    const std::string &failure(int rank) const { return link(rank).failure; }
    // A descriptor that is readable once there is something to do; -1 if there is already.
    int arm_alone() { return worker_->arm() ? worker_->descriptor() : -1; }
    // When they are connected.
    void join(EventSet &events);

    std::string place(int rank) const override { return link(rank).place; }
    void send(int to, const WireMessage &packet, const std::byte *payload, bool more) override;
    void push(Which) override {} // each message goes by itself, at once
    bool progress(Receiver &receiver, const EventSet::Ready &ready) override;
    void drop(int rank) override { give_up(link(rank)); }
    bool sent() const override { return unsent_ == 0 && unflushed_ == 0; }
    bool delivered() const override { return sent(); }

    // Messages that came from strangers.
    std::uint64_t ignored() const { return ignored_; }

private:
    struct Early { // than its turn
        WireMessage packet;
        std::vector<std::byte> payload;
    };
    // A message that came before there was a receiver.
    struct Waiting {
        UcxMessage header;
        std::vector<std::byte> payload;
        void *message = nullptr; // a long one, which UCX holds
    };
    struct Link {
        UcxLinks *all = nullptr;
        int rank = 0;
        std::string place;
        bool open = false;                 // there is one, and it is not given up
        ucp::Endpoint *endpoint = nullptr; // null: not open, or not connected
        Tokens tokens{};
        std::uint32_t turn = 1; // of the next message to the peer
        InTurn<Early> arrivals;
        std::uint64_t met = 0, heard = 0; // marks of the peer's worker: as known, and in its hello
        // Messages may lie in UCX after it has done with their payloads, until this rank calls UCX
        // again; a flush tells when they have gone.
        bool unflushed = false, flushing = false;
        std::string failure; // why the link is broken, until the receiver knows
    };
    // In the hands of UCX, which reads the header until the message is sent.
    struct Sending {
        UcxLinks *all = nullptr;
        UcxMessage header;
    };
    // Of a long payload.
    struct Receiving {
        Link *link = nullptr;
        WireMessage packet;
    };

    Reports reports() const override { return Reports::when_armed; }
    bool arm() override;

    void send(Link &peer, const WireMessage &packet, const std::byte *payload);
    Link &link(int rank) { return links_[static_cast<std::size_t>(rank)]; }
    const Link &link(int rank) const { return links_[static_cast<std::size_t>(rank)]; }
    void give_up(Link &link) noexcept;
    void close(Link &link) noexcept;
    void flush();
    ucp::Status take(const UcxMessage &header, void *data, std::size_t length, bool is_long);
    ucp::Status take_long(Link &link, const WireMessage &packet, void *message);
    void deliver(Link &link, const WireMessage &packet, const void *payload);
    void take_waiting();
    void invalid(Link &link);
    template<class Body>
    void guarded(Body &&body) noexcept;

    static ucp::Status on_came(void *argument, const void *header, std::size_t header_length,
                               void *data, std::size_t length,
                               const ucp::MessageParameters *parameters);
    static void on_sent(ucp::Request request, ucp::Status status, void *sending);
    static void on_received(ucp::Request request, ucp::Status status, std::size_t length,
                            void *receiving);
    static void on_flushed(ucp::Request request, ucp::Status status, void *link);
    static void on_failed(void *link, ucp::Endpoint *endpoint, ucp::Status status);

    EventSet *events_ = nullptr;
    std::unique_ptr<ucp::OwnedWorker> worker_;
    const ucp::Library &library_;
    const int rank_;
    std::vector<Link> links_; // by rank; UCX knows where they lie
    std::deque<Sending> sendings_;
    std::vector<Sending *> free_;
    std::size_t unsent_ = 0;    // messages in the hands of UCX
    std::size_t unflushed_ = 0; // links with messages that may still lie in UCX
    std::vector<Waiting> waiting_;
    bool ending_ = false;
    unsigned idle_looks_ = 0; // since anything happened
    std::uint64_t ignored_ = 0;
    // During progress():
    Receiver *receiver_ = nullptr;
    bool any_ = false;
    std::exception_ptr error_; // of the receiver: exceptions cannot pass through UCX
};

} // namespace stretto::transport
