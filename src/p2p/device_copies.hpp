// SPDX-License-Identifier: BSD-3-Clause
// Messages from and to memory that the CPU does not copy: what an executor copies for them.
//
// A short message, and one whose data this rank reads where they are, in the shared heap or in
// memory of a device that it reaches, is one copy.  Any other one goes through a ring of host
// memory, slot by slot, so the executor copies one slot while the pieces of others travel:
//
//     sender:    device --copies--> |  slot  |  slot  |  slot  |  slot  | --pieces--> mailbox
//     receiver:  mailbox --pieces--> |  slot  |  slot  |  slot  |  slot  | --copies--> device
//
// A slot is used again when its bytes have left it.  The receiver grants as many bytes as its ring
// has room for, and more when slots are free.  So it has room for every piece that comes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/executor.hpp"

namespace stretto::p2p {

inline constexpr std::size_t kPieceBytes = 16256; // of a granted message; four fit into a mailbox

// The ring of one message.  Slot k holds the bytes of the message from k * kSlotBytes on, so
// pieces never cross the end of the ring.
class StagingRing {
public:
    static constexpr std::size_t kSlotBytes = 4 * kPieceBytes, kSlots = 4;
    static constexpr std::size_t kRingBytes = kSlots * kSlotBytes;

    explicit StagingRing(engine::Executor &executor);
    ~StagingRing();
    StagingRing(const StagingRing &) = delete;
    StagingRing &operator=(const StagingRing &) = delete;

    engine::Executor &executor() const { return executor_; }
    // Where the byte at this position of the message is.
    std::byte *at(std::size_t position) const { return memory_ + position % kRingBytes; }

    // Begins the copy of the next slot: of `bytes` between at(issued()) and `memory`.
    enum class Way : std::uint8_t { in, out };
    void issue(Way way, void *memory, std::size_t bytes, const std::shared_ptr<engine::Bell> &bell);
    // Takes note that the copy of the oldest such slot has ended; false if it has not.  Throws its
    // error.
    bool collect();
    std::size_t issued() const { return issued_; } // bytes of the message
    std::size_t ended() const { return ended_; }   // of them, copied
    bool pending() const;                          // a copy has not ended

    // The ring gets another message.  No copy is pending.
    void reset() { issued_ = ended_ = 0; }

private:
    engine::Completion &copy_of(std::size_t position) {
        return copies_[position / kSlotBytes % kSlots];
    }

    engine::Executor &executor_;
    std::byte *const memory_;
    std::array<engine::Completion, kSlots> copies_;
    std::size_t issued_ = 0, ended_ = 0;
};

// The rings of all messages of one direction.  A message keeps its ring to its end, so others may
// have to wait.  A message that is sent waits for no receiver that has no ring: so it ends, and
// those that wait get their turn.
class StagingRings {
public:
    static constexpr std::size_t kMostRings = 16; // 4 MiB

    // Makes the first ring of an executor, if there is none: later its driver may not be asked.
    void prepare(engine::Executor &executor);
    // Null if no ring is free.
    StagingRing *take(engine::Executor &executor);
    void give_back(StagingRing &ring) noexcept;

private:
    std::vector<std::unique_ptr<StagingRing>> rings_;
    std::vector<StagingRing *> free_; // has room for all
};

// What belongs to a message whose buffer on this rank is in such memory.
struct DeviceCopies {
    explicit DeviceCopies(engine::Executor &by) : executor(by) {}

    engine::Executor &executor;
    // Of a send: what the receiver reads it by, if it can.
    std::optional<transport::DevicePiece> piece;
    // A message that is copied at once; `aside`: the bytes of a short one.
    bool whole = false;
    engine::Completion copy;
    std::vector<std::byte> aside;
    // A longer one; null: it has no ring yet.
    StagingRing *ring = nullptr;
    // Of a receive: its bytes, the message that is to be answered (0: none), and the receive's id.
    std::size_t wanted = 0;
    std::uint64_t answers = 0, id = 0;

    bool pending() const { return whole ? copy.pending() : ring != nullptr && ring->pending(); }
};

// Begins a copy between two buffers; the completion ends when it is done.
void issue_copy(engine::Executor &executor, engine::Completion &completion, void *to,
                const void *from, std::size_t bytes, const std::shared_ptr<engine::Bell> &bell);

} // namespace stretto::p2p
