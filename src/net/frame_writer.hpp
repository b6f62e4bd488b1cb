// SPDX-License-Identifier: BSD-3-Clause
// Writes frames.  Payloads are not copied: they are sent from where they are.
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
    // Queues a frame and returns its number: 1, 2, ...  Its length is that of all pieces together,
    // whose memory must not change until frames_sent() has reached the number.
    std::uint64_t queue(Frame frame, std::span<const iovec> payload);
    std::uint64_t frames_sent() const { return first_; }
    bool empty() const { return first_ == next_; }
    std::size_t queued_bytes() const { return queued_bytes_; }

    // Fills `pieces` with the data to write next, of as many frames as fit; returns the number of
    // pieces.
    std::size_t gather(std::span<iovec> pieces) const;
    // This many bytes were written.
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

    // A ring whose size is a power of two: frame n is at n - 1.  It keeps its memory.
    std::vector<Queued> ring_ = std::vector<Queued>(16);
    std::uint64_t first_ = 0, next_ = 0; // frames counted from 0; [first_, next_) are queued
    std::size_t begun_ = 0;              // bytes of the first that are written
    std::size_t queued_bytes_ = 0;       // still to be written
};

} // namespace stretto::net
