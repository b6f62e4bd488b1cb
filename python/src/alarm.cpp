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
void raise(const stretto_alarm *alarm, void *context) {
    if (python_ends())
        return;
    const nb::gil_scoped_acquire acquired;
    const nb::handle function(static_cast<PyObject *>(context));
    try {
        nb::list ranks;
        for (int i = 0; i < alarm->count; ++i)
            ranks.append(alarm->ranks[i]);
        function(alarm->text, alarm->collective, alarm->call, alarm->rank, nb::tuple(ranks),
                 alarm->all_came != 0, alarm->lowest != 0, alarm->waited_seconds,
                 alarm->longest_seconds);
    } catch (nb::python_error &error) {
        error.discard_as_unraisable(function);
    } catch (const std::exception &) { // no memory: there is nobody to tell
    }
}

} // namespace

void set_alarm(const Communicator &self, nb::object function, double factor, double floor) {
    PyObject *const context = function.is_none() ? nullptr : function.ptr();
    // Nobody is inside meanwhile, so nobody calls the old one any more.
    self.handle->call([&](stretto_comm comm) {
        return stretto_set_alarm(comm, context != nullptr ? &raise : nullptr, context, factor,
                                 floor);
    });
    self.handle->keep_alarm(std::move(function));
}

} // namespace stretto::python
