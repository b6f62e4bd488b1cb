// SPDX-License-Identifier: BSD-3-Clause
// Streams of the program that wait for the end of a call (stream_wait.hpp).
//
// If the driver is asked for pinned memory, for a registration, for a stream or for memory of
// another process, it may wait until the device has done all that it was given, and other threads
// then wait for the driver: also the thread that would let the stream go on.  So the driver is
// asked for none of these while a stream waits.
//
// Nor does the host wait for CUDA's legacy default stream while that one may wait for a call.  Rank
// 0 may order a call by that stream and then send a message, and rank 1 receive the message before
// it begins the call: if the send waited for the stream, neither would ever end.
//
// The driver lets no thread begin a kernel or a copy while another one is in cudaFree, or in a
// synchronous copy, and waits there for the device (bench/gpu).  If the device waits for a call
// that needs the kernel, the process stands still, and the thread that would notice is the one that
// waits for the driver.  So another thread watches while streams wait: it tells the other ranks,
// warns, and in the end fails the communicator and lets the streams go on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/executor.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::device {

// The rank whose call a stream waits for, and how long it waits if the driver keeps this process
// from the device.
struct Patience {
    std::shared_ptr<transport::Segment> segment; // of the communicator
    int rank = 0;
    std::uint64_t limit_ns = 0; // 0: for ever

    std::atomic<std::uint64_t> &wait_state() const { return segment->lines(rank).wait_state; }
    std::string name() const { return segment->names().of(rank); }
    bool ends(std::uint64_t kept_ns) const {
        return (limit_ns != 0 && kept_ns >= limit_ns) || segment->failed();
    }
};

// A stream that waits for the end of one call.
class WaitingStream {
public:
    explicit WaitingStream(Patience patience) : patience_(std::move(patience)) {}
    WaitingStream(const WaitingStream &) = delete;
    WaitingStream &operator=(const WaitingStream &) = delete;

protected:
    // Why the stream goes on: the call has ended, or the communicator has failed.
    enum class Why : std::uint8_t { ended, given_up };

    ~WaitingStream() = default;
    const Patience &patience() const { return patience_; }

private:
    friend class WaitingStreams;
    virtual void go_on(Why why) noexcept = 0; // once

    const Patience patience_;
    std::list<WaitingStream *> place_{this};                         // empty while the stream waits
    const std::list<WaitingStream *>::iterator at_ = place_.begin(); // here, or among those that do
    bool holds_default_ = false;
    std::uint64_t ending_since_ns_ = 0; // 0: its patience has not ended
};

class WaitingStreams {
public:
    // A stream is about to wait.  If a thread asks the driver now, this waits until it has done so.
    // `holds_default`: the legacy default stream waits for that stream, or is it.  The first time,
    // starts a thread.  Throws Error.
    void began(WaitingStream &stream, bool holds_default);
    // The call of the stream has ended; the stream goes on, unless it does already.
    void ended(WaitingStream &stream) noexcept;
    // Whether one waits that holds up the legacy default stream, of any context.
    bool hold_default() const { return holding_default_.load(std::memory_order_acquire) != 0; }
    // Whether one waits at the moment.
    bool any() {
        const std::lock_guard lock(mutex_);
        return !waiting_.empty();
    }
    // Asks, unless a stream waits.  No stream begins to wait meanwhile.
    template<class Ask>
    void ask_if_none(Ask &&ask) {
        const std::lock_guard lock(mutex_);
        if (waiting_.empty())
            std::forward<Ask>(ask)();
    }

    // As long as one lives, its thread gives the device work, for which it may have to wait for the
    // driver.
    class Giving {
    public:
        explicit Giving(WaitingStreams &streams);
        ~Giving();
        Giving(const Giving &) = delete;
        Giving &operator=(const Giving &) = delete;

    private:
        friend class WaitingStreams;
        WaitingStreams &streams_;
        const std::uint64_t since_ns_;
    };

private:
    void watch();
    void look();
    std::uint64_t kept_ns();
    struct Told;
    Told &tell(const Patience &patience);
    void take_back();
    static void fail(Told &told, std::uint64_t kept_ns);
    void go_on(WaitingStream &stream, WaitingStream::Why why) noexcept;

    std::mutex mutex_;
    std::list<WaitingStream *> waiting_;
    std::atomic<std::size_t> holding_default_{0}; // of these
    std::condition_variable awake_;
    enum class Watch : std::uint8_t { none, looks, sleeps } watch_ = Watch::none;
    bool warned_ = false;
    struct Told {
        Patience patience;
        bool failed; // its communicator, by this
    };
    std::vector<Told> told_; // ranks of which the others know that the driver keeps them
    std::mutex giving_mutex_;
    std::vector<const Giving *> giving_; // the oldest first
};

} // namespace stretto::device
