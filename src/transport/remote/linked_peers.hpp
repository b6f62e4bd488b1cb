// SPDX-License-Identifier: BSD-3-Clause
// Remote peers over links; keeps the mirror of the memory that ranks of other hosts write.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "transport/remote/bell_socket.hpp"
#include "transport/remote/links.hpp"
#include "transport/remote/payloads.hpp"
#include "transport/remote/remote_peers.hpp"
#include "transport/remote/traffic.hpp"
#include "transport/remote/transmit_thread.hpp"
#include "transport/shm/mailbox.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::transport {

struct LinkedPeersOptions {
    std::uint64_t heartbeat_ns = 0; // of the job: if it is long, waits are investigated later
    std::chrono::microseconds leave = TransmitThread::kLeaveUs; // of the transmit thread
};

class LinkedPeers final : public RemotePeers, private Links::Receiver {
public:
    // `segment`: this rank's own; this object becomes its remote peers.
    LinkedPeers(Segment &segment, int rank, std::unique_ptr<EventSet> events,
                std::unique_ptr<Links> links, const LinkedPeersOptions &options = {});
    ~LinkedPeers() override;

    std::string place(int rank) const override { return links_->place(rank); }
    void send_cell(int rank, const CellSend &cell) override;
    bool sends_buffers() const override { return links_->sends_buffers(); }
    bool sends_from(int rank, const std::byte *payload, std::size_t bytes) override;
    void push() override;
    void push_parts() override;
    void ask(int rank, std::uint64_t progress, Need need) override;
    void report_taken(const std::uint64_t *taken) override;
    std::uint64_t suspicious_ns() const override { return suspicious_ns_; }
    void inquire(int rank) override;
    void report_progress() override;
    void ring(int rank) override;
    bool make_progress(Caller caller) override;
    bool sleep(std::uint32_t ticket, std::uint64_t timeout_ns) override;
    void wake(int rank) override;
    void open_mailbox(int rank) override;
    void failed() noexcept override;
    void add_memory_user(MemoryUser &user) override;
    void remove_memory_user(MemoryUser &user) noexcept override;

    // Sends this many bytes of padding: a connection that was idle sends slowly at first, and data
    // that follows the padding does not have to.
    void warm(int rank, std::size_t bytes);
    // `traffic` is called for all bytes sent and received, at once for those so far; it outlives
    // this object.
    void observe(Traffic &traffic);
    // Called once when the failure of the communicator is reported to other hosts.  A lock is held,
    // so the function must not wait.  After this returns, an earlier function is no longer called.
    void on_failure(std::function<void(const Error &)> reported);
    // `rank`, on another host, has died or counts as dead: nothing more is received from it.
    void lose(int rank);
    // Reports to the others that this rank leaves, and waits at most `timeout_ns` until the report
    // can have reached them.
    void leave(std::uint64_t timeout_ns) noexcept;

private:
    static constexpr std::size_t kPaddingBytes = 16384; // bytes of a packet of it
    // How many marks of a writer a reader remembers: more than fit into a ring (engine/plan.cpp).
    static constexpr std::size_t kMarks = 16;

    // The entries of a rank and its wait state, as they are sent.
    struct Account {
        struct SentCall {
            std::uint64_t sequence, signature, count, packed;
            Letters parameters;
        };
        SentCall calls[kEntries];
        std::uint64_t wait_state;
    };
    struct Peer {
        // Values of the peer's progress: at this rank's last mark, in its last question, and the
        // one that it needs, with the time since when.
        std::uint64_t mark = 0, asked = 0, needed = 0, needed_since = 0;
        // Values of this rank's progress that the peer wants reported, 0 if none: for the room that
        // it waits for, and for room that it will need.
        std::uint64_t awaited = 0;
        std::array<std::uint64_t, kMarks> marks{};
        // Positions of the peer's stream: the end of the received cells, and the end of the taken
        // cells as this rank has last reported it to the peer.
        std::uint64_t come = 0, reported = 0;
        std::uint64_t mailed = 0; // bytes of our mailbox
        std::uint64_t reported_read = 0, reported_released = 0;
        std::uint64_t sent = 0, received = 0;      // bytes of payload
        MailboxHead *out = nullptr, *in = nullptr; // the mailboxes, once they are used
        std::string failure;                       // while it comes
        bool inquired = false;                     // and not answered yet
        Account account, ours;                     // received calls, and this rank's answer
    };

    // Our progress.
    std::uint64_t reached() const {
        return segment_.lines(rank_).progress.load(std::memory_order_acquire);
    }
    Peer &peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
    enum class Then { push, push_parts, hold };
    template<class Body>
    void locked(Body &&body, Then then = Then::push);

    bool round();
    bool make_progress(Caller caller, std::uint64_t most_ns, std::uint64_t slept_ns);
    bool arm();

    // All below with the lock.
    void send(int rank, const WireMessage &packet, const std::byte *payload, bool more = false);
    void send(int rank, WireMessage::Kind kind, std::uint64_t position, std::uint64_t flag = 0);
    void report_progress(int rank);
    void expect(int from, std::uint64_t &value, std::uint64_t progress);
    void post_mail(int rank);
    void report_read(int rank);
    void spread_failure();
    void answer(int rank);
    void take_account(int from, std::uint64_t progress);
    void take_cell(int from, const WireMessage &packet);
    void take_mail(int from, const WireMessage &packet);

    std::byte *place(int from, const WireMessage &packet) override;
    void arrived(int from, const WireMessage &packet) override;
    void broken(int rank, const std::string &why) override;

    Segment &segment_;
    const int rank_;
    const std::uint64_t suspicious_ns_;
    std::mutex mutex_; // of the links, and of what follows
    std::atomic<std::thread::id> owner_;
    // Memory from which the links send and into which they receive, to their end:
    std::vector<Peer> peers_;
    Pool pool_;
    std::vector<RemotePayloads> payloads_; // of each rank's cells
    std::string failure_;                  // this rank's own, as sent
    std::vector<std::byte> padding_;       // padding of others, which is not read
    const std::unique_ptr<EventSet> events_;
    const std::unique_ptr<Links> links_;
    const BellSocket bell_;
    // Values in `awaited` and `marks` of all peers; also read without the lock.
    std::atomic<std::uint32_t> questions_{0};
    bool reported_failure_ = false;
    std::function<void(const Error &)> on_failure_;
    Traffic *traffic_ = nullptr;
    // push() and push_parts() have something to send.
    std::atomic<bool> holds_{false}, holds_parts_{false};
    std::atomic<bool> patient_{false}; // this rank waits for room that a mark should report
    std::mutex sleeping_;              // held by the thread that sleeps on the event set
    std::atomic<bool> asleep_{false};  // a thread sleeps
    TransmitThread transmit_thread_;   // the last member: its thread uses all of the above
};

} // namespace stretto::transport
