// SPDX-License-Identifier: BSD-3-Clause
// What another library's object says of its array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace stretto::python {

// A stream as DLPack and __cuda_array_interface__ number them: a CUstream, 1 the legacy default
// stream, 2 that of the thread.  None: no stream orders the call.
using StreamNumber = std::optional<std::uintptr_t>;

// Without saying which array it is: its caller knows.
[[noreturn]] inline void refuse_array(const std::string &why) {
    throw Error(Status::argument, why);
}

// The memory stays where it is until this is destroyed.  Needs the GIL.
class ForeignArray {
public:
    virtual ~ForeignArray() = default;

    void *data() const { return data_; }
    std::size_t count() const { return count_; }
    const std::string &type() const { return type_; } // "float32"
    bool read_only() const { return read_only_; }
    bool contiguous() const { return contiguous_; }
    const std::vector<std::int64_t> &shape() const { return shape_; }
    // Of a device, or of what its driver moves there.
    bool on_device() const { return on_device_; }
    // The stream that does all work on it so far, as CUDA counts them; none: there is no such work.
    std::optional<std::uintptr_t> stream() const { return stream_; }

protected:
    // With the shape known: `strides`, one for each dimension, in units of which an element has so
    // many; null: C-contiguous.
    void lay_out(const std::int64_t *strides, std::int64_t element) {
        contiguous_ = true;
        std::int64_t step = element; // between neighbours of this dimension, if C-contiguous
        for (std::size_t k = shape_.size(); k-- > 0; step *= shape_[k])
            if (strides != nullptr && shape_[k] > 1 && strides[k] != step)
                contiguous_ = false;
        count_ = static_cast<std::size_t>(step / element);
        contiguous_ = contiguous_ || count_ == 0;
    }

    void *data_ = nullptr;
    std::size_t count_ = 0;
    std::string type_;
    bool read_only_ = false, contiguous_ = true, on_device_ = false;
    std::vector<std::int64_t> shape_;
    std::optional<std::uintptr_t> stream_;
};

} // namespace stretto::python
