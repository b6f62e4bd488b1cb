// SPDX-License-Identifier: BSD-3-Clause
// Arrays in CUDA memory, by the protocol __cuda_array_interface__: Numba, CuPy, PyTorch, ...
#pragma once

#include <nanobind/nanobind.h>

#include "foreign_array.hpp"

namespace stretto::python {

class CudaArray final : public ForeignArray {
public:
    // Throws Error(argument), without saying which array it is.
    explicit CudaArray(nanobind::handle array, StreamNumber = {});

    static bool offered_by(nanobind::handle array);

private:
    void read(const nanobind::dict &interface);

    nanobind::object owner_;
};

} // namespace stretto::python
