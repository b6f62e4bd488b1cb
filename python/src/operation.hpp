// SPDX-License-Identifier: BSD-3-Clause
// Operations that the program makes: functions in Python, and premultiplied sums.
#pragma once

#include <nanobind/nanobind.h>

#include "stretto/stretto.h"

namespace stretto::python {

class Operation {
public:
    // function(lower, inout, dtype): two memoryviews and the name of the type of their elements.
    // What it raises is the error of the call, on every rank.
    Operation(nanobind::object function, bool commutative);
    // The bytes of a value of the type.
    Operation(const nanobind::bytes &scalar, const char *dtype);
    ~Operation() { (void)stretto_op_free(op_); }
    Operation(const Operation &) = delete;
    Operation &operator=(const Operation &) = delete;

    stretto_op op() const { return op_; }

private:
    static void call(const void *in, void *inout, std::size_t count, stretto_dtype dtype,
                     void *function);

    nanobind::object function_;
    stretto_op op_;
};

// A thread that asks for the GIL of a Python that ends does not come back.
bool python_ends();

// The name of one that is built in, or an Operation.
stretto_op op_of(nanobind::handle op);

} // namespace stretto::python
