// SPDX-License-Identifier: BSD-3-Clause
// The stall callback in Python.
#include <exception>
#include <utility>

#include "bindings.hpp"
#include "operation.hpp"

namespace nb = nanobind;

namespace stretto::python {

namespace {

// Called by the thread that waits, which does not hold the GIL.  The call goes on, whatever the
// function raises.
void raise(const stretto_stall *stall, void *context) {
    if (python_ends())
        return;
    const nb::gil_scoped_acquire acquired;
    const nb::handle function(static_cast<PyObject *>(context));
    try {
        nb::list ranks;
        for (int i = 0; i < stall->count; ++i)
            ranks.append(stall->ranks[i]);
        function(stall->text, stall->collective, stall->call, stall->rank, nb::tuple(ranks),
                 stall->all_came != 0, stall->lowest != 0, stall->waited_seconds,
                 stall->longest_seconds);
    } catch (nb::python_error &error) {
        error.discard_as_unraisable(function);
    } catch (const std::exception &) { // no memory to call the function or to report an error
    }
}

} // namespace

void set_stall_callback(const Communicator &self, nb::object function, double factor,
                        double floor) {
    PyObject *const context = function.is_none() ? nullptr : function.ptr();
    // No other thread is inside the communicator during this call, so none calls the old function.
    self.handle->call([&](stretto_comm comm) {
        return stretto_set_stall_callback(comm, context != nullptr ? &raise : nullptr, context,
                                          factor, floor);
    });
    self.handle->keep_stall_callback(std::move(function));
}

} // namespace stretto::python
