// SPDX-License-Identifier: BSD-3-Clause
// Ranks as threads of the test, each with a communicator of one job.
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "stretto/stretto.h"
#include "support/job.hpp"

namespace test {

inline void check(stretto_status status) {
    if (status != STRETTO_OK)
        throw std::runtime_error(std::string(stretto_status_name(status)) + ": " +
                                 stretto_last_error());
}

// Runs body(rank) in `ranks` threads and rethrows the first exception.
inline void on_threads(int ranks, const std::function<void(int)> &body) {
    std::exception_ptr first;
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            try {
                body(rank);
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!first)
                    first = std::current_exception();
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    if (first)
        std::rethrow_exception(first);
}

// A communicator of its own per rank; a new job each time.
inline void with_ranks(int ranks, const std::function<void(stretto_comm)> &body) {
    const std::string job = fresh_job();
    on_threads(ranks, [&](int rank) {
        stretto_comm comm = nullptr;
        check(stretto_init_explicit(rank, ranks, job.c_str(), &comm));
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
