// SPDX-License-Identifier: BSD-3-Clause
// Frames on their way out.  RemotePayloads stay where they are: what is written is taken from
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>
#include <vector>

#include "base/inline_vector.hpp"
#include "net/frame.hpp"

namespace stretto::net {

class FrameWriter {
public:
    // Gives the frame's number: 1, 2, ...  Its length is that of the pieces together, which must
    // stay as they are until frames_sent() has reached the number.
    std::uint64_t queue(Frame frame, std::span<const iovec> payload);
    std::uint64_t frames_sent() const { return first_; }
    bool empty() const { return first_ == next_; }
    std::size_t queued_bytes() const { return queued_bytes_; }

    // What is to be written next, of as many frames as go into `pieces`; gives how many pieces.
    std::size_t gather(std::span<iovec> pieces) const;
    // So many bytes of that have been written.
    void written(std::size_t bytes);

private:
    struct Queued {
        FrameHeader header;
        InlineVector<iovec, 3> payload;
        std::size_t bytes = 0; // header and payload
    };
    Queued &at(std::uint64_t number) { return ring_[number & (ring_.size() - 1)]; }
    const Queued &at(std::uint64_t number) const { return ring_[number & (ring_.size() - 1)]; }
    void grow();

    // A ring whose size is a power of two: frame number n lies at n - 1.  It keeps its memory.
    std::vector<Queued> ring_ = std::vector<Queued>(16);
    std::uint64_t first_ = 0, next_ = 0; // of the frames, from 0; [first_, next_) are queued
    std::size_t begun_ = 0;              // bytes of the first that are written
    std::size_t queued_bytes_ = 0;       // still to be written
};

} // namespace stretto::net
