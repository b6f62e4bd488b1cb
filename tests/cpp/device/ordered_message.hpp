// SPDX-License-Identifier: BSD-3-Clause
// A message in the order of a stream, and its buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "device/message_buffers.hpp"
#include "device/on_device.hpp"
#include "device/streams_of_program.hpp"
#include "stretto/embedding.h"
#include "support/world.hpp"

namespace test {

enum class Then { wait, go_on };

// What this thread begins meanwhile belongs to a stream.
class In {
public:
    explicit In(const Stream &stream, Then then = Then::wait) {
        check(then == Then::wait ? stretto_stream_begin(stream.handle())
                                 : stretto_stream_follow(stream.handle()));
    }
    ~In() { CHECK(stretto_stream_end() == STRETTO_OK); }
    In(const In &) = delete;
    In &operator=(const In &) = delete;
};

// A buffer on the device or in pinned memory, which a stream fills, and reads to another place.
class Place {
public:
    Place(OnDevice &device, std::size_t bytes, bool on_device)
        : device_(device), bytes_(bytes), given_(bytes / 4 + 1), result_(bytes / 4 + 1) {
        if (on_device)
            there_ = device.allocate(bytes + 1, true);
        else
            here_ = std::make_unique<Pinned>(bytes / 4 + 1);
    }
    ~Place() {
        if (there_ != nullptr)
            device_.free(there_);
    }
    Place(const Place &) = delete;
    Place &operator=(const Place &) = delete;

    void *data() const { return there_ != nullptr ? there_ : static_cast<void *>(here_->data()); }
    std::size_t bytes() const { return bytes_; }
    void fill(Stream &stream, int source, int dest, int number) {
        auto *const given = reinterpret_cast<std::uint8_t *>(given_.data());
        for (std::size_t i = 0; i < bytes_; ++i)
            given[i] = letter(source, dest, number, i);
        if (bytes_ != 0)
            stream.copy(data(), given, bytes_);
    }
    // Overwrites it in the order of the stream.
    void spoil(Stream &stream) {
        auto *const result = reinterpret_cast<std::uint8_t *>(result_.data());
        for (std::size_t i = 0; i < bytes_; ++i)
            result[i] = 0xee;
        if (bytes_ != 0)
            stream.copy(data(), result, bytes_);
    }
    void read(Stream &stream) {
        if (bytes_ != 0)
            stream.copy(result_.data(), data(), bytes_);
    }
    // What was read; the stream has been waited for.
    bool holds(int source, int dest, int number) const {
        const auto *const result = reinterpret_cast<const std::uint8_t *>(result_.data());
        for (std::size_t i = 0; i < bytes_; ++i)
            if (result[i] != letter(source, dest, number, i))
                return false;
        return true;
    }
    // By the host, after it has waited for a request.
    bool holds_now(int source, int dest, int number) {
        std::vector<std::byte> copy(bytes_ + 1);
        if (there_ != nullptr)
            device_.copy(copy.data(), there_, bytes_);
        const auto *const now = there_ != nullptr
                                    ? reinterpret_cast<const std::uint8_t *>(copy.data())
                                    : reinterpret_cast<const std::uint8_t *>(here_->data());
        for (std::size_t i = 0; i < bytes_; ++i)
            if (now[i] != letter(source, dest, number, i))
                return false;
        return true;
    }

private:
    OnDevice &device_;
    const std::size_t bytes_;
    Pinned given_, result_;
    std::byte *there_ = nullptr;
    std::unique_ptr<Pinned> here_;
};

inline stretto_status send(stretto_comm comm, const Place &from, int dest, int tag,
                           stretto_request *request = nullptr) {
    return stretto_isend(comm, from.data(), from.bytes(), STRETTO_UINT8, dest, tag, request);
}
inline stretto_status receive(stretto_comm comm, const Place &into, int source, int tag,
                              stretto_request *request = nullptr) {
    return stretto_irecv(comm, into.data(), into.bytes(), STRETTO_UINT8, source, tag, nullptr,
                         request);
}

inline void synchronize(const Stream &stream, const Place &place) {
    check(stretto_stream_synchronize(place.data(), stream.handle()));
}

// Ranks are threads, which have the device's context.
inline void with_context(OnDevice &device, int ranks,
                         const std::function<void(stretto_comm)> &body) {
    with_ranks(ranks, [&](stretto_comm comm) {
        device.free(device.allocate(8, true));
        body(comm);
    });
}

} // namespace test
