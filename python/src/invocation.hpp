// SPDX-License-Identifier: BSD-3-Clause
// A call of a collective, checked but not yet made.
#pragma once

#include <nanobind/nanobind.h>
#include <vector>

#include "buffer.hpp"
#include "schedule/contract.hpp"

namespace stretto::python {

// One for each rank, where parts differ.
using Counts = std::vector<std::size_t>;

struct Invocation {
    schedule::Collective collective = schedule::Collective::barrier;
    const void *send = nullptr;
    void *recv = nullptr;
    std::size_t count = 0;
    Counts counts; // instead of the count, if there are any
    stretto_dtype dtype = STRETTO_FLOAT32;
    stretto_op op = STRETTO_SUM;
    int root = 0;
    Buffer send_buffer, recv_buffer; // keep the memory alive
    nanobind::object operation;      // and what the program made

    // Throws Error(argument) naming what does not fit, before anything is sent.  `send` None: in
    // place, or no contribution here (of a scatter).  `recv` None: no result here, or in place (at
    // the root of a scatter).  `order`: the stream that orders the call.
    Invocation(const char *collective, nanobind::handle send, nanobind::handle recv,
               nanobind::handle op, int root, int rank, int size, Counts counts = {},
               StreamNumber order = {});

    stretto_status call(stretto_comm comm) const;
    stretto_status start(stretto_comm comm, stretto_request *request, bool stream_waits) const;

private:
    stretto_status start_now(stretto_comm comm, stretto_request *request) const;

    StreamNumber order_;
};

} // namespace stretto::python
