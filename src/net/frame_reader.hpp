// SPDX-License-Identifier: BSD-3-Clause
// Reads frames.  Small frames come together into a buffer of the connection, as many as have
// arrived.  The payload of a large frame is received directly into the memory that the receiver
// names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <sys/uio.h>

#include "net/frame.hpp"

namespace stretto::net {

// The destination of a payload.
struct Destination {
    enum class How {
        whole,  // shown in one piece in the buffer, which must be large enough
        pieces, // shown piece by piece, as it arrives
        memory, // received into `memory`, which has room for all of it
    };
    How how = How::whole;
    std::byte *memory = nullptr;
};

// The receiver of a connection's frames.  Data that it is shown is valid only during the call, and
// is aligned to 16 bytes.
class FrameReceiver {
public:
    virtual ~FrameReceiver() = default;
    // A frame begins.  Called again for the same frame only after it has thrown.
    virtual Destination begin(const Frame &frame) = 0;
    // The bytes from `offset` on.  All pieces except the last are multiples of 64 bytes.
    virtual void piece(const Frame &frame, std::size_t offset, std::span<const std::byte> bytes);
    // The frame is complete.  `payload`: the payload if it is shown in one piece or was received
    // into memory; otherwise empty.
    virtual void end(const Frame &frame, std::span<const std::byte> payload) = 0;
};

class FrameReader {
public:
    static constexpr std::size_t kGrainBytes = 64;

    // Payloads longer than `most` are refused.
    FrameReader(std::size_t most, std::size_t buffer);

    // The memory into which the next data is to be read, in this order; never empty.
    std::span<const iovec> room();
    // This many bytes were read.  Passes frames to the receiver.  Returns "" or what is wrong with
    // them; then no more may follow.  Throws what the receiver throws, and can be called again.
    std::string arrived(std::size_t bytes, FrameReceiver &receiver);

    bool between_frames() const { return !inside_ && begin_ == end_; }
    std::uint64_t frames() const { return frames_; }

private:
    static constexpr std::size_t kAlignmentBytes = 64;
    struct Free {
        void operator()(std::byte *memory) const {
            ::operator delete[](memory, std::align_val_t(kAlignmentBytes));
        }
    };

    std::string start_frame(FrameReceiver &receiver);
    bool give(FrameReceiver &receiver);
    void finish(FrameReceiver &receiver, std::span<const std::byte> payload);
    void move_to(std::size_t begin);
    std::size_t rest() const { return frame_.length - done_; }

    std::size_t most_, capacity_;
    std::unique_ptr<std::byte[], Free> buffer_;
    std::size_t begin_ = 0, end_ = 0; // of data that has arrived and is not passed on yet
    std::array<iovec, 2> room_{};

    bool inside_ = false; // of the current frame, of whose payload `done_` bytes are passed on:
    Frame frame_;
    Destination destination_;
    std::size_t done_ = 0;
    std::uint64_t frames_ = 0;
    bool after_large_ = false; // the last of them
};

} // namespace stretto::net
