// SPDX-License-Identifier: BSD-3-Clause
// Calls as PyTorch sees them.
#pragma once

#include <torch/extension.h>
#include <vector>

#include <torch/csrc/distributed/c10d/Work.hpp>

namespace stretto::torch_backend {

// Of a call that has ended before it returned.
c10::intrusive_ptr<c10d::Work> done(std::vector<at::Tensor> result);

// A `Work` of Python's, with all that it knows.  None: a call that has ended.  Needs the GIL.
c10::intrusive_ptr<c10d::Work> held(pybind11::object work);

} // namespace stretto::torch_backend
