// SPDX-License-Identifier: BSD-3-Clause
// The event set: by it a rank learns that data has arrived from other hosts, or that there is room
// to send again.  Links and their delay are its event sources.  A rank polls the set while it is
// awake, and sleeps on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/epoll.h>
#include <vector>

#include "base/descriptor.hpp"

namespace stretto::transport {

class EventSource {
public:
    // How a source reports events.
    enum class Reports : std::uint8_t {
        by_descriptors, // one of its descriptors is ready: sockets, timers
        when_armed,     // the rank polls the source; by a descriptor once arm() has returned true:
                        // completion queues
        in_memory,      // the rank polls the source, and nothing wakes it if it sleeps
    };

    virtual ~EventSource() = default;
    virtual Reports reports() const = 0;
    // For when_armed: makes the next event raise a descriptor of the source.  False: there may be
    // an event already, so the rank polls again before it sleeps.  Called with the lock that guards
    // the source.
    virtual bool arm() { return true; }
};

class EventSet {
public:
    using Id = std::uint32_t; // of a source

    // Descriptors that are ready.  If there are too many, the rest is found at the next look.
    class Ready {
    public:
        // body(tag, readable, writable) for each of this source; a descriptor that is broken is
        // readable.
        template<class Body>
        void of(Id source, Body &&body) const {
            for (const epoll_event &event : std::span(storage_).first(count_))
                if (event.data.u64 >> kTagBits == source)
                    body(event.data.u64 & kTagMask,
                         (event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0,
                         (event.events & EPOLLOUT) != 0);
        }
        // By the bell.
        bool woken() const { return woken_; }

    private:
        friend class EventSet;
        std::array<epoll_event, 32> storage_;
        std::size_t count_ = 0;
        bool woken_ = false;
    };

    EventSet();
    // Once a source is gone, no thread may poll the set, sleep on it or arm it.
    Id add(EventSource &source);
    // The bell: a descriptor that ends the sleep of one thread.  No look reports it; otherwise a
    // thread that took its event would leave the sleeper asleep.
    void wake_by(int fd) { bell_ = fd; }
    // Adds a descriptor of a source; `tag` identifies it in events.
    void watch(Id source, int fd, std::uint64_t tag = 0);
    void unwatch(int fd);
    // Whether the source also gets events when the descriptor is writable.
    void set_writing(Id source, int fd, std::uint64_t tag, bool writing);

    // Whether any source has to be armed before a sleep.
    bool arms() const { return !armed_.empty(); }
    // Arms all of them, with the lock that guards them.  False: the rank polls again before it
    // sleeps.
    bool arm() const;

    // Events that are ready now, or within at most this many nanoseconds.  Any number of threads
    // may call it.  Sources that report in memory are not included: a rank that sleeps polls them
    // after each nap, whose length depends on how long it has slept so far.
    void look(Ready &ready) const;
    enum class Until : std::uint8_t { event, event_or_bell };
    void sleep(Ready &ready, Until until, std::uint64_t most_ns, std::uint64_t slept_ns) const;

private:
    static constexpr unsigned kTagBits = 48;
    static constexpr std::uint64_t kTagMask = (std::uint64_t{1} << kTagBits) - 1;

    void fill(Ready &ready) const;

    Descriptor poll_;
    int bell_ = -1;
    Id next_ = 0;
    int by_descriptors_ = 0, in_memory_ = 0; // sources of this kind
    std::vector<EventSource *> armed_;       // Reports::when_armed
};

} // namespace stretto::transport
