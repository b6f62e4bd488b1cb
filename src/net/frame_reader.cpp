// SPDX-License-Identifier: BSD-3-Clause
#include "net/frame_reader.hpp"

#include <algorithm>
#include <cstring>

#include "base/status.hpp"

namespace stretto::net {

namespace {

constexpr std::size_t kShownAlignBytes = 16; // bytes by which payloads in the buffer are aligned

// After a large payload, at most this much is read together with it: most likely a header.  If
// another large payload follows, all of it except these bytes can be received directly into its
// place.
constexpr std::size_t kBehindBytes = 4096;

} // namespace

void FrameReceiver::piece(const Frame &, std::size_t, std::span<const std::byte>) {
    throw Error(Status::internal, "a frame arrived in pieces without a receiver");
}

FrameReader::FrameReader(std::size_t most, std::size_t buffer)
    : most_(most), capacity_(std::max(buffer, kBehindBytes)),
      buffer_(static_cast<std::byte *>(
          ::operator new[](capacity_, std::align_val_t(kAlignmentBytes)))) {}

std::span<const iovec> FrameReader::room() {
    if (inside_ && destination_.how == Destination::How::memory) {
        // All received data is in its place, so the buffer is empty.
        room_[0] = {destination_.memory + done_, rest()};
        room_[1] = {buffer_.get(), kBehindBytes};
        return room_;
    }
    // The buffer must have room for the whole payload if it is shown in one piece.
    if (begin_ == end_ || capacity_ - end_ < capacity_ / 2)
        move_to(0);
    // After a large payload another large one is likely: only its header should come into the
    // buffer.
    const std::size_t most = begin_ == end_ && after_large_ ? kBehindBytes : capacity_ - end_;
    room_[0] = {buffer_.get() + end_, most};
    return std::span(room_).first(1);
}

void FrameReader::move_to(std::size_t begin) {
    if (begin == begin_)
        return;
    std::memmove(buffer_.get() + begin, buffer_.get() + begin_, end_ - begin_);
    end_ = begin + (end_ - begin_);
    begin_ = begin;
}

std::string FrameReader::arrived(std::size_t bytes, FrameReceiver &receiver) {
    if (inside_ && destination_.how == Destination::How::memory) {
        const std::size_t placed = std::min(bytes, rest());
        done_ += placed;
        begin_ = 0;
        end_ = bytes - placed;
        if (rest() != 0)
            return "";
        finish(receiver, {destination_.memory, frame_.length});
    } else {
        end_ += bytes;
    }
    for (;;) {
        if (!inside_) {
            if (end_ - begin_ < kFrameHeaderBytes)
                return "";
            if (std::string wrong = start_frame(receiver); !wrong.empty())
                return wrong;
        }
        if (!give(receiver))
            return "";
    }
}

std::string FrameReader::start_frame(FrameReceiver &receiver) {
    const auto frame = read_frame(
        std::span<const std::byte, kFrameHeaderBytes>(buffer_.get() + begin_, kFrameHeaderBytes));
    if (!frame)
        return "sent bytes that are no frame";
    if (frame->length > most_)
        return "sent a frame of " + std::to_string(frame->length) + " bytes, where at most " +
               std::to_string(most_) + " are agreed on";
    destination_ = receiver.begin(*frame); // if this throws, the header stays in the buffer
    begin_ += kFrameHeaderBytes;
    frame_ = *frame;
    done_ = 0;
    inside_ = true;
    if (destination_.how == Destination::How::whole && frame_.length > capacity_)
        throw Error(Status::internal,
                    "a frame of " + std::to_string(frame_.length) + " bytes is to be shown whole");
    // There is room, where the header was.
    if (destination_.how != Destination::How::memory)
        move_to(begin_ - begin_ % kShownAlignBytes);
    return "";
}

// Gives out the received part of the current frame; true if that completes it.
bool FrameReader::give(FrameReceiver &receiver) {
    const std::span<const std::byte> here(buffer_.get() + begin_, end_ - begin_);
    std::size_t take = std::min(here.size(), rest());
    switch (destination_.how) {
    case Destination::How::whole:
        if (take < rest())
            return false;
        begin_ += take;
        finish(receiver, here.first(take));
        return true;
    case Destination::How::memory:
        if (take != 0)
            std::memcpy(destination_.memory + done_, here.data(), take);
        begin_ += take;
        done_ += take;
        if (rest() != 0)
            return false;
        finish(receiver, {destination_.memory, frame_.length});
        return true;
    case Destination::How::pieces:
        if (take < rest())
            take -= take % kGrainBytes;
        if (take != 0)
            receiver.piece(frame_, done_, here.first(take));
        begin_ += take;
        done_ += take;
        if (rest() != 0)
            return false;
        finish(receiver, {});
        return true;
    }
    return false;
}

void FrameReader::finish(FrameReceiver &receiver, std::span<const std::byte> payload) {
    inside_ = false;
    after_large_ = destination_.how == Destination::How::memory && frame_.length > capacity_ / 2;
    ++frames_;
    receiver.end(frame_, payload);
}

} // namespace stretto::net
