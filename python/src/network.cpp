// SPDX-License-Identifier: BSD-3-Clause
// What Stretto finds of the network: interfaces, the way to a job, and whether there is a secret.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <tuple>

#include "base/config.hpp"
#include "bindings.hpp"
#include "net/address.hpp"
#include "net/interfaces.hpp"
#include "net/secret.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace stretto::python {

namespace {

// (name, up, whether it is used, loopback, MTU, Mbit/s, addresses) of each; `filtered`: used is
// what STRETTO_IFACE takes, and if that cannot be read an error is thrown.
nb::list interfaces(bool filtered) {
    const std::string iface = filtered ? read_config().network.iface : "";
    net::check_interface_filter(iface);
    const net::InterfaceFilter filter = net::interface_filter(iface);
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

// (peer, interface, address): where STRETTO_ADDR leads, and from which interface ("": none has the
// address) and address of this host; None if it is not set.  Asks the kernel, and for a name the
// resolver; sends nothing.  What keeps a job from going there is thrown.
std::optional<std::tuple<std::string, std::string, std::string>> way_to_job() {
    const Config::Network network = read_config().network;
    if (network.addr.empty())
        return std::nullopt;
    const net::Address peer =
        net::resolve(net::parse_endpoint(info(Setting::addr).variable, network.addr))[0];
    const net::LocalAddress here =
        net::local_toward(peer, net::Place::anywhere, net::interface_filter(network.iface));
    return std::tuple(peer.text(), here.interface, here.address.host());
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
    module.def("way_to_job", &way_to_job);
    module.def("secret_origin", &secret_origin);
    module.def("secret_file", [] { return net::secret_file(); });
    module.def("check_secret", &check_secret, "path"_a);
}

} // namespace stretto::python
