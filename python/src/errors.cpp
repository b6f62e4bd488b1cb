// SPDX-License-Identifier: BSD-3-Clause
#include "errors.hpp"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace stretto::python {

void set_error(Status status, const char *message) {
    const nb::object type = nb::module_::import_("stretto.errors")
                                .attr("BY_STATUS")[nb::int_(static_cast<int>(status))];
    PyErr_SetString(type.ptr(), message);
}

void translate_errors() {
    nb::register_exception_translator([](const std::exception_ptr &thrown, void *) {
        try {
            std::rethrow_exception(thrown);
        } catch (const Error &error) {
            set_error(error.status(), error.what());
        }
    });
}

} // namespace stretto::python
