// SPDX-License-Identifier: BSD-3-Clause
// Arrays of other libraries, in the memory of the processor or CUDA's, by the DLPack protocol:
// PyTorch, JAX, CuPy, ...
#pragma once

#include <cstdint>
#include <nanobind/nanobind.h>

#include "foreign_array.hpp"

namespace stretto::python {

// An array that has been handed over; it lives until this is destroyed.  Needs the GIL.
class DlTensor final : public ForeignArray {
public:
    // The library makes the stream `order` wait for its work on the array; without one, the legacy
    // default stream.  Throws Error(argument), without saying which array it is.
    explicit DlTensor(nanobind::handle array, StreamNumber order = {});
    ~DlTensor() override { give_back(); }
    DlTensor(const DlTensor &) = delete;
    DlTensor &operator=(const DlTensor &) = delete;

    static bool offered_by(nanobind::handle array);
    // Its type has functions in C that describe an array (DLPack 1.3): no call of Python's is
    // needed.
    static bool described_by_type(nanobind::handle array);

private:
    struct Tensor;
    struct Managed;
    struct ManagedVersioned;
    struct ExchangeApi;
    static const ExchangeApi *api_of(nanobind::handle array);
    void describe(nanobind::handle array, const ExchangeApi &api);
    void take_over(nanobind::handle array, std::uintptr_t order);
    void read(const Tensor &tensor);
    void give_back();

    nanobind::object described_; // one of them
    Managed *managed_ = nullptr;
    ManagedVersioned *versioned_ = nullptr;
};

} // namespace stretto::python
