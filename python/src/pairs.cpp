// SPDX-License-Identifier: BSD-3-Clause
// The loop of `stretto bench pairs`, without Python in it.
#include <algorithm>
#include <cstdint>
#include <nanobind/nanobind.h>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "bindings.hpp"
#include "buffer.hpp"

namespace nb = nanobind;

namespace stretto::python {

namespace {

constexpr int kDataTag = 1, kTakenTag = 2;

// Messages of a window, at once.  The first error counts; whatever was started has ended.
template<class Start>
stretto_status window_of(std::vector<stretto_request> &requests, const Start &start) {
    stretto_status status = STRETTO_OK;
    std::size_t started = 0;
    while (started < requests.size() && status == STRETTO_OK) {
        status = start(started, &requests[started]);
        started += status == STRETTO_OK ? 1 : 0;
    }
    for (std::size_t i = 0; i < started; ++i) {
        const stretto_status ended = stretto_wait(&requests[i]);
        status = status == STRETTO_OK ? ended : status;
    }
    return status;
}

stretto_status send_window(stretto_comm comm, const std::byte *data, std::size_t bytes, int peer,
                           std::vector<stretto_request> &requests) {
    const stretto_status status = window_of(requests, [&](std::size_t i, stretto_request *request) {
        return stretto_isend(comm, data + i * bytes, bytes, STRETTO_UINT8, peer, kDataTag, request);
    });
    std::uint8_t taken = 0;
    return status == STRETTO_OK
               ? stretto_recv(comm, &taken, 1, STRETTO_UINT8, peer, kTakenTag, nullptr)
               : status;
}

stretto_status take_window(stretto_comm comm, std::byte *data, std::size_t bytes, int peer,
                           std::vector<stretto_request> &requests) {
    const stretto_status status = window_of(requests, [&](std::size_t i, stretto_request *request) {
        return stretto_irecv(comm, data + i * bytes, bytes, STRETTO_UINT8, peer, kDataTag, nullptr,
                             request);
    });
    const std::uint8_t taken = 1;
    return status == STRETTO_OK ? stretto_send(comm, &taken, 1, STRETTO_UINT8, peer, kTakenTag)
                                : status;
}

} // namespace

double stream(const Communicator &self, nb::handle array, int peer, bool sends, std::size_t bytes,
              std::size_t window, std::size_t windows) {
    Buffer buffer;
    if (peer >= 0) {
        buffer = Buffer(array, sends ? Buffer::Use::read : Buffer::Use::write, "buffer");
        if (window == 0 || buffer.bytes() / window / std::max<std::size_t>(windows, 1) < bytes)
            throw Error(Status::argument, "buffer: " + std::to_string(buffer.bytes()) +
                                              " bytes for " + std::to_string(windows) +
                                              " windows of " + std::to_string(window) +
                                              " messages of " + std::to_string(bytes) + " bytes");
    }
    std::vector<stretto_request> requests(window);
    std::uint64_t ticks = 0;
    self.handle->call([&](stretto_comm comm) {
        stretto_status status = stretto_barrier(comm);
        if (peer < 0)
            return status;
        auto *data = static_cast<std::byte *>(buffer.data());
        const std::uint64_t begin = now_ticks();
        for (std::size_t i = 0; i < windows && status == STRETTO_OK; ++i, data += window * bytes)
            status = sends ? send_window(comm, data, bytes, peer, requests)
                           : take_window(comm, data, bytes, peer, requests);
        ticks = now_ticks() - begin;
        return status;
    });
    return static_cast<double>(ticks) * ns_per_tick() * 1e-9;
}

} // namespace stretto::python
