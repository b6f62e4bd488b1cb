// SPDX-License-Identifier: BSD-3-Clause
// The bridge over links: keeps the mirror of what ranks of other hosts write.
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

#include "base/descriptor.hpp"
#include "transport/bridge.hpp"
#include "transport/links.hpp"
#include "transport/mailbox.hpp"
#include "transport/payloads.hpp"
#include "transport/segment.hpp"
#include "transport/traffic.hpp"
#include "transport/transmit_thread.hpp"

namespace stretto::transport {

class Carrier final : public Bridge, private Links::Receiver {
public:
    // `segment` is this rank's own, whose bridge this becomes.  `leave`: the transmit thread's.
    Carrier(Segment &segment, int rank, std::unique_ptr<EventSet> events,
            std::unique_ptr<Links> links,
            std::chrono::microseconds leave = TransmitThread::kLeaveUs);
    ~Carrier() override;

    std::string place(int rank) const override { return links_->place(rank); }
    void ship(int rank, const CellSend &cell) override;
    void push() override;
    void push_parts() override;
    void ask(int rank, std::uint64_t progress) override;
    void tell_writers(const std::uint64_t *taken) override;
    std::uint64_t suspicious_ns() const override { return suspicious_ns_; }
    void inquire(int rank) override;
    void ring(int rank) override;
    bool carry(Caller caller) override;
    bool sleep(std::uint32_t ticket, std::uint64_t timeout_ns) override;
    void wake(int rank) override;
    void open_mailbox(int rank) override;
    void failed() noexcept override;

    // Sends so many bytes that nobody needs: a connection that has been idle sends little at first,
    // and what comes soon after these need not wait for it.
    void warm(int rank, std::size_t bytes);
    // Is told of what is sent and received, of what was so far at once; outlives this.
    void observe(Traffic &traffic);
    // Is told of the failure of the communicator, once, when other hosts are; with a lock held, so
    // it must not wait.  Once this returns, nobody else is.
    void on_failure(std::function<void(const Error &)> told);
    // `rank`, of another host, has died or counts as dead: nothing is taken from it any more.
    void lose(int rank);
    // Tells the others that this rank takes part no more, and waits until they can know, at most
    // `timeout_ns`.
    void leave(std::uint64_t timeout_ns) noexcept;

private:
    static constexpr std::size_t kPaddingBytes = 16384; // bytes of a packet of it
    // Of a writer, that a reader keeps in mind: more than lie in a ring (engine/plan.cpp).
    static constexpr std::size_t kMarks = 16;

    // The entries of a rank, and where it stands, as they travel.
    struct Account {
        struct Said {
            std::uint64_t sequence, signature, count, what;
            Letters parameters;
        };
        Said calls[kEntries];
        std::uint64_t standing;
    };
    struct Peer {
        // Of the peer's progress: our last mark, what we asked for last, and what we need, since
        // when.
        std::uint64_t mark = 0, asked = 0, needed = 0, needed_since = 0;
        // What the peer wants to hear of our progress, 0 if nothing: for the room that it waits
        // for, and for that which it will need.
        std::uint64_t awaited = 0;
        std::array<std::uint64_t, kMarks> marks{};
        // Of the peer's stream: the end of what has come, and of what it knows that we took.
        std::uint64_t come = 0, told = 0;
        std::uint64_t mailed = 0; // bytes of our mailbox
        std::uint64_t told_read = 0, told_released = 0;
        std::uint64_t sent = 0, received = 0;      // bytes of payload
        MailboxHead *out = nullptr, *in = nullptr; // the mailboxes, once they are used
        std::string failure;                       // while it comes
        bool inquired = false;                     // and not answered yet
        Account account, ours;                     // what comes, and what we answer
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
    bool carry(Caller caller, std::uint64_t most_ns, std::uint64_t slept_ns);
    bool arm();

    // All below with the lock.
    void send(int rank, const WireMessage &packet, const std::byte *payload, bool more = false);
    void send(int rank, WireMessage::Kind kind, std::uint64_t position, std::uint64_t flag = 0);
    void tell(int rank);
    void post_mail(int rank);
    void tell_read(int rank);
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
    const std::unique_ptr<EventSet> events_;
    const std::unique_ptr<Links> links_;
    Descriptor bell_;
    std::mutex mutex_; // of the links, and of what follows
    std::atomic<std::thread::id> owner_;
    std::vector<Peer> peers_;
    Pool pool_;
    std::vector<RemotePayloads> payloads_; // of each rank's cells
    std::string failure_;                  // what we tell
    bool told_failure_ = false;
    std::function<void(const Error &)> on_failure_;
    Traffic *traffic_ = nullptr;
    std::vector<std::byte> padding_; // of others, once any has come: nobody reads it
    // There is something for push() and push_parts().
    std::atomic<bool> holds_{false}, holds_parts_{false};
    std::atomic<bool> patient_{false}; // something is needed of which a mark should tell
    std::mutex sleeping_;              // held by the thread that sleeps on the event set
    std::atomic<bool> asleep_{false};  // there is one
    TransmitThread transmit_thread_;   // last: its thread uses all of the above
};

} // namespace stretto::transport
