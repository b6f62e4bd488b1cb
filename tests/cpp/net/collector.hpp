// SPDX-License-Identifier: BSD-3-Clause
// Takes frames in, and sees to it that they come as promised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "doctest.h"
#include "net/frame_reader.hpp"

namespace test {

using Bytes = std::vector<std::byte>;

class Collector : public stretto::net::FrameReceiver {
public:
    using Frame = stretto::net::Frame;
    using Destination = stretto::net::Destination;
    struct Got {
        Frame frame;
        Bytes payload;
    };
    explicit Collector(std::function<Destination::How(const Frame &)> how) : how_(std::move(how)) {}

    Destination begin(const Frame &frame) override {
        CHECK_FALSE(inside_);
        inside_ = true;
        payload_.assign(frame.length, std::byte{0xee});
        come_ = 0;
        destination_ = {how_(frame), payload_.data()};
        return destination_;
    }

    void piece(const Frame &frame, std::size_t offset, std::span<const std::byte> bytes) override {
        CHECK(destination_.how == Destination::How::pieces);
        CHECK(offset == come_);
        CHECK_FALSE(bytes.empty());
        CHECK(aligned(bytes.data()));
        come_ += bytes.size();
        CHECK(
            (come_ == frame.length || bytes.size() % stretto::net::FrameReader::kGrainBytes == 0));
        std::copy(bytes.begin(), bytes.end(),
                  payload_.begin() + static_cast<std::ptrdiff_t>(offset));
    }

    void end(const Frame &frame, std::span<const std::byte> payload) override {
        inside_ = false;
        switch (destination_.how) {
        case Destination::How::whole:
            CHECK(payload.size() == frame.length);
            CHECK(aligned(payload.data()));
            payload_.assign(payload.begin(), payload.end());
            break;
        case Destination::How::memory:
            CHECK(payload.size() == frame.length);
            CHECK(payload.data() == payload_.data());
            break;
        case Destination::How::pieces: CHECK(payload.empty()); CHECK(come_ == frame.length);
        }
        got.push_back({frame, payload_});
    }

    std::vector<Got> got;

private:
    static bool aligned(const std::byte *data) {
        return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
    }

    std::function<Destination::How(const Frame &)> how_;
    Destination destination_;
    Bytes payload_;
    std::size_t come_ = 0;
    bool inside_ = false;
};

} // namespace test
