// SPDX-License-Identifier: BSD-3-Clause
// Frames as bytes: what is written is what is read, however the bytes are cut.
#include "doctest.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "net/collector.hpp"
#include "net/frame_reader.hpp"
#include "net/frame_writer.hpp"

using namespace stretto;
using namespace stretto::net;
using test::Bytes;
using test::Collector;
using How = Destination::How;

namespace {

// Data that differ from place to place and from frame to frame.
Bytes payload_of(std::size_t size, unsigned seed) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>((i * 131 + seed * 29 + (i >> 8)) & 0xff);
    return bytes;
}

Frame numbered(unsigned number) {
    Frame frame;
    frame.kind = static_cast<std::uint8_t>(number % 7);
    frame.flags = static_cast<std::uint8_t>(number % 5);
    frame.a = number;
    frame.b = std::uint64_t{number} << 40;
    frame.c = ~std::uint64_t{number};
    return frame;
}

iovec piece(const Bytes &bytes, std::size_t from = 0, std::size_t to = SIZE_MAX) {
    return {const_cast<std::byte *>(bytes.data()) + from, std::min(to, bytes.size()) - from};
}

// All that is queued, taken so many bytes at a time.
Bytes drain(FrameWriter &writer, std::size_t at_a_time, std::size_t most_pieces = 8) {
    Bytes wire;
    std::vector<iovec> pieces(most_pieces);
    while (!writer.empty()) {
        const std::size_t count = writer.gather(pieces);
        REQUIRE(count > 0);
        std::size_t taken = 0;
        for (std::size_t i = 0; i < count && taken < at_a_time; ++i) {
            const std::size_t size = std::min(pieces[i].iov_len, at_a_time - taken);
            const auto *const from = static_cast<const std::byte *>(pieces[i].iov_base);
            wire.insert(wire.end(), from, from + size);
            taken += size;
        }
        writer.written(taken);
    }
    return wire;
}

// Gives the wire to the reader in parts of at most so many bytes.
std::string feed(FrameReader &reader, const Bytes &wire, std::size_t at_a_time,
                 Collector &receiver) {
    std::size_t fed = 0;
    while (fed < wire.size()) {
        std::size_t part = std::min(at_a_time, wire.size() - fed), come = 0;
        for (const iovec &room : reader.room()) {
            REQUIRE(room.iov_len > 0);
            const std::size_t size = std::min(room.iov_len, part);
            std::memcpy(room.iov_base, wire.data() + fed + come, size);
            come += size;
            part -= size;
        }
        fed += come;
        if (std::string wrong = reader.arrived(come, receiver); !wrong.empty())
            return wrong;
    }
    return "";
}

constexpr std::size_t kBuffer = 8192, kMost = 100'000;

} // namespace

TEST_CASE("a header is read as it was written") {
    Frame frame = numbered(1234);
    frame.length = 0xfedcba98;
    FrameHeader header = write(frame);
    REQUIRE(read_frame(header));
    CHECK(*read_frame(header) == frame);
    CHECK(header[4] == std::byte{0x98}); // the least significant first
    CHECK(header[8] == std::byte{0xd2});
    for (const std::size_t unused : {2, 3}) {
        FrameHeader other = header;
        other[unused] = std::byte{1};
        CHECK_FALSE(read_frame(other));
    }
}

TEST_CASE("frames of all sizes, landings and cuts") {
    const std::size_t sizes[] = {0,    1,    31,   32,   63,   64,   65,    100,   4000, 4096,
                                 4097, 8000, 8159, 8160, 8161, 8192, 20000, 65536, 99999};
    for (const How how : {How::whole, How::pieces, How::memory})
        for (const std::size_t at_a_time : {1, 33, 1000, 4096, 1 << 20}) {
            CAPTURE(static_cast<int>(how));
            CAPTURE(at_a_time);
            FrameWriter writer;
            std::vector<Bytes> payloads;
            unsigned number = 0;
            for (const std::size_t size : sizes) {
                if (how == How::whole && size > kBuffer)
                    continue;
                payloads.push_back(payload_of(size, number));
                const Bytes &payload = payloads.back();
                // Vectors that move keep their elements where they are.
                const std::size_t cut = size / 3;
                const iovec pieces[] = {piece(payload, 0, cut), piece(payload, cut)};
                CHECK(writer.queue(numbered(number), pieces) == number + 1);
                ++number;
            }
            const Bytes wire = drain(writer, at_a_time);
            CHECK(writer.frames_sent() == number);
            CHECK(writer.queued_bytes() == 0);
            FrameReader reader(kMost, kBuffer);
            Collector receiver([&](const Frame &) { return how; });
            CHECK(feed(reader, wire, at_a_time, receiver) == "");
            CHECK(reader.between_frames());
            REQUIRE(receiver.got.size() == number);
            CHECK(reader.frames() == number);
            for (unsigned i = 0; i < number; ++i) {
                Frame expected = numbered(i);
                expected.length = static_cast<std::uint32_t>(payloads[i].size());
                CHECK(receiver.got[i].frame == expected);
                CHECK(receiver.got[i].payload == payloads[i]);
            }
        }
}

TEST_CASE("landings take turns") {
    FrameWriter writer;
    std::vector<Bytes> payloads;
    for (unsigned i = 0; i < 200; ++i) {
        payloads.push_back(payload_of(i * 37 % 5000, i));
        const iovec pieces[] = {piece(payloads.back())};
        writer.queue(numbered(i), pieces);
    }
    const Bytes wire = drain(writer, 10'000, 3);
    FrameReader reader(kMost, kBuffer);
    Collector receiver([](const Frame &frame) { return static_cast<How>(frame.a % 3); });
    CHECK(feed(reader, wire, 7777, receiver) == "");
    REQUIRE(receiver.got.size() == payloads.size());
    for (std::size_t i = 0; i < payloads.size(); ++i)
        CHECK(receiver.got[i].payload == payloads[i]);
}

TEST_CASE("a writer reports sent frames, and keeps the rest in order") {
    FrameWriter writer;
    const Bytes payload = payload_of(100, 1);
    const iovec pieces[] = {piece(payload)};
    for (unsigned i = 0; i < 40; ++i) // more than its ring begins with
        writer.queue(numbered(i), pieces);
    CHECK(writer.queued_bytes() == 40 * 132);
    writer.written(131);
    CHECK(writer.frames_sent() == 0);
    writer.written(1);
    CHECK(writer.frames_sent() == 1);
    writer.written(2 * 132 + 50);
    CHECK(writer.frames_sent() == 3);
    std::vector<iovec> next(4);
    REQUIRE(writer.gather(next) == 4);
    CHECK(next[0].iov_base == payload.data() + 18); // in the middle of a payload
    CHECK(next[0].iov_len == 82);
    CHECK(next[1].iov_len == kFrameHeaderBytes);
    CHECK(next[2].iov_base == payload.data());
    CHECK_FALSE(writer.empty());
}

TEST_CASE("bytes that are no frame, or a frame that is too long, end the reading") {
    const auto fed = [](const Bytes &wire) {
        FrameReader reader(1000, kBuffer);
        Collector receiver([](const Frame &) { return How::whole; });
        const std::string wrong = feed(reader, wire, SIZE_MAX, receiver);
        CHECK(receiver.got.size() == 1); // the good one before
        return wrong;
    };
    const auto after_a_good_one = [](const FrameHeader &header) {
        const FrameHeader good = write(Frame{});
        Bytes wire(2 * kFrameHeaderBytes);
        std::copy(good.begin(), good.end(), wire.begin());
        std::copy(header.begin(), header.end(), wire.begin() + kFrameHeaderBytes);
        return wire;
    };
    Frame frame;
    frame.length = 1001;
    const std::string wrong = fed(after_a_good_one(write(frame)));
    CHECK(wrong.find("1001 bytes") != std::string::npos);
    CHECK(wrong.find("at most 1000") != std::string::npos);
    frame.length = UINT32_MAX;
    CHECK(fed(after_a_good_one(write(frame))) != "");
    frame.length = 1000;
    CHECK(fed(after_a_good_one(write(frame))) == "");
    FrameHeader garbage;
    garbage.fill(std::byte{0xff});
    CHECK(fed(after_a_good_one(garbage)).find("no frame") != std::string::npos);
}

TEST_CASE("a reader is in the middle of a frame until all of it is there") {
    FrameReader reader(kMost, kBuffer);
    Collector receiver([](const Frame &) { return How::whole; });
    Frame frame;
    frame.length = 5;
    const FrameHeader header = write(frame);
    CHECK(reader.between_frames());
    feed(reader, Bytes(header.begin(), header.begin() + 31), SIZE_MAX, receiver);
    CHECK_FALSE(reader.between_frames());
    feed(reader, Bytes(header.begin() + 31, header.end()), SIZE_MAX, receiver);
    CHECK_FALSE(reader.between_frames());
    feed(reader, Bytes(5), SIZE_MAX, receiver);
    CHECK(reader.between_frames());
}

TEST_CASE("a receiver that had no memory for a frame is asked again") {
    class Poor final : public Collector {
    public:
        using Collector::Collector;
        Destination begin(const Frame &frame) override {
            if (std::exchange(had_none_, !had_none_))
                return Collector::begin(frame);
            throw std::bad_alloc();
        }

    private:
        bool had_none_ = false;
    };
    for (const How how : {How::whole, How::pieces, How::memory}) {
        FrameWriter writer;
        std::vector<Bytes> payloads;
        for (unsigned i = 0; i < 20; ++i)
            payloads.push_back(payload_of(i * 37 % 500 + 1, i));
        for (unsigned i = 0; i < 20; ++i) {
            const iovec pieces[] = {piece(payloads[i])};
            writer.queue(numbered(i), pieces);
        }
        FrameReader reader(kMost, kBuffer);
        Poor receiver([&](const Frame &) { return how; });
        unsigned thrown = 0;
        for (const std::byte byte : drain(writer, SIZE_MAX))
            try {
                const std::string wrong = feed(reader, {byte}, 1, receiver);
                CHECK(wrong == "");
            } catch (const std::bad_alloc &) {
                ++thrown;
            }
        CHECK(thrown == 20);
        REQUIRE(receiver.got.size() == 20);
        for (unsigned i = 0; i < 20; ++i)
            CHECK(receiver.got[i].payload == payloads[i]);
    }
}
