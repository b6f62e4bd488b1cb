// SPDX-License-Identifier: BSD-3-Clause
// The thread that calls Python functions for threads of the library, which must not wait for the
// GIL.  The first use in a process starts it.
#pragma once

#include <nanobind/nanobind.h>

namespace stretto::python {

// A call of a Python function that another thread orders.
class Dispatched {
public:
    // With the GIL.
    explicit Dispatched(nanobind::object function);
    ~Dispatched();
    Dispatched(const Dispatched &) = delete;
    Dispatched &operator=(const Dispatched &) = delete;

    // Orders the call, and takes over `call`; needs no GIL and does not wait.  No call is made once
    // Python ends.
    static void order(Dispatched *call) noexcept;

private:
    class Thread;

    Thread &thread_;
    nanobind::object function_;
};

} // namespace stretto::python
