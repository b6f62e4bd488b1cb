// SPDX-License-Identifier: BSD-3-Clause
// How code that is compiled apart from this module makes calls.
#include "stretto/torch/compiled/call_runner.hpp"

#include <exception>
#include <string>

#include "bindings.hpp"
#include "errors.hpp"
#include "signals.hpp"

namespace nb = nanobind;

namespace stretto::python {

namespace {

bool run(stretto_status (*body)(void *), void *context) {
    stretto_status status = STRETTO_OK;
    std::string message;
    Signals signals; // touches nothing of Python's unless a handler raises
    const auto call = [&] {
        status = body(context);
        if (status != STRETTO_OK)
            message = stretto_last_error();
    };
    if (PyGILState_Check() != 0) {
        const nb::gil_scoped_release released;
        call();
    } else {
        call();
    }
    if (status == STRETTO_OK)
        return true;
    const nb::gil_scoped_acquire acquired;
    try {
        signals.rethrow();
        set_error(static_cast<Status>(status), message.c_str());
    } catch (nb::python_error &raised) {
        raised.restore();
    }
    return false;
}

CallRunner runner{&run};

} // namespace

void bind_call_runner(nb::module_ &module) {
    module.attr("call_runner") = nb::steal(PyCapsule_New(&runner, CallRunner::kName, nullptr));
}

} // namespace stretto::python
