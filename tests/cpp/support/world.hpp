// SPDX-License-Identifier: BSD-3-Clause
// Ranks as threads of the test, each with a communicator of one job.
#pragma once

#include <functional>
#include <latch>
#include <stdexcept>
#include <string>

#include "stretto/stretto.h"
#include "support/job.hpp"
#include "support/on_threads.hpp"

namespace test {

inline void check(stretto_status status) {
    if (status != STRETTO_OK)
        throw std::runtime_error(std::string(stretto_status_name(status)) + ": " +
                                 stretto_last_error());
}

// A communicator of its own per rank; a new job each time.  No body starts before all ranks have
// joined: an error of one would be the error of another that is still joining.
inline void with_ranks(int ranks, const std::function<void(stretto_comm)> &body) {
    const std::string job = fresh_job();
    std::latch joined(ranks);
    on_threads(ranks, [&](int rank) {
        stretto_comm comm = nullptr;
        const stretto_status status = stretto_init_explicit(rank, ranks, job.c_str(), &comm);
        joined.count_down();
        check(status);
        joined.wait();
        try {
            body(comm);
        } catch (...) {
            stretto_finalize(&comm);
            throw;
        }
        check(stretto_finalize(&comm));
    });
}

} // namespace test
