// SPDX-License-Identifier: BSD-3-Clause
// Messages from one rank to another: one rank's side of all its messages.
//
// A short message travels in one frame together with its data (*eager*), as long as the receiver
// has room to store it until a receive takes it: kStoredBytes bytes for each sender.  Of any other
// message, the first frame only announces it (RTS).  When a receive takes the message, the receiver
// copies it from the sender's heap window if it lies there, or from the sender's device if the RTS
// says where and both buffers are on devices.  Otherwise the receiver grants it (CTS), and the
// sender sends it piece by piece.  So a receiver can take every frame out of a
// mailbox at once, and no message blocks another.
//
// A buffer may be in memory of a device (device_messages.cpp).  The other side need not know.
//
// All threads of a rank may call these functions at the same time.  One lock guards all state; no
// thread sleeps while it holds the lock.
//
// If a rank cannot do its part of a message, for want of memory for instance, another rank would
// wait for it: so such an error ends the communicator.  Then every transfer must end, so none may
// be lost.  A transfer joins its next list before it leaves the one that it is on; or a function
// holds it and ends it if an exception is thrown (fail_transfers).  A function that begins a
// transfer keeps it until abandon_all() has emptied the lists.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/memory_kind.hpp"
#include "engine/engine.hpp"
#include "engine/failure.hpp"
#include "p2p/device_copies.hpp"
#include "p2p/matching/match_queue.hpp"
#include "p2p/ordering.hpp"
#include "p2p/progress_thread.hpp"
#include "p2p/transfer.hpp"
#include "transport/shm/heap.hpp"
#include "transport/shm/mailbox.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::p2p {

inline constexpr std::size_t kEagerBytes = 4096; // bytes of the longest eager message
// Bytes of eager messages that wait for a receive, for each pair of ranks.
inline constexpr std::size_t kStoredBytes = 256u << 10;
inline constexpr std::size_t kMostIdleEntries = 256; // places for unexpected messages that are kept

class Messenger final : public engine::Companion {
public:
    // `judge(call)` throws if ranks have called different collectives under this number.
    Messenger(std::shared_ptr<transport::Segment> segment, int rank, const transport::Heap &heap,
              engine::EngineOptions options, std::function<void(std::uint64_t)> judge,
              const MatchingOptions &matching, engine::Notices &notices);
    // Abandons what is still in flight.
    ~Messenger() override;

    // Messages are bytes, in memory of any kind that has an executor.  An error that is thrown has
    // ended the communicator.
    void send(const void *data, std::size_t bytes, MemoryKind memory, int dest, int tag);
    // Fills `taken`, also if the message did not fit; the result is the error of this receive.
    std::optional<Error> receive(void *data, std::size_t capacity, MemoryKind memory, int source,
                                 int tag, Taken &taken);

    // The transfer belongs to the messenger; give it back with complete() after it has ended.  An
    // error that is thrown has ended the communicator, and there is no transfer.
    Transfer *start_send(const void *data, std::size_t bytes, MemoryKind memory, int dest, int tag,
                         std::uint32_t context = kUser, const Purpose &purpose = {});
    Transfer *start_receive(void *data, std::size_t capacity, MemoryKind memory, int source,
                            int tag, std::uint32_t context = kUser, const Purpose &purpose = {});
    // Messages in an order that a gate tells (ordering.hpp).  First they are prepared, which asks
    // the driver of a device for what they need, then the caller closes the gate, then they begin,
    // and the gate belongs to them.  The transfers are as above.  Messages that may be alike begin
    // in the order of their gates: a thread closes one and begins them while it has beginning().
    std::unique_ptr<Ordering> prepare_in_order(std::span<const Message> messages);
    std::mutex &beginning() { return beginning_; }
    std::vector<Transfer *> begin_in_order(std::unique_ptr<Ordering> prepared,
                                           std::shared_ptr<engine::Gate> gate);
    // Returns when all such messages have ended.  The program begins no message any more.
    void wait_for_orders();
    bool test(Transfer &transfer);
    // Returns when the transfer has ended, also if a failure of the communicator ended it.
    void wait(Transfer &transfer);
    // Takes over the notice, which is posted when all of the transfers have ended.
    void notify(std::span<Transfer *const> transfers, engine::Notice *notice);
    // Throws the transfer's error, if it has one.
    void complete(Transfer *transfer);
    // Ends a receive that no message has matched, unless something waits for it in its order; does
    // nothing to other transfers.
    void cancel(Transfer &transfer);

    // Waits until all output of this rank is in the mailboxes of ranks that are still there.
    void close();

    // After a failure of the communicator: when this returns, no message moves any more.
    void abandon();

    // The message that a receive would take now; it is not received.
    std::optional<Taken> probe(int source, int tag);
    Taken wait_for(int source, int tag);

    struct Queues {
        QueueState posted, unexpected;
        std::size_t bytes = 0; // memory of both
    };
    Queues queues();

    // Called by threads of this rank that wait in a collective: moves messages meanwhile.
    bool progress() override;
    // Until the executor is to be asked whether a copy has ended.
    std::uint64_t longest_nap() const override { return nap_ns_.load(std::memory_order_relaxed); }

private:
    friend class ProgressThread;
    class Waiting;
    template<class List, class Look>
    class Emptying;

    // An unexpected message: no receive has taken it yet.
    struct Arrived : ArrivedMessage {
        transport::Frame frame;
        std::vector<std::byte> payload; // of an eager message
        Send *own = nullptr;            // from this rank to itself, its data not copied yet
    };
    struct Peer {
        transport::Outbox out;
        transport::Inbox in;
        // Output that is not in the mailbox yet; each queue keeps its order.
        std::deque<transport::Frame> answers;
        std::deque<Send *> announcements;
        std::deque<Send *> granted; // those with ready bytes
        std::uint64_t eager = 0;    // bytes of eager frames so far
        bool listed = false;        // in listed_
    };

    // A message, or both sides of one, that an executor copies; without both it has ended.
    struct Copied {
        Send *send;
        Receive *receive;
        DeviceCopies *by;
        bool ended() const { return send == nullptr && receive == nullptr; }
    };

    Peer &peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

    void receive_from_hosts();
    // Runs `body`, without the lock.  If it throws, the error is posted and all transfers end.
    template<class Body>
    void prepare_together(Body &&body) {
        try {
            body();
        } catch (...) {
            const Error error = engine::post_exception(*segment_, rank_, exhausted_);
            std::unique_lock lock(mutex_);
            abandon_all(error);
            await_copies(lock);
            throw error;
        }
    }
    // Takes the lock and runs `body`.  If it throws, the error is posted, and every transfer on a
    // list ends.  A transfer that the body began must still exist then, and may be freed when this
    // has thrown.
    template<class Body>
    void begin_together(Body &&body) {
        std::unique_lock lock(mutex_);
        check_alive();
        try {
            body();
        } catch (...) {
            abandon_all(engine::post_exception(*segment_, rank_, exhausted_));
            await_copies(lock);
            throw *failure_; // as it was posted
        }
    }

    // The caller holds the lock.

    // outgoing.cpp
    void open_outbox(int dest);
    void begin(Send &send);
    void go(Send &send);
    void offer(Send &send);
    Receive *offer_to_self(Send &send);
    bool announce(Peer &to, Send &send);
    void answer(int dest, transport::Frame::Kind kind, std::uint64_t id, std::uint64_t bytes = 0,
                std::uint64_t where = 0, bool partly = false);
    void queue(Send &send);
    bool flush(int dest);
    bool flush_all();
    void list(int dest);
    void wake(int rank);

    // incoming.cpp
    void begin(Receive &receive);
    void take(Receive &receive, Arrived *message);
    void keep(Receive &receive, Arrived &message);
    bool drain_all();
    bool drain(int source);
    void arrive(int source, const transport::Frame &frame, const transport::Payload &payload);
    bool accept(Receive &receive, int source, const Envelope &envelope, std::size_t bytes);
    void deliver(Receive &receive, int source, const transport::Frame &frame,
                 const transport::Payload &payload);
    void deliver_own(Receive &receive, Send &send);
    const std::byte *in_heap(int source, const transport::Frame &frame, std::size_t wanted);
    void note_unexpected();
    Arrived *new_arrived();
    void recycle(Arrived *arrived) noexcept;

    // ordered.cpp
    void attend(Transfer &transfer);
    bool hold_back(Send &send);
    void let_go(const Likeness &like);
    bool look_at_orders();
    bool forget_ended_orders();
    void set_aside(Ordering &order);
    void open(Ordering &order);
    static void leave_order(Transfer &transfer);
    void abandon_orders();
    void free_stuck_orders();
    const Transfer *most_doubtful(const Ordering &order) const;
    void publish_for_orders(bool receives, int awaited);

    // device_messages.cpp
    bool set_aside(Send &send);
    static void read_from_copy(Send &send);
    void copy_at_once(DeviceCopies &by, Receive &receive, const void *from, std::size_t bytes,
                      Send *own = nullptr);
    void deliver_to_device(Receive &receive, int source, const transport::Frame &frame,
                           const transport::Payload &payload, std::size_t wanted);
    bool shares_devices(int rank) const;
    const void *on_device(const Receive &receive, int source, const transport::Frame &frame,
                          const transport::Payload &payload);
    void take_piece(Receive &receive, const transport::Payload &payload, std::size_t bytes);
    void make_room_for_copied();
    void list_copied(Send *send, Receive *receive, DeviceCopies &by) noexcept;
    bool advance_copies();
    bool finish_copy(Copied &each);
    bool advance_copied(Send &send, Copied &each);
    bool advance_copied(Receive &receive, Copied &each);
    bool end_abandoned_copies();
    void set_nap();
    template<class Body>
    bool copying(const Transfer &transfer, const Body &body);
    Error copy_error(const Transfer &transfer, const Error &why) const;
    void await_copies(std::unique_lock<std::mutex> &lock);

    // messenger.cpp
    bool advance();
    void advance_if_needed();
    void check_alive();
    void end(Transfer &transfer);
    void hurry(Transfer &transfer);
    void give_up(Transfer &transfer);
    void abandon(Transfer &transfer);
    void abandon(Arrived &message);
    void abandon_all(const Error &error);
    [[noreturn]] void fail_transfers(std::initializer_list<Transfer *> transfers);
    void leave_in_flight(Transfer &transfer);
    std::optional<Taken> find(int source, int tag);
    std::string describe(const Transfer &transfer) const;
    std::string progress_of(const Transfer &transfer) const;

    // The caller does not hold the lock.
    bool something_to_do() const;
    // device_messages.cpp.  For host memory there is nothing to prepare.
    void prepare(Transfer &transfer, MemoryKind memory);
    void prepare(Send &send, MemoryKind memory);
    void offer_piece(Send &send);
    void poll_executors();
    // ordered.cpp
    void prepare_in_order(Send &send, const Message &message);
    void diagnose_orders();
    // diagnosis.cpp
    void publish_wait_state(transport::WaitState::Kind kind, int awaited);
    transport::WaitState wait_state(transport::WaitState::Kind kind, int awaited) const;
    int awaited_by(const Transfer &transfer) const;
    std::string in_words(int awaited) const;
    enum class By { waits, tests, threads }; // threads: no caller
    void diagnose(const Transfer &transfer, std::uint64_t quiet_ns, By by = By::waits);
    void check_sources_live(int source, int tag);
    void check_peers(int awaited, const std::string &words, std::uint64_t quiet_ns,
                     const std::function<bool()> &over, By by);
    [[noreturn]] void fail(Status status, const std::string &message);
    std::string from(int source, int tag) const;

    const std::shared_ptr<transport::Segment> segment_;
    const int rank_;
    const transport::Heap &heap_;
    const engine::EngineOptions options_;
    const std::function<void(std::uint64_t)> judge_;
    const Error exhausted_;
    engine::Notices &notices_;

    std::mutex mutex_;
    std::atomic<bool> output_{false}; // some peer has output
    bool others_may_wait_ = false;    // another thread may wait for an event since advance() began
    std::uint64_t probed_ = 0;        // when a probe last checked that its sources live
    int probing_ = 0;                 // threads that wait for a message to arrive
    std::size_t own_stored_ = 0;      // eager bytes from this rank to itself
    std::optional<Error> failure_;    // the error that has ended all transfers
    std::vector<Peer> peers_;
    std::vector<int> listed_; // peers with output
    const std::unique_ptr<Matcher> matcher_;
    std::uint64_t next_id_ = 1;
    std::unordered_map<std::uint64_t, Send *> unanswered_;
    std::unordered_map<std::uint64_t, Receive *> coming_;
    std::vector<Arrived *> idle_; // to be used again; has memory for kMostIdleEntries
    // Messages in orders, and the sends that these hold back.
    std::mutex beginning_;
    std::vector<std::shared_ptr<Ordering>> orders_; // oldest gate first
    std::map<Likeness, std::deque<Send *>> held_back_;
    std::atomic<bool> finishing_{false}; // the program begins no message any more
    std::vector<const void *> closed_;   // for look_at_orders()
    std::uint64_t orders_looked_ns_ = 0; // when they were last diagnosed
    std::uint64_t published_ = 0;        // the last wait state that they published
    std::size_t stuck_copies_ = 0;       // after a failure, copies on their way
    std::uint64_t stuck_since_ns_ = 0;   // since when there are so many
    // Messages that executors copy, and the rings of the long ones that are sent and received.
    std::vector<Copied> copied_;
    StagingRings sent_, received_;
    std::shared_ptr<engine::Bell> bell_;                   // null: there were no such messages
    std::atomic<bool> asks_{false};                        // of copied_ or of orders_
    std::atomic<std::uint64_t> nap_ns_{transport::kNoNap}; // while it does
    ProgressThread progress_thread_;                       // last: its thread uses all of the above
};

} // namespace stretto::p2p
