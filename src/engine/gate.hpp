// SPDX-License-Identifier: BSD-3-Clause
// The place of a call in an order that the engine does not know, such as that of a stream.
#pragma once

#include <cstdint>

namespace stretto::engine {

class Executor;

// A call that has a gate is announced at once, so that all ranks number their calls alike.  It
// reads and writes no memory of the caller's before the gate is open.  The queue holds its lock.
class Gate {
public:
    virtual ~Gate() = default;
    // The executor whose device knows the order; null if there is none.  The engine gives it the
    // memory that it uses again and again (executor.hpp) before close().
    virtual Executor *executor() { return nullptr; }
    // The call is about to be announced: from now on what comes after it in the order waits until
    // ended().  Throws Error, and then nothing waits.
    virtual void close() = 0;
    // Names the order; null: it is not known.
    virtual const void *order() const { return nullptr; }
    // Once it is closed, its place there: gates of one order open one after the other, by growing
    // numbers.
    virtual std::uint64_t place() const { return 0; }
    // Once it is closed, whether what comes after it in the order waits for ended().
    virtual bool holds() const { return true; }
    // Whether the call may begin.  Asked again and again until it may.  Throws Error, which is the
    // call's.
    virtual bool open() = 0;
    // Throws Error, which is the call's, if what comes after the call has gone on without its end.
    virtual void require_wait() const {}
    // The call has ended, or was abandoned.  Nothing touches its memory any more, unless the copies
    // of an abandoned one end only when the order goes on.
    virtual void ended() noexcept = 0;
};

} // namespace stretto::engine
