// SPDX-License-Identifier: BSD-3-Clause
// Frames on their way in.  Small ones come together, as many as there are, into a buffer of the
// connection; the payload of a large one goes right to where its user wants it.
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

// Where a payload goes.
struct Landing {
    enum class How {
        whole,  // it is shown in one piece where it lies in the buffer; at most as long as that
        pieces, // it is shown piece by piece, as it comes
        memory, // it is put at `memory`, which has room for all of it
    };
    How how = How::whole;
    std::byte *memory = nullptr;
};

// Who gets the frames of a connection.  What is shown is there only during the call, and begins at
// a multiple of 16 bytes in memory.
class FrameReceiver {
public:
    virtual ~FrameReceiver() = default;
    // A frame begins.  Asked again for the same one only if it throws.
    virtual Landing begin(const Frame &frame) = 0;
    // The bytes from `offset` on; but for the last, pieces are multiples of 64 bytes.
    virtual void piece(const Frame &frame, std::size_t offset, std::span<const std::byte> bytes);
    // All of it is there.  `payload`: if it was to be shown whole, or lies in memory; else empty.
    virtual void end(const Frame &frame, std::span<const std::byte> payload) = 0;
};

class FrameReader {
public:
    static constexpr std::size_t kGrainBytes = 64;

    // Longer payloads than `most` are refused.
    FrameReader(std::size_t most, std::size_t buffer);

    // Where what comes next is to be read to, in this order; never without room.
    std::span<const iovec> room();
    // So many bytes of that have come.  Gives frames to the receiver.  "", or what is wrong with
    // them; then no more may follow.  Throws what the receiver throws, and can go on.
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
    std::size_t begin_ = 0, end_ = 0; // of what has come and is not given out yet
    std::array<iovec, 2> room_{};

    bool inside_ = false; // of this frame, of whose payload `done_` bytes are given out:
    Frame frame_;
    Landing landing_;
    std::size_t done_ = 0;
    std::uint64_t frames_ = 0;
    bool after_large_ = false; // the last of them
};

} // namespace stretto::net
