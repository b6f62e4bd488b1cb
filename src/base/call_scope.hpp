// SPDX-License-Identifier: BSD-3-Clause
// What may end a call of this thread early, beside what goes wrong in it: a limit of its own, and
// an interrupt.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace stretto {

// The rank was interrupted: somebody wants it to stop what it does.
class Interruption : public Error {
public:
    explicit Interruption(const std::string &message) : Error(Status::interrupted, message) {}
};

// Of the call that this thread is in.
struct CallScope {
    int rank = -1;              // for messages
    std::uint64_t limit_ns = 0; // 0: none
    std::uint64_t since = 0;    // of now_ns(): when the limit begins

    bool over(std::uint64_t now) const { return limit_ns != 0 && now - since > limit_ns; }
    // "has not ended within 2.0 s, ...".
    std::string exceeded() const;
};
CallScope &call_scope();

// Asks whether this thread is to stop: not 0.
struct Interrupt {
    int (*function)(void *context) = nullptr; // null: nothing interrupts it
    void *context = nullptr;
    std::uint64_t asked = 0; // when, last
};
Interrupt &interrupt();

// Some thread has an interrupt, or some call a limit: until then nobody need look.
extern std::atomic<bool> scopes_in_use;

// Throws Interruption if this thread is to stop.  Asks at most every 50 ms, so it may be called as
// often as one likes; with no lock that the program's functions may want.
void interruption_point();

} // namespace stretto
