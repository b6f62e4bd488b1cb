// SPDX-License-Identifier: BSD-3-Clause
// An array that a collective reads or writes, kept alive and checked.
#pragma once

#include <cstddef>
#include <nanobind/nanobind.h>

#include "stretto/stretto.h"

namespace stretto::python {

// Holds the memory of any object with the buffer protocol (NumPy arrays, array.array, ...): it is
// neither freed nor moved before this is destroyed.  Needs the GIL in every member.
class Buffer {
public:
    enum class Use { read, write };

    Buffer() = default;
    // Throws Error(argument) that calls the array `what` if it is not C-contiguous, not of a
    // supported type, or not writable although it must be.
    Buffer(nanobind::handle array, Use use, const char *what);
    ~Buffer() { PyBuffer_Release(&view_); }
    Buffer(Buffer &&other) noexcept { *this = std::move(other); }
    Buffer &operator=(Buffer &&other) noexcept;

    void *data() const { return view_.buf; }
    std::size_t bytes() const { return static_cast<std::size_t>(view_.len); }
    std::size_t count() const { return bytes() / static_cast<std::size_t>(view_.itemsize); }
    stretto_dtype dtype() const { return dtype_; }
    bool overlaps(const Buffer &other) const;

private:
    Py_buffer view_{};
    stretto_dtype dtype_ = STRETTO_FLOAT32;
};

} // namespace stretto::python
