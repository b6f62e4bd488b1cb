// SPDX-License-Identifier: BSD-3-Clause
// Ranks as threads of the test.
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace test {

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

} // namespace test
