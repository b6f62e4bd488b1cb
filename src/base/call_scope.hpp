// SPDX-License-Identifier: BSD-3-Clause
// What may end a call of this thread early, apart from failures: its own time limit, and an
// interrupt.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace stretto {

// The rank was interrupted: the program's interrupt function asked it to stop.
class Interruption : public Error {
public:
    explicit Interruption(const std::string &message) : Error(Status::interrupted, message) {}
};

// The limits of the call that this thread is in.
struct CallScope {
    int rank = -1;              // for messages
    std::uint64_t limit_ns = 0; // 0: none
    std::uint64_t since = 0;    // of now_ns(): when the limit begins

    bool over(std::uint64_t now) const { return limit_ns != 0 && now - since > limit_ns; }
    // "has not ended within 2.0 s, ...".
    std::string exceeded() const;
};
CallScope &call_scope();

// The program's interrupt function: this thread stops if it returns anything but 0.
struct Interrupt {
    int (*function)(void *context) = nullptr; // null: nothing interrupts it
    void *context = nullptr;
    std::uint64_t asked = 0; // when it was asked last
};
Interrupt &interrupt();

// True once any thread has an interrupt function or any call a time limit.  While it is false, no
// thread has to check.
extern std::atomic<bool> scopes_in_use;

// Throws Interruption if this thread is to stop.  Asks the program at most every 50 ms, so callers
// may call it as often as they like.  The caller holds no lock that the program's functions may
// need.
void interruption_point();

} // namespace stretto
