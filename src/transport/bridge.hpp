// SPDX-License-Identifier: BSD-3-Clause
// A rank's way to the ranks of other hosts.
//
// The model is shared memory, and between hosts a mirror of it: what a rank writes for others to
// read (cells of its stream, its progress, its mailboxes) is brought to the same place in the
// memory of those who read it.  So whoever reads need not know where a rank is; whoever writes
// says so here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/segment.hpp"

namespace stretto::transport {

// A published cell on its way to one of its readers.  Its payload stays as it is until the reader
// reports that it took it.
struct CellSend {
    std::uint64_t position = 0; // in the stream of cells
    std::uint64_t flag = 0;
    std::uint64_t where = 0; // as in the cell
    const std::byte *payload = nullptr;
    std::size_t length = 0;
    std::uint64_t taken = 0; // the reader's progress when it has taken the cell
    bool more = false;       // the rest of its message follows: until then it need not go
    bool mark = false;       // the reader is to tell, unasked, when it has taken this
};

class Bridge {
public:
    virtual ~Bridge() = default;

    // Where a rank is: "node7, 10.0.0.7".
    virtual std::string place(int rank) const = 0;
    // Short cells go with the next push(): several to one rank take no longer than one.
    virtual void ship(int rank, const CellSend &cell) = 0;
    virtual void push() = 0;
    // The cells of messages that are not complete go as well: whoever waits for room completes
    // none, nor, perhaps, who waits long for anything.
    virtual void push_parts() = 0;
    // We wait for room: `rank` is to tell when its progress is this.
    virtual void ask(int rank, std::uint64_t progress) = 0;
    // We take part in nothing, perhaps for long.  `taken` is, of every rank's stream of cells, the
    // position up to which we have taken what was for us: those who do not know hear of it.
    virtual void tell_writers(const std::uint64_t *taken) = 0;
    // How long a wait is that is looked into: to look into it is to ask all others.
    virtual std::uint64_t suspicious_ns() const = 0;
    // Whoever waits long wants to know what `rank` is at: its lines are brought up to date, soon.
    virtual void inquire(int rank) = 0;
    // Something that we write for `rank` has changed: our progress, a mailbox.
    virtual void ring(int rank) = 0;
    // From now on there is a mailbox of ours for `rank`.
    virtual void open_mailbox(int rank) = 0;
    // Sends what can be sent and takes in what has come; true if anything came.  Then other threads
    // of the rank that sleep are rung for: the caller is not, if it has announced that it will
    // sleep (doorbell.hpp).
    enum class Caller { awake, announced };
    virtual bool carry(Caller caller = Caller::awake) = 0;
    // Sleeps until something comes from another host, the rank is woken, or the time is over,
    // unless its doorbell shows another ticket.  False if another thread of the rank does so
    // already: then that one wakes this one's doorbell.
    virtual bool sleep(std::uint32_t ticket, std::uint64_t timeout_ns) = 0;
    // Ends the sleep of a rank of this host.
    virtual void wake(int rank) = 0;
    // The failure of the communicator is posted on this host: tells the others.
    virtual void failed() noexcept = 0;
};

// For those who look without waiting.
inline void carry(const Segment &segment) {
    if (Bridge *bridge = segment.bridge())
        (void)bridge->carry();
}

} // namespace stretto::transport
