// SPDX-License-Identifier: BSD-3-Clause
// Arrays of other libraries in the memory of the processor, by the DLPack protocol: PyTorch, JAX,
// ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <nanobind/nanobind.h>
#include <string>
#include <vector>

namespace stretto::python {

// An array that has been handed over; it lives until this is destroyed.  Needs the GIL.
class DlTensor {
public:
    DlTensor() = default;
    // Throws Error(argument), without saying which array it is.
    explicit DlTensor(nanobind::handle array);
    ~DlTensor();
    DlTensor(DlTensor &&other) noexcept { *this = std::move(other); }
    DlTensor &operator=(DlTensor &&other) noexcept;

    static bool offered_by(nanobind::handle array);
    // Its type has functions in C that describe an array (DLPack 1.3): no call of Python's is
    // needed.
    static bool described_by_type(nanobind::handle array);

    void *data() const { return data_; }
    std::size_t count() const { return count_; }
    const std::string &type() const { return type_; } // "float32"
    bool read_only() const { return read_only_; }
    bool contiguous() const { return contiguous_; }
    const std::vector<std::int64_t> &shape() const { return shape_; }

private:
    struct Tensor;
    struct Managed;
    struct ManagedVersioned;
    struct ExchangeApi;
    static const ExchangeApi *api_of(nanobind::handle array);
    void describe(nanobind::handle array, const ExchangeApi &api);
    void take_over(nanobind::handle array);
    void read(const Tensor &tensor);

    nanobind::object described_; // one of them
    Managed *managed_ = nullptr;
    ManagedVersioned *versioned_ = nullptr;
    void *data_ = nullptr;
    std::size_t count_ = 0;
    std::string type_;
    bool read_only_ = false, contiguous_ = true;
    std::vector<std::int64_t> shape_;
};

} // namespace stretto::python
