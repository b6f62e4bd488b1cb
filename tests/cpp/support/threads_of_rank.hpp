// SPDX-License-Identifier: BSD-3-Clause
// Several threads of a rank, which wait for one another.
#pragma once

#include <atomic>
#include <exception>
#include <thread>

#include "support/world.hpp"

namespace test {

inline constexpr double kLongSeconds = 60; // a test that does not fail never waits so long

// A thread of a rank, which ends before the object does.
class Beside {
public:
    template<class Body>
    explicit Beside(Body body)
        : thread_([this, body] {
              try {
                  body();
              } catch (...) {
                  error_ = std::current_exception();
              }
          }) {}
    ~Beside() {
        if (thread_.joinable())
            thread_.join();
    }
    Beside(const Beside &) = delete;
    Beside &operator=(const Beside &) = delete;
    void join() {
        thread_.join();
        if (error_)
            std::rethrow_exception(error_);
    }

private:
    std::exception_ptr error_;
    std::thread thread_;
};

// While one lives, `inside` becomes true when this thread waits in Stretto.
class Watched {
public:
    explicit Watched(std::atomic<bool> &inside) {
        stretto_set_idle([](void *flag) { static_cast<std::atomic<bool> *>(flag)->store(true); },
                         &inside);
    }
    ~Watched() { stretto_set_idle(nullptr, nullptr); }
    Watched(const Watched &) = delete;
    Watched &operator=(const Watched &) = delete;
};

inline void await(const std::atomic<bool> &flag) {
    while (!flag.load())
        std::this_thread::yield();
}

inline void signal(stretto_comm comm, int dest) {
    check(stretto_send(comm, nullptr, 0, STRETTO_INT8, dest, 0));
}
inline void await_signal(stretto_comm comm, int source) {
    check(stretto_recv(comm, nullptr, 0, STRETTO_INT8, source, 0, nullptr));
}

} // namespace test
