// SPDX-License-Identifier: BSD-3-Clause
// How a rank learns that something has come from other hosts, or that there is room to send again.
//
// Links, their delay and the rank's doorbell are event sources of one event set.  A rank looks at
// the set while it is awake, and sleeps on it.
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
    // How a rank learns that the source has events.
    enum class Tells : std::uint8_t {
        by_descriptors, // one of its descriptors is ready: sockets, timers
        when_armed,     // it looks at the source; by a descriptor once arm() has returned true:
                        // completion queues
        in_memory,      // it looks at the source, and nothing wakes a rank that sleeps
    };

    virtual ~EventSource() = default;
    virtual Tells tells() const = 0;
    // Tells::when_armed: the next event makes a descriptor of the source ready.  False: an event is
    // there already, or may be, so the rank looks again before it sleeps.  With the lock that
    // guards the source.
    virtual bool arm() { return true; }
};

class EventSet {
public:
    using Id = std::uint32_t; // of a source

    // Descriptors that are ready.  What does not fit is ready in the next look.
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
        // By wake_by().
        bool woken() const {
            bool found = false;
            of(kWaker, [&](std::uint64_t, bool, bool) { found = true; });
            return found;
        }

    private:
        friend class EventSet;
        std::array<epoll_event, 32> storage_;
        std::size_t count_ = 0;
    };

    EventSet();
    // Once a source is gone, nobody looks at the set, sleeps on it or arms it.
    Id add(EventSource &source);
    // A descriptor that ends sleeps and does nothing else, so that looks need not see it.
    void wake_by(int fd) { watch(kWaker, fd); }
    // A descriptor of a source, which is told by `tag` that it is readable.
    void watch(Id source, int fd, std::uint64_t tag = 0);
    void unwatch(int fd);
    // Whether the source is told of room to write as well.
    void set_writing(Id source, int fd, std::uint64_t tag, bool writing);

    // Whether any source has to be armed before a sleep.
    bool arms() const { return !armed_.empty(); }
    // Arms them all, with the lock that guards them.  False: a rank looks again before it sleeps.
    bool arm() const;

    // What is ready now, and within so many nanoseconds at most.  By any number of threads. Sources
    // that tell in memory are not in it; whoever sleeps looks at them after each nap, whose length
    // is chosen by how long it has slept so far.
    void look(Ready &ready) const;
    void sleep(Ready &ready, std::uint64_t most_ns, std::uint64_t slept_ns) const;

private:
    static constexpr Id kWaker = 0;
    static constexpr unsigned kTagBits = 48;
    static constexpr std::uint64_t kTagMask = (std::uint64_t{1} << kTagBits) - 1;

    void wait(Ready &ready, int milliseconds) const;

    Descriptor poll_;
    Id next_ = kWaker + 1;
    int by_descriptors_ = 0, in_memory_ = 0; // sources that tell so
    std::vector<EventSource *> armed_;       // Tells::when_armed
};

} // namespace stretto::transport
