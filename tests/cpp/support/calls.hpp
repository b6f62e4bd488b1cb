// SPDX-License-Identifier: BSD-3-Clause
// Every blocking collective of the C API behind one signature, for tests that treat all alike.
#pragma once

#include <cstddef>
#include <vector>

#include "stretto/stretto.h"

namespace test {

struct CallArguments {
    const void *send = nullptr;
    void *recv = nullptr;
    std::size_t count = 0;
    int dtype = STRETTO_FLOAT32; // integers: also what no enumeration has
    int op = STRETTO_SUM;
    int root = 0;

    stretto_dtype type() const { return static_cast<stretto_dtype>(dtype); }
    stretto_op operation() const { return static_cast<stretto_op>(op); }
};

struct CallKind {
    const char *name;
    bool reduces, rooted, has_count;
    stretto_status (*call)(stretto_comm comm, const CallArguments &with);
};

// Buffers of `size * count` elements do for each.
inline const std::vector<CallKind> &call_kinds() {
    static const std::vector<CallKind> kinds = {
        {"allreduce", true, false, true,
         [](stretto_comm comm, const CallArguments &with) {
             return stretto_allreduce(comm, with.send, with.recv, with.count, with.type(),
                                      with.operation());
         }},
        {"reduce", true, true, true,
         [](stretto_comm comm, const CallArguments &with) {
             return stretto_reduce(comm, with.send, with.recv, with.count, with.type(),
                                   with.operation(), with.root);
         }},
        {"broadcast", false, true, true,
         [](stretto_comm comm, const CallArguments &with) {
             return stretto_broadcast(comm, with.recv, with.count, with.type(), with.root);
         }},
        {"reduce_scatter", true, false, true,
         [](stretto_comm comm, const CallArguments &with) {
             return stretto_reduce_scatter(comm, with.send, with.recv, with.count, with.type(),
                                           with.operation());
         }},
        {"allgather", false, false, true,
         [](stretto_comm comm, const CallArguments &with) {
             return stretto_allgather(comm, with.send, with.recv, with.count, with.type());
         }},
        {"gather", false, true, true,
         [](stretto_comm comm, const CallArguments &with) {
             return stretto_gather(comm, with.send, with.recv, with.count, with.type(), with.root);
         }},
        {"scatter", false, true, true,
         [](stretto_comm comm, const CallArguments &with) {
             return stretto_scatter(comm, with.send, with.recv, with.count, with.type(), with.root);
         }},
        {"alltoall", false, false, true,
         [](stretto_comm comm, const CallArguments &with) {
             return stretto_alltoall(comm, with.send, with.recv, with.count, with.type());
         }},
        {"barrier", false, false, false,
         [](stretto_comm comm, const CallArguments &) { return stretto_barrier(comm); }},
    };
    return kinds;
}

} // namespace test
