// SPDX-License-Identifier: BSD-3-Clause
// The interface by which a rank reaches the ranks of other hosts.
//
// The model is shared memory, with a mirror of it between hosts.  A rank writes cells of its
// stream, its progress and its mailboxes for others to read; all of that is copied to the same
// place in the memory of its readers.  So a reader need not know where the writer is; a writer
// reports here what it has written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/memory_user.hpp"
#include "transport/shm/cell.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::transport {

// A published cell that is sent to one of its readers.  Its payload must not change until the
// reader reports that it has taken it.
struct CellSend {
    std::uint64_t position = 0; // in the stream of cells
    std::uint64_t flag = 0;
    Location where; // as in the cell
    const std::byte *payload = nullptr;
    std::size_t length = 0;
    std::uint64_t taken = 0; // the reader's progress when it has taken the cell
    bool more = false;       // the rest of its message follows: it may wait for that
    bool mark = false;       // the reader reports without being asked when it has taken this
};

class RemotePeers {
public:
    virtual ~RemotePeers() = default;

    // The location of a rank: "node7, 10.0.0.7".
    virtual std::string place(int rank) const = 0;
    // Short cells are sent by the next push(): several to one rank take no longer than one.
    virtual void send_cell(int rank, const CellSend &cell) = 0;
    // Whether sends_from() may ever be true: if not, it is not asked for each cell.
    virtual bool sends_buffers() const { return false; }
    // Whether such cells can be sent to `rank` straight from where this payload lies, in a caller's
    // buffer, without a copy.  It then stays as it is until the reader has taken the cell.
    virtual bool sends_from(int /*rank*/, const std::byte * /*payload*/, std::size_t /*bytes*/) {
        return false;
    }
    virtual void push() = 0;
    // Also sends cells of incomplete messages.  A rank that waits for room, or waits long for
    // anything, may be unable to complete them.
    virtual void push_parts() = 0;
    // This rank waits for room, or for memory of its caller: asks `rank` to report when its
    // progress is this.  For room, a mark that will be reported is awaited first.
    enum class Need { room, buffer };
    virtual void ask(int rank, std::uint64_t progress, Need need) = 0;
    // This rank leaves its calls, perhaps for long.  `taken`: for every rank's stream of cells, the
    // position up to which this rank has taken its cells.  Sends it to writers that do not have it
    // yet.
    virtual void report_taken(const std::uint64_t *taken) = 0;
    // After this long a wait is investigated, which means asking all other ranks.
    virtual std::uint64_t suspicious_ns() const = 0;
    // Called by a rank that waits long: the lines of `rank` are brought up to date soon.
    virtual void inquire(int rank) = 0;
    // This rank's progress has changed: reports it to the ranks that have asked for it.  Pushes.
    virtual void report_progress() = 0;
    // This rank has written to its mailbox to `rank`, or read that of `rank`.
    virtual void ring(int rank) = 0;
    // This rank has opened its mailbox to `rank`.
    virtual void open_mailbox(int rank) = 0;
    // Sends and receives as much as possible now; true if anything was received.  Then sleeping
    // threads of this rank are woken, except the caller if it has announced that it will sleep
    // (doorbell.hpp).
    enum class Caller { awake, announced };
    virtual bool make_progress(Caller caller = Caller::awake) = 0;
    // Sleeps until data arrives from another host, the rank is woken, or the time is over; returns
    // at once if its doorbell shows another ticket.  False if another thread of the rank sleeps
    // here already: that thread will ring this one's doorbell.
    virtual bool sleep(std::uint32_t ticket, std::uint64_t timeout_ns) = 0;
    // Ends the sleep of a rank of this host.
    virtual void wake(int rank) = 0;
    // Until it is removed, `user` hears of the memory into which this rank receives payloads, now
    // and whenever there is more.  Short payloads, and those that ranks of other hosts write by
    // themselves, lie elsewhere.  Throws std::bad_alloc.
    virtual void add_memory_user(MemoryUser &user) = 0;
    virtual void remove_memory_user(MemoryUser &user) noexcept = 0;
    // The failure of the communicator is posted on this host: reports it to the others.
    virtual void failed() noexcept = 0;
};

// For callers that test without waiting.
inline void make_progress(const Segment &segment) {
    if (RemotePeers *remote_peers = segment.remote_peers())
        (void)remote_peers->make_progress();
}

} // namespace stretto::transport
