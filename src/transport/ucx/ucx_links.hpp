// SPDX-License-Identifier: BSD-3-Clause
// Links over UCX: an endpoint to each rank of another host, all of one worker, which belongs to one
// communicator.  So the lock of its peers guards the worker as well, and communicators do not wait
// for one another.
//
// A packet is an active message: its header, and its payload from where it lies.  UCX sends short
// payloads with the header, and lets the receiver fetch long ones straight into the memory that the
// receiver names.  Cells of 8 KiB and more and padding may overtake others and be overtaken, as
// long cells with several connections (tcp_links.hpp); all other packets keep their order.
//
// Where a peer offers a window of its memory (put_window.hpp), payloads of such cells are put into
// it, and no receiver has a part in that (ucx_puts.cpp).  A caller's buffer can then be sent from
// where it lies, if it is registered (registration_cache.hpp).
#pragma once

#include <algorithm>
#include <array>
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
#include "transport/remote/put_window.hpp"
#include "transport/ucx/in_turn.hpp"
#include "transport/ucx/registered_memory.hpp"
#include "transport/ucx/registration_cache.hpp"
#include "transport/ucx/ucp_worker.hpp"
#include "transport/ucx/ucx_counts.hpp"
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
    // Then, once for each peer, which sends no long cells before: lets it write their payloads into
    // that memory of this rank by itself; none: it sends them in messages.  The memory outlives
    // this.  Throws Error(system) if the memory cannot be registered; then the peer sends messages.
    void offer(int rank, PutWindow window);
    // Once: what goes from these rings of this rank, which outlive this, needs no registration of
    // its own.  Throws Error(system).
    void register_rings(PutWindow own);
    // Whether the peer's offer has come.
    bool offered(int rank) const { return link(rank).offered(); }
    // Whether devices write what this rank and the peer put into one another's memory.
    bool device_puts(int rank) const;
    // Puts also where UCX emulates them by messages.
    void put_anyhow() { put_anyhow_ = true; }
    // Registers callers' buffers, which are sent without a copy then.
    void use(std::shared_ptr<RegistrationCache> buffers) { buffers_ = std::move(buffers); }

    std::string place(int rank) const override { return link(rank).place; }
    void send(int to, const WireMessage &packet, const std::byte *payload, bool more) override;
    // UCX copies mail and padding that are shorter than what it sends from where it lies.  Longer
    // packets it would register, each by itself; and 1.18 aborts if it cannot, as of the padding,
    // which no one may write.
    std::size_t most_mail_bytes() const override { return kMostCopiedBytes; }
    bool sends_buffers() const override { return buffers_ != nullptr; }
    bool sends_from(int to, const std::byte *payload, std::size_t bytes) override;
    void push(Which) override; // each message goes by itself, at once
    bool progress(Receiver &receiver, const EventSet::Ready &ready) override;
    void drop(int rank) override { give_up(link(rank)); }
    bool sent() const override { return unsent_ == 0 && unflushed_ == 0 && held_ == 0; }
    bool delivered() const override { return sent(); }

    // Messages that came from strangers.
    std::uint64_t ignored() const { return ignored_; }
    const UcxCounts &counts() const { return counts_; }
    // Bytes of this rank that are registered at present: by default those that peers may write.
    std::size_t registered(ucp::MemoryUse use = ucp::MemoryUse::window) const {
        return worker_->context()->registered_bytes(use);
    }

private:
    // Of a payload in a message: UCX counts headers, Stretto's and its own.
    static constexpr std::size_t kMostCopiedBytes = kLeastPutBytes - 2 * sizeof(UcxMessage);

    struct Link;
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
    using Registration = RegistrationCache::Registration;
    struct Held { // until the peer's offer has come, and there is room
        WireMessage packet;
        const std::byte *payload;
        Registration buffer; // null: the payload is in none
    };
    // Payloads that are put on a link before their flags go.  Flags are messages, which the device
    // sends behind all that was put before them: if a rank put all slices of a burst at once, its
    // reader would hear of the first when the last has come.  Two keep the wire busy.
    static constexpr std::size_t kMostAheadCells = 2;
    // What goes into the window of a peer.
    struct Puts {
        std::uint64_t offered_by = 0;  // the mark of the peer's worker in its offer; 0: not come
        std::vector<std::byte> offer;  // empty: of nothing, or it is used already
        ucp::RemoteKey *key = nullptr; // of the window, once it is used
        std::uint64_t first = 0;       // byte of the window
        std::size_t ring_bytes = 0;    // of the peer
        std::deque<Held> held;
        std::deque<WireMessage> cells; // whose payloads were put, and whose flags have not gone
        // How many cells so far: were put, lie in the peer's memory, will when flushes end.
        std::uint64_t put = 0, placed = 0, covered = 0;

        bool full() const { return cells.size() >= kMostAheadCells; }
        bool first_is_placed() const { return put - cells.size() < placed; }
    };
    // A flush, in the hands of UCX.
    struct Flushing {
        Link *link = nullptr;     // null: none
        std::uint64_t covers = 0; // cells that were put before it began, so far
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
        bool unflushed = false;
        std::array<Flushing, kMostAheadCells> flushes; // one for each payload that is ahead
        std::string failure; // why the link is broken, until the receiver knows
        Puts puts;
        std::unique_ptr<ucp::RegisteredMemory> window; // of this rank, which the peer writes
        std::vector<std::byte> offer;                  // of it, in the hands of UCX
        bool refused = false;                          // by the peer

        bool offered() const { return heard != 0 && puts.offered_by == heard; }
        bool flushing() const {
            return std::ranges::any_of(flushes, [](const Flushing &each) { return each.link; });
        }
    };
    // Memory, and its registration; null: UCX does what it needs.
    struct Registered {
        const std::byte *first = nullptr;
        Registration registration;
    };
    // In the hands of UCX, which reads the header until the message is sent.
    struct Sending {
        UcxLinks *all = nullptr;
        UcxMessage header;
        Registration from;
    };
    // A put, in the hands of UCX.
    struct Putting {
        Link *link = nullptr;
        ucp::Endpoint *endpoint = nullptr;
        Registration from;
    };
    // Of a long payload.
    struct Receiving {
        Link *link = nullptr;
        WireMessage packet;
        Registration to;
    };

    Reports reports() const override { return Reports::when_armed; }
    bool arm() override;

    // As with several connections over TCP.
    static bool may_overtake(const WireMessage &packet) {
        return packet.kind == WireMessage::padding || packet.kind == kOfferKind ||
               packet.kind == kRefusalKind ||
               (packet.kind == WireMessage::cell && (packet.flags & WireMessage::kBulk) != 0 &&
                !is_placed(packet));
    }
    void send(Link &peer, const WireMessage &packet, const std::byte *payload);
    void send_long(Link &peer, const WireMessage &packet, const std::byte *payload);
    bool can_put(Link &peer);
    void put(Link &peer, const Held &cell);
    void put(Link &peer, const Registered &from, std::size_t bytes, std::uint64_t at);
    Registered in_rings(const std::byte *payload, std::size_t bytes) const;
    void advance_puts();
    void drop_held(Link &link) noexcept;
    void take_offer(Link &from, std::uint64_t mark, std::span<const std::byte> bytes);
    Link &link(int rank) { return links_[static_cast<std::size_t>(rank)]; }
    const Link &link(int rank) const { return links_[static_cast<std::size_t>(rank)]; }
    void give_up(Link &link) noexcept;
    void close(Link &link) noexcept;
    void to_flush(Link &link);
    void flush();
    void flush(Link &link);
    void flushed(Flushing &flush, bool complete) noexcept;
    ucp::Status take(const UcxMessage &header, void *data, std::size_t length, bool is_long);
    ucp::Status take_long(Link &link, const WireMessage &packet, void *message);
    void deliver(Link &link, const WireMessage &packet, const void *payload);
    void take_waiting();
    void invalid(Link &link);
    template<class Body>
    void guarded(Body &&body) noexcept {
        try {
            body();
        } catch (...) {
            if (error_ == nullptr)
                error_ = std::current_exception();
        }
    }

    static ucp::Status on_came(void *argument, const void *header, std::size_t header_length,
                               void *data, std::size_t length,
                               const ucp::MessageParameters *parameters);
    static void on_sent(ucp::Request request, ucp::Status status, void *sending);
    static void on_put(ucp::Request request, ucp::Status status, void *putting);
    static void on_received(ucp::Request request, ucp::Status status, std::size_t length,
                            void *receiving);
    static void on_flushed(ucp::Request request, ucp::Status status, void *flush);
    static void on_failed(void *link, ucp::Endpoint *endpoint, ucp::Status status);

    EventSet *events_ = nullptr;
    std::unique_ptr<ucp::OwnedWorker> worker_;
    const ucp::Library &library_;
    const int rank_;
    const std::uint64_t mark_; // of the worker, for peers
    std::shared_ptr<RegistrationCache> buffers_;
    PutWindow own_rings_;
    Registration rings_;      // null: not registered
    std::vector<Link> links_; // by rank; UCX knows where they lie
    std::deque<Sending> sendings_;
    std::vector<Sending *> free_;
    std::deque<Putting> puttings_;
    std::vector<Putting *> free_puttings_;
    std::size_t unsent_ = 0; // messages and puts in the hands of UCX
    std::size_t held_ = 0;   // cells
    bool puts_due_ = false;  // advance_puts() has something to do
    bool put_anyhow_ = false;
    bool failed_ = false;       // the communicator: no rank reads its cells any more
    std::size_t unflushed_ = 0; // links with messages that may still lie in UCX
    std::vector<Waiting> waiting_;
    bool ending_ = false;
    unsigned idle_looks_ = 0; // since anything happened
    std::uint64_t ignored_ = 0;
    UcxCounts counts_;
    // During progress():
    Receiver *receiver_ = nullptr;
    bool any_ = false;
    std::exception_ptr error_; // of the receiver: exceptions cannot pass through UCX
};

} // namespace stretto::transport
