// SPDX-License-Identifier: BSD-3-Clause
// How frames travel from one rank to another: a ring of bytes with one writer and one reader.
//
//     | writer's line | reader's line | ring of 1,022 lines |
//
// Positions grow for ever; the byte at position x lies at x modulo the ring's size.  A frame begins
// on a line, so its header is never cut; its payload may be cut at the end of the ring.  The writer
// writes a frame before it advances `written`, and the reader reads it before it advances `read`.
// No other order is needed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/memory.hpp"
#include "transport/shm/segment.hpp"
#include "transport/wait/doorbell.hpp"

namespace stretto::transport {

struct Frame {
    enum Kind : std::uint32_t {
        message, // a whole message
        request, // RTS: a message that waits at the sender; with a DevicePiece, or no payload
        grant,   // CTS: the receiver wants the next `bytes` of message `id`, as data for `where`;
                 // `context` is 0 if these are the last ones that it wants
        data,    // a piece of a message that has its CTS, for `id`
        taken,   // FIN: the receiver has, or does not want, all of message `id`
    };
    std::uint32_t kind = message;
    std::uint32_t context = 0;
    std::int32_t tag = 0;
    std::uint32_t payload = 0; // bytes that follow
    std::uint64_t bytes = 0;   // of the whole message; grant: the next wanted bytes
    std::uint64_t id = 0;      // identifies the request in the answer; 0: no answer
    std::uint64_t where = 0;   // request: 1 + offset in the sender's heap window, or 0
};
static_assert(sizeof(Frame) == 40);

struct MailboxHead {
    alignas(kLineBytes) std::atomic<std::uint64_t> written;
    std::atomic<std::uint32_t> full; // the writer waits for room
    alignas(kLineBytes) std::atomic<std::uint64_t> read;
    std::atomic<std::uint64_t> released; // bytes of frames whose payload the reader has released
};

inline constexpr std::size_t kMailRingBytes = kMailboxBytes - sizeof(MailboxHead);
static_assert(kMailRingBytes % kLineBytes == 0);

// The room of a frame in the ring.
constexpr std::size_t frame_bytes(std::size_t payload) {
    return round_up(sizeof(Frame) + payload, kLineBytes);
}

// The side of the writer.
class Outbox {
public:
    // Takes the memory of the mailbox; throws Error(memory) if there is none.
    void open(Segment &segment, int from, int to) {
        segment.open_mailbox(from, to);
        std::byte *box = segment.mailbox(from, to);
        head_ = reinterpret_cast<MailboxHead *>(box);
        ring_ = box + sizeof(MailboxHead);
        pending_ = &segment.pending(to)[from / 64];
        bit_ = 1ull << (from % 64);
    }
    bool is_open() const { return head_ != nullptr; }

    // `payload` may be null if there is none.  False if there is no room now; then the writer is
    // woken when there is room.
    bool put(const Frame &frame, const std::byte *payload) {
        const std::size_t size = frame_bytes(frame.payload);
        if (room() < size) {
            head_->full.store(1, std::memory_order_relaxed);
            full_ = true;
            return false;
        }
        if (full_)
            head_->full.store(0, std::memory_order_relaxed);
        full_ = false;
        std::size_t at = written_ % kMailRingBytes;
        std::memcpy(ring_ + at, &frame, sizeof(frame));
        at += sizeof(frame);
        if (payload != nullptr) {
            const std::size_t first = std::min<std::size_t>(frame.payload, kMailRingBytes - at);
            std::memcpy(ring_ + at, payload, first);
            std::memcpy(ring_, payload + first, frame.payload - first);
        }
        written_ += size;
        head_->written.store(written_, std::memory_order_release);
        // The reader clears the bit first and then looks for frames, so it overlooks none.
        pending_->fetch_or(bit_, std::memory_order_seq_cst);
        return true;
    }

    // Bytes that frames can take now.
    std::size_t room() {
        if (written_ - read_ > kMailRingBytes / 2) // an old answer is not enough
            read_ = head_->read.load(std::memory_order_acquire);
        return kMailRingBytes - static_cast<std::size_t>(written_ - read_);
    }
    std::uint64_t released() const { return head_->released.load(std::memory_order_acquire); }

private:
    MailboxHead *head_ = nullptr;
    std::byte *ring_ = nullptr;
    std::atomic<std::uint64_t> *pending_ = nullptr;
    std::uint64_t bit_ = 0;
    std::uint64_t written_ = 0, read_ = 0;
    bool full_ = false;
};

// A payload in the ring: one piece, or two.
struct Payload {
    const std::byte *first = nullptr, *second = nullptr;
    std::size_t first_bytes = 0, second_bytes = 0;

    // The first `bytes` of it.
    void copy(std::byte *into, std::size_t bytes) const {
        const std::size_t lead = std::min(bytes, first_bytes);
        if (lead != 0)
            std::memcpy(into, first, lead);
        if (bytes != lead)
            std::memcpy(into + lead, second, std::min(bytes - lead, second_bytes));
    }
};

// The side of the reader.  The writer opens the mailbox first: before that there is no memory.
class Inbox {
public:
    void open(Segment &segment, int from, int to) {
        std::byte *box = segment.mailbox(from, to);
        head_ = reinterpret_cast<MailboxHead *>(box);
        ring_ = box + sizeof(MailboxHead);
    }
    bool is_open() const { return head_ != nullptr; }

    // The oldest frame that was not taken yet; false if there is none.
    bool look(Frame &frame, Payload &payload) {
        if (read_ == written_) {
            written_ = head_->written.load(std::memory_order_acquire);
            if (read_ == written_)
                return false;
        }
        std::size_t at = read_ % kMailRingBytes;
        std::memcpy(&frame, ring_ + at, sizeof(frame));
        at += sizeof(frame);
        payload.first = ring_ + at;
        payload.second = ring_;
        payload.first_bytes = std::min<std::size_t>(frame.payload, kMailRingBytes - at);
        payload.second_bytes = frame.payload - payload.first_bytes;
        return true;
    }
    // The reader is done with the frame; the writer may use its room again.
    void take(const Frame &frame) {
        read_ += frame_bytes(frame.payload);
        head_->read.store(read_, std::memory_order_release);
    }
    // Whether the writer waits for room; called after take(), as the writer may sleep.
    bool awaited() const { return head_->full.load(std::memory_order_relaxed) != 0; }
    // The reader has released this many bytes of payload frames.
    void release(std::size_t bytes) {
        released_ += bytes;
        head_->released.store(released_, std::memory_order_release);
    }

private:
    MailboxHead *head_ = nullptr;
    std::byte *ring_ = nullptr;
    std::uint64_t read_ = 0, written_ = 0, released_ = 0;
};

} // namespace stretto::transport
