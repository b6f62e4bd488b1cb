// SPDX-License-Identifier: BSD-3-Clause
#include "net/frame_writer.hpp"

#include <string>
#include <utility>

#include "base/status.hpp"

namespace stretto::net {

std::uint64_t FrameWriter::queue(Frame frame, std::span<const iovec> payload) {
    std::size_t length = 0;
    for (const iovec &piece : payload)
        length += piece.iov_len;
    if (length > UINT32_MAX)
        throw Error(Status::internal, "a frame of " + std::to_string(length) + " bytes");
    frame.length = static_cast<std::uint32_t>(length);
    if (next_ - first_ == ring_.size())
        grow();
    Queued &queued = at(next_);
    queued.header = write(frame);
    queued.payload.clear();
    queued.payload.insert(payload.begin(), payload.end());
    queued.bytes = kFrameHeaderBytes + length;
    queued_bytes_ += queued.bytes;
    return ++next_;
}

void FrameWriter::grow() {
    std::vector<Queued> larger(2 * ring_.size());
    for (std::uint64_t each = first_; each != next_; ++each)
        larger[each & (larger.size() - 1)] = std::move(at(each));
    ring_ = std::move(larger);
}

std::size_t FrameWriter::gather(std::span<iovec> pieces) const {
    std::size_t count = 0;
    std::size_t skip = begun_;
    const auto add = [&](const void *data, std::size_t size) {
        if (skip >= size) {
            skip -= size;
            return true;
        }
        if (count == pieces.size())
            return false;
        // sendmsg(2) only reads the data, but its pointer is not to const.
        auto *const from = static_cast<std::byte *>(const_cast<void *>(data));
        pieces[count++] = {from + skip, size - skip};
        skip = 0;
        return true;
    };
    for (std::uint64_t each = first_; each != next_; ++each) {
        const Queued &queued = at(each);
        if (!add(queued.header.data(), queued.header.size()))
            return count;
        for (const iovec &piece : queued.payload)
            if (!add(piece.iov_base, piece.iov_len))
                return count;
    }
    return count;
}

void FrameWriter::written(std::size_t bytes) {
    queued_bytes_ -= bytes;
    begun_ += bytes;
    while (first_ != next_ && begun_ >= at(first_).bytes) {
        begun_ -= at(first_).bytes;
        ++first_;
    }
}

} // namespace stretto::net
