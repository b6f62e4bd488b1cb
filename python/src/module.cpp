// SPDX-License-Identifier: BSD-3-Clause
#include "bindings.hpp"
#include "request.hpp"

NB_MODULE(_core, module) {
    nanobind::set_leak_warnings(false); // a communicator may live as long as the process
    module.doc() = "The C API of Stretto for buffers, and its tools; see the package around it.";
    module.attr("__version__") = stretto_version();
    stretto::python::translate_errors();
    stretto::python::bind_operation(module);
    stretto::python::bind_request(module);
    stretto::python::bind_communicator(module);
    stretto::python::bind_call_runner(module);
    stretto::python::bind_tools(module);
    stretto::python::bind_simulation(module);
    stretto::python::bind_selection(module);
    stretto::python::bind_pricing(module);
    stretto::python::bind_machine(module);
    stretto::python::bind_network(module);
    stretto::python::bind_calls(module);
    stretto::python::bind_matching(module);
}
