// SPDX-License-Identifier: BSD-3-Clause
// A counter that all processes of a test see.
#pragma once

#include <atomic>
#include <chrono>
#include <new>
#include <sys/mman.h>
#include <thread>

namespace test {

class SharedCounter {
public:
    SharedCounter()
        : place_(mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
        new (place_) std::atomic<int>(0);
    }
    ~SharedCounter() { munmap(place_, sizeof(std::atomic<int>)); }
    SharedCounter(const SharedCounter &) = delete;
    SharedCounter &operator=(const SharedCounter &) = delete;
    std::atomic<int> &operator*() { return *static_cast<std::atomic<int> *>(place_); }

    // Until it has at least this value.
    void await(int value) {
        while ((**this).load() < value)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

private:
    void *place_;
};

} // namespace test
