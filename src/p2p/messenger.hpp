// SPDX-License-Identifier: BSD-3-Clause
// Messages from one rank to another: a rank's side of all of them.
//
// A short message travels in one frame, with what it says (*eager*), as long as the receiver has
// room for more that nobody has asked for: kStoredBytes bytes for each sender.  Of all others the
// first frame only says that they are there.  When a receive takes it, the receiver fetches it from
// the sender's heap window if it lies there, else grants it, and then it travels piece by piece. So
// whatever is in a mailbox can be taken out at once, and no message is in the way of another.
//
// All threads of a rank may call all of this at once.  One lock guards it; nobody sleeps with it.
//
// Whatever a rank cannot do for its part of a message, for want of memory for instance, another
// rank would wait for: it ends the communicator.  So no transfer may ever be forgotten.  It is on
// the list that it goes to before it leaves the one it was on, or in the hands of somebody who ends
// it (lose) when the rest fails; whoever begins one keeps it until abandon_all() has emptied the
// lists.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine.hpp"
#include "engine/failure.hpp"
#include "p2p/matcher.hpp"
#include "p2p/progress_thread.hpp"
#include "p2p/transfer.hpp"
#include "transport/shm/heap.hpp"
#include "transport/shm/mailbox.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::p2p {

inline constexpr std::size_t kEagerBytes = 4096; // bytes of the longest eager message
inline constexpr std::size_t kStoredBytes = 256u
                                            << 10;   // eager bytes that wait for a receive, a pair
inline constexpr std::size_t kMostIdleEntries = 256; // places for unexpected messages that are kept
inline constexpr std::size_t kPieceBytes = 16256; // of a granted message; four fit into a mailbox

class Messenger final : public engine::Companion {
public:
    // `judge(call)` throws if the ranks disagree on what collective has this number.
    Messenger(std::shared_ptr<transport::Segment> segment, int rank, const transport::Heap &heap,
              engine::EngineOptions options, std::function<void(std::uint64_t)> judge);
    // Abandons what is still in flight.
    ~Messenger() override;

    // Messages are bytes.  What is thrown has ended the communicator.
    void send(const void *data, std::size_t bytes, int dest, int tag);
    // What was received is known even if it did not fit.
    std::optional<Error> receive(void *data, std::size_t capacity, int source, int tag,
                                 Taken &taken);

    // The transfer is the messenger's; give it back with complete() after it has ended.  What is
    // thrown has ended the communicator, and there is no transfer.
    Transfer *start_send(const void *data, std::size_t bytes, int dest, int tag,
                         std::uint32_t context = kUser, const Purpose &purpose = {});
    Transfer *start_receive(void *data, std::size_t capacity, int source, int tag,
                            std::uint32_t context = kUser, const Purpose &purpose = {});
    bool test(Transfer &transfer);
    // Until it has ended, be it by what ends the communicator.
    void wait(Transfer &transfer);
    // Throws the transfer's error, if it has one.
    void complete(Transfer *transfer);
    // Takes back a receive that no message has matched, which ends it; else does nothing.
    void cancel(Transfer &transfer);

    // Waits until what this rank still has to say is said, to those who are still there.
    void close();

    // The communicator has failed: when this returns no message moves any more.
    void abandon();

    // What a receive would take, without taking it.
    std::optional<Taken> probe(int source, int tag);
    Taken wait_for(int source, int tag);

    // For those who wait for something else.
    bool progress() override;

private:
    friend class ProgressThread;
    class Waiting;

    // A message that nobody has asked for yet.
    struct Arrived : ArrivedMessage {
        transport::Frame frame;
        std::vector<std::byte> payload; // of an eager one
        Send *own = nullptr;            // from this rank to itself, and still in its buffer
    };
    struct Peer {
        transport::Outbox out;
        transport::Inbox in;
        // What has yet to be put into the mailbox, each in its order.
        std::deque<transport::Frame> answers;
        std::deque<Send *> announcements;
        std::deque<Send *> granted;
        std::uint64_t eager = 0; // bytes of eager frames so far
        bool listed = false;     // among those with output
    };

    Peer &peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

    void carry();
    // Takes the lock and runs `body`.  What fails in it is posted, and every transfer that is on a
    // list ends: what the body began must still be there, and may be freed when this has thrown.
    template<class Body>
    void begin_together(Body &&body) {
        const std::lock_guard lock(mutex_);
        check_alive();
        try {
            body();
        } catch (...) {
            abandon_all(engine::post_exception(*segment_, rank_, exhausted_));
            throw *failure_; // as it was posted
        }
    }

    // All below with the lock.

    // outgoing.cpp
    void open_outbox(int dest);
    void begin(Send &send);
    void begin_to_self(Send &send);
    bool announce(Peer &to, Send &send);
    void answer(int dest, transport::Frame::Kind kind, std::uint64_t id, std::uint64_t bytes = 0,
                std::uint64_t where = 0);
    bool flush(int dest);
    bool flush_all();
    void list(int dest);
    void wake(int rank);

    // incoming.cpp
    void begin(Receive &receive);
    bool drain_all();
    bool drain(int source);
    void arrive(int source, const transport::Frame &frame, const transport::Payload &payload);
    bool accept(Receive &receive, int source, const Envelope &envelope, std::size_t bytes);
    void deliver(Receive &receive, int source, const transport::Frame &frame,
                 const transport::Payload &payload);
    void deliver_own(Receive &receive, Send &send);
    bool fetch(Receive &receive, int source, const transport::Frame &frame, std::size_t wanted);
    void announced();
    Arrived *fresh();
    void recycle(Arrived *arrived) noexcept;

    // messenger.cpp
    bool advance();
    void settle();
    void check_alive();
    void end(Transfer &transfer);
    void abandon_all(const Error &error);
    [[noreturn]] void lose(std::initializer_list<Transfer *> transfers);
    void leave_behind(Transfer &transfer);
    std::optional<Taken> find(int source, int tag);
    std::string describe(const Transfer &transfer) const;
    std::string progress_of(const Transfer &transfer) const;

    // These without.
    bool something_to_do() const;
    // diagnosis.cpp
    void publish_wait_state(transport::WaitState::Kind kind, int awaited);
    static int awaited_by(const Transfer &transfer);
    enum class By { waits, tests };
    void look_into(const Transfer &transfer, std::uint64_t quiet_ns, By by = By::waits);
    void look_for_death(int source, int tag);
    void look_for(int awaited, const std::string &words, std::uint64_t quiet_ns,
                  const std::function<bool()> &over);
    [[noreturn]] void fail(Status status, const std::string &message);
    std::string from(int source, int tag) const;

    const std::shared_ptr<transport::Segment> segment_;
    const int rank_;
    const transport::Heap &heap_;
    const engine::EngineOptions options_;
    const std::function<void(std::uint64_t)> judge_;
    const Error exhausted_;

    std::mutex mutex_;
    std::atomic<bool> output_{false}; // some peer has output
    bool others_may_wait_ = false;    // for what has happened since advance() began
    std::uint64_t probed_ = 0;        // when somebody who only probes looked for what is wrong
    int probing_ = 0;                 // threads that wait for a message to arrive
    std::size_t own_stored_ = 0;      // eager bytes from this rank to itself
    std::optional<Error> failure_;    // everything has ended by it
    std::vector<Peer> peers_;
    std::vector<int> listed_; // peers with output
    std::unique_ptr<Matcher> matcher_ = make_list();
    std::uint64_t next_id_ = 1;
    std::unordered_map<std::uint64_t, Send *> unanswered_;
    std::unordered_map<std::uint64_t, Receive *> coming_;
    std::vector<Arrived *> idle_;    // to be used again; room for all that are kept
    ProgressThread progress_thread_; // last: its thread uses all of the above
};

} // namespace stretto::p2p
