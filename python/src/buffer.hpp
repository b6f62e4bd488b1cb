// SPDX-License-Identifier: BSD-3-Clause
// An array that a collective reads or writes, kept alive and checked.
#pragma once

#include <cstddef>
#include <memory>
#include <nanobind/nanobind.h>

#include "foreign_array.hpp"
#include "stretto/stretto.h"

namespace stretto::python {

// Holds the memory of any object with the buffer protocol (NumPy arrays, array.array, ...), DLPack
// or __cuda_array_interface__: it is neither freed nor moved before this is destroyed.  Needs the
// GIL in every member.
class Buffer {
public:
    enum class Use { read, write };

    Buffer() = default;
    // Throws Error(argument) that calls the array `what` if it is not C-contiguous, not of a
    // supported type, or not writable although it must be.  Of an array in CUDA memory it waits,
    // without the GIL, until its library's work on it is done; throws Error if the driver cannot.
    // `order`: the stream that orders the call; there is no wait for work in this stream.
    Buffer(nanobind::handle array, Use use, const char *what, StreamNumber order = {});
    ~Buffer() { PyBuffer_Release(&view_); }
    Buffer(Buffer &&other) noexcept { *this = std::move(other); }
    Buffer &operator=(Buffer &&other) noexcept;

    void *data() const { return data_; }
    std::size_t bytes() const;
    std::size_t count() const { return count_; }
    stretto_dtype dtype() const { return dtype_; }
    bool overlaps(const Buffer &other) const;
    bool on_device() const;

    // Shape and name of the type of any such array in host memory: a new array may be like it.
    // Throws Error(argument) for others.
    static nanobind::tuple describe(nanobind::handle array, const char *what);

private:
    void hold(nanobind::handle array, Use use, const char *what, StreamNumber order = {});
    void await_work(const char *what, StreamNumber order) const;

    Py_buffer view_{};                      // of the buffer protocol
    std::unique_ptr<ForeignArray> foreign_; // else
    void *data_ = nullptr;
    std::size_t count_ = 0;
    stretto_dtype dtype_ = STRETTO_FLOAT32;
};

// Begins a nonblocking call, in the order of a stream if there is one, which `waits` for the call
// or goes on.
template<class Body>
stretto_status in_order_of(StreamNumber stream, bool waits, Body &&body) {
    if (!stream)
        return body();
    auto *const set = waits ? &stretto_stream_begin : &stretto_stream_follow;
    if (const stretto_status status = set(reinterpret_cast<void *>(*stream)); status != STRETTO_OK)
        return status;
    const stretto_status status = body();
    (void)stretto_stream_end(); // leaves the message of an error
    return status;
}

// Throws Error(argument) that lists what there is.
stretto_dtype dtype_named(const char *name);

} // namespace stretto::python
