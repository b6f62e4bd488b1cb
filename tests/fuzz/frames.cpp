// SPDX-License-Identifier: BSD-3-Clause
// Frames: any bytes, cut anywhere, landing in any way, are read as the plain reading below says.
#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "fuzz.hpp"
#include "net/frame_reader.hpp"

using namespace stretto;
using namespace stretto::net;
using fuzz::must;
using Bytes = std::vector<std::byte>;
using How = Destination::How;

namespace {

constexpr std::size_t kMost = 6000; // more than the buffer has
constexpr std::size_t kBuffer = 4096;

struct Got {
    Frame frame;
    Bytes payload;
    friend bool operator==(const Got &, const Got &) = default;
};

// All at once, from one piece of memory.  Whether it ends with what is no frame.
bool read_plainly(std::span<const std::byte> wire, std::vector<Got> &frames) {
    while (wire.size() >= kFrameHeaderBytes) {
        const auto frame = read_frame(wire.first<kFrameHeaderBytes>());
        if (!frame || frame->length > kMost)
            return true;
        must(write(*frame).size() == kFrameHeaderBytes, "a frame is written again");
        wire = wire.subspan(kFrameHeaderBytes);
        if (wire.size() < frame->length)
            return false;
        const auto payload = wire.first(frame->length);
        frames.push_back({*frame, Bytes(payload.begin(), payload.end())});
        wire = wire.subspan(frame->length);
    }
    return false;
}

class Receiver : public FrameReceiver {
public:
    Destination begin(const Frame &frame) override {
        must(!inside_, "frames come one after the other");
        must(frame.length <= kMost, "no frame is too long");
        inside_ = true;
        come_ = 0;
        payload_.assign(frame.length, std::byte{0xee});
        how_ = static_cast<How>(frame.kind % 3);
        if (how_ == How::whole && frame.length > kBuffer)
            how_ = How::memory;
        return {how_, payload_.data()};
    }
    void piece(const Frame &frame, std::size_t offset, std::span<const std::byte> bytes) override {
        must(inside_ && how_ == How::pieces && offset == come_, "pieces come in order");
        come_ += bytes.size();
        must(come_ <= frame.length, "no piece is too long");
        must(come_ == frame.length || bytes.size() % FrameReader::kGrainBytes == 0,
             "pieces but the last are whole grains");
        must(reinterpret_cast<std::uintptr_t>(bytes.data()) % 16 == 0, "pieces are aligned");
        std::copy(bytes.begin(), bytes.end(), payload_.data() + offset);
    }
    void end(const Frame &frame, std::span<const std::byte> payload) override {
        must(inside_, "a frame that ends has begun");
        inside_ = false;
        if (how_ == How::whole)
            payload_.assign(payload.begin(), payload.end());
        must(how_ != How::pieces || come_ == frame.length, "all pieces have come");
        got.push_back({frame, payload_});
    }
    std::vector<Got> got;

private:
    bool inside_ = false;
    How how_ = How::whole;
    std::size_t come_ = 0;
    Bytes payload_;
};

} // namespace

// The first byte says how the rest is cut.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::span<const std::byte> wire = std::as_bytes(std::span(data + 1, size - 1));
    const std::size_t at_a_time = *data == 0 ? wire.size() : *data;
    FrameReader reader(kMost, kBuffer);
    Receiver receiver;
    std::string wrong;
    for (std::size_t fed = 0; fed < wire.size() && wrong.empty();) {
        std::size_t part = std::min(at_a_time, wire.size() - fed), come = 0;
        for (const iovec &room : reader.room()) {
            must(room.iov_len > 0, "there is room");
            const std::size_t take = std::min(room.iov_len, part);
            std::memcpy(room.iov_base, wire.data() + fed + come, take);
            come += take;
            part -= take;
        }
        fed += come;
        wrong = reader.arrived(come, receiver);
    }
    std::vector<Got> expected;
    const bool broken = read_plainly(wire, expected);
    must(broken == !wrong.empty(), "what is no frame is found out");
    must(receiver.got == expected, "frames are read as they are");
    must(reader.frames() == expected.size(), "frames are counted");
    return 0;
}
