// SPDX-License-Identifier: BSD-3-Clause
#include "signals.hpp"

#include <nanobind/nanobind.h>
#include <utility>

#include "errors.hpp"
#include "operation.hpp"

namespace nb = nanobind;

namespace stretto::python {

namespace {

// Each call of Python's asks for this, so a thread registers its interrupt once and keeps it.
struct OfThread {
    Signals *innermost = nullptr; // null outside of calls
    bool registered = false;
};
thread_local OfThread of_thread;

} // namespace

Signals::Signals() : mine_(&of_thread.innermost), before_(*mine_) {
    *mine_ = this;
    if (!of_thread.registered) {
        stretto_set_interrupt(&run_handlers, mine_);
        of_thread.registered = true;
    }
}

Signals::~Signals() {
    *mine_ = before_;
}

// Called by the thread that waits, which does not hold the GIL.  Only the main thread finds
// signals.
int Signals::run_handlers(void *innermost) {
    Signals *const call = *static_cast<Signals **>(innermost);
    if (call == nullptr || python_ends())
        return 0;
    const nb::gil_scoped_acquire acquired;
    if (PyErr_CheckSignals() == 0)
        return 0;
    try {
        throw nb::python_error();
    } catch (...) {
        call->raised_ = std::current_exception();
    }
    return 1;
}

void Signals::rethrow() {
    if (raised_ != nullptr)
        std::rethrow_exception(std::exchange(raised_, nullptr));
}

Limit::Limit(std::optional<double> seconds) : set_(seconds.has_value()) {
    if (!set_)
        return;
    if (!(*seconds > 0))
        throw Error(Status::argument, "timeout: a time above 0 in seconds, or None");
    check(stretto_set_thread_timeout(*seconds));
}

Limit::~Limit() {
    if (set_)
        (void)stretto_set_thread_timeout(0);
}

} // namespace stretto::python
