// SPDX-License-Identifier: BSD-3-Clause
#include "errors.hpp"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace stretto::python {

void translate_errors() {
    nb::register_exception_translator([](const std::exception_ptr &thrown, void *) {
        try {
            std::rethrow_exception(thrown);
        } catch (const Error &error) {
            const nb::object type =
                nb::module_::import_("stretto.errors")
                    .attr("BY_STATUS")[nb::int_(static_cast<int>(error.status()))];
            PyErr_SetString(type.ptr(), error.what());
        }
    });
}

} // namespace stretto::python
