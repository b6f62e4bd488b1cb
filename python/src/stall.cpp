// SPDX-License-Identifier: BSD-3-Clause
// A function in Python that hears of a rank that does not come.
#include <exception>
#include <utility>

#include "bindings.hpp"
#include "operation.hpp"

namespace nb = nanobind;

namespace stretto::python {

namespace {

// By the thread that waits, which has let go of the GIL.  The call goes on, whatever is raised.
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
    } catch (const std::exception &) { // no memory: there is nobody to tell
    }
}

} // namespace

void set_stall_callback(const Communicator &self, nb::object function, double factor,
                        double floor) {
    PyObject *const context = function.is_none() ? nullptr : function.ptr();
    // Nobody is inside meanwhile, so nobody calls the old one any more.
    self.handle->call([&](stretto_comm comm) {
        return stretto_set_stall_callback(comm, context != nullptr ? &raise : nullptr, context,
                                          factor, floor);
    });
    self.handle->keep_stall_callback(std::move(function));
}

} // namespace stretto::python
