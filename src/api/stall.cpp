// SPDX-License-Identifier: BSD-3-Clause
// The C API: the stall callback.
#include <cmath>

#include "handles.hpp"

using namespace stretto::api;

extern "C" {

stretto_status stretto_set_stall_callback(stretto_comm comm, stretto_stall_function function,
                                          void *context, double factor, double floor_seconds) {
    return guarded_in(comm, [&] {
        require(comm != nullptr, "the communicator is NULL");
        if (function == nullptr) {
            comm->communicator.engine().stall_watch().set({}, 0, 0);
            return;
        }
        constexpr double kMostSeconds = 1e9; // 31 years
        require(factor >= 0 && std::isfinite(factor), "the factor of a stall is a number from 0");
        require(floor_seconds > 0 && floor_seconds <= kMostSeconds,
                "the floor of a stall is a time above 0, in seconds");
        comm->communicator.engine().stall_watch().set(
            [function, context,
             rank = comm->communicator.rank()](const stretto::engine::Alert &alert) {
                const stretto_stall described = {
                    .text = alert.text.c_str(),
                    .collective = alert.collective.c_str(),
                    .call = alert.call,
                    .rank = rank,
                    .ranks = alert.late.ranks.data(),
                    .count = static_cast<int>(alert.late.ranks.size()),
                    .all_came = alert.late.all_came ? 1 : 0,
                    .lowest = alert.lowest ? 1 : 0,
                    .waited_seconds = static_cast<double>(alert.waited_ns) * 1e-9,
                    .longest_seconds = static_cast<double>(alert.longest_ns) * 1e-9,
                };
                function(&described, context);
            },
            factor, static_cast<std::uint64_t>(std::ceil(floor_seconds * 1e9)));
    });
}

} // extern "C"
