// SPDX-License-Identifier: BSD-3-Clause
// Python's handlers of signals run while a call waits, and an exception of theirs ends the call.
// Limits of single calls.
#pragma once

#include <exception>
#include <optional>

namespace stretto::python {

// While this lives, this thread's calls run Python's handlers.  Made and destroyed with the GIL.
class Signals {
public:
    Signals();
    ~Signals();
    Signals(const Signals &) = delete;
    Signals &operator=(const Signals &) = delete;

    // Throws the exception that a handler has raised, if there is one.
    void rethrow();

private:
    static int run_handlers(void *innermost);

    Signals **const mine_;  // where this thread keeps the innermost
    Signals *const before_; // of a call in which a handler makes this one
    std::exception_ptr raised_;
};

// The limit of this thread's calls while this lives, in seconds; none: that of the communicator.
// Throws Error(argument).
class Limit {
public:
    explicit Limit(std::optional<double> seconds);
    ~Limit();
    Limit(const Limit &) = delete;
    Limit &operator=(const Limit &) = delete;

private:
    const bool set_;
};

} // namespace stretto::python
