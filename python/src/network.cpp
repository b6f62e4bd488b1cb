// SPDX-License-Identifier: BSD-3-Clause
// What Stretto finds of the network: interfaces, and whether there is a secret.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>

#include "bindings.hpp"
#include "net/interfaces.hpp"
#include "net/secret.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace stretto::python {

namespace {

// (name, up, whether it is used, loopback, MTU, Mbit/s, addresses) of each; `filtered`: used is
// what STRETTO_IFACE takes, and if that cannot be read an error is thrown.
nb::list interfaces(bool filtered) {
    const net::InterfaceFilter filter = filtered ? net::interface_filter() : net::InterfaceFilter();
    nb::list result;
    for (const net::Interface &interface : net::interfaces()) {
        nb::list addresses;
        for (const net::Interface::Assigned &assigned : interface.addresses)
            addresses.append(assigned.address.host() + "/" + std::to_string(assigned.prefix));
        result.append(nb::make_tuple(interface.name, interface.up, filter.takes(interface.name),
                                     interface.loopback, interface.mtu, interface.megabits,
                                     addresses));
    }
    return result;
}

// Where the secret is from: a variable or a file.  What is wrong with it is thrown.
std::string secret_origin() {
    return net::load_secret().origin();
}

void check_secret(const std::string &path) {
    const net::Secret secret(net::private_text(path), net::SecretSource::file, path);
}

} // namespace

void bind_network(nb::module_ &module) {
    module.def("interfaces", &interfaces, "filtered"_a);
    module.def("secret_origin", &secret_origin);
    module.def("secret_file", [] { return net::secret_file(); });
    module.def("check_secret", &check_secret, "path"_a);
}

} // namespace stretto::python
