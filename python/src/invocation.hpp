// SPDX-License-Identifier: BSD-3-Clause
// A call of a collective, checked but not yet made.
#pragma once

#include <nanobind/nanobind.h>

#include "buffer.hpp"

namespace stretto::python {

enum class Kind { allreduce, reduce, broadcast, reduce_scatter, allgather, barrier };

struct Invocation {
    Kind kind = Kind::barrier;
    const void *send = nullptr;
    void *recv = nullptr;
    std::size_t count = 0;
    stretto_dtype dtype = STRETTO_FLOAT32;
    stretto_op op = STRETTO_SUM;
    int root = 0;
    Buffer send_buffer, recv_buffer; // keep the memory alive
    nanobind::object operation;      // and what the program made

    // Throws Error(argument) naming what does not fit, before anything is sent.  `send` None: in
    // place.  `recv` None: this rank gets no result (reduce, and barrier).
    Invocation(const char *collective, nanobind::handle send, nanobind::handle recv,
               nanobind::handle op, int root, int rank, int size);

    stretto_status call(stretto_comm comm) const;
    stretto_status start(stretto_comm comm, stretto_request *request) const;
};

} // namespace stretto::python
