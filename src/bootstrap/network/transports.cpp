// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/transports.hpp"

#include <algorithm>
#include <utility>

#include "base/spelling.hpp"
#include "base/status.hpp"
#include "bootstrap/network/tcp_address.hpp"
#include "bootstrap/network/ucx_transport.hpp"

namespace stretto::bootstrap {

using transport::EndpointAddress;
using transport::Endpoints;
using transport::TransportFactory;

namespace {

auto &added = *new std::vector<const TransportFactory *>; // threads may outlive main()

// What keeps a rank from a transport, in words; "" if nothing does.
std::string obstacle(std::string_view transport, std::uint16_t version, const Endpoints &endpoints,
                     std::span<const Lack> lacks) {
    const EndpointAddress *own = find(endpoints, transport);
    if (own != nullptr && own->for_data && own->version == version)
        return "";
    for (const Lack &lack : lacks)
        if (lack.transport == transport)
            return lack.why;
    if (own == nullptr)
        return "its Stretto knows none of that name; install one version everywhere";
    return "it has version " + std::to_string(own->version) + " of it, others have version " +
           std::to_string(version) + "; install one version everywhere";
}

} // namespace

void add_transport(const TransportFactory &factory) {
    added.push_back(&factory);
}

std::vector<const TransportFactory *> transports() {
    std::vector<const TransportFactory *> all = added;
    all.push_back(&ucx_factory());
    all.push_back(&tcp_factory());
    return all;
}

const TransportFactory *transport_named(std::string_view name) {
    for (const TransportFactory *each : transports())
        if (each->name() == name)
            return each;
    return nullptr;
}

void check_transport(const std::string &wanted) {
    if (wanted == "auto" || transport_named(wanted) != nullptr)
        return;
    std::vector<std::string_view> names{"auto"};
    std::string list = "auto";
    for (const TransportFactory *each : transports()) {
        names.push_back(each->name());
        list += ", " + std::string(each->name());
    }
    throw Error(Status::argument, "STRETTO_TRANSPORT is '" + shown(wanted) +
                                      "', and there is no such transport; it takes " + list +
                                      "; did you mean " + std::string(nearest_word(wanted, names)) +
                                      "?");
}

std::shared_ptr<transport::RemoteTransport> OpenTransports::named(std::string_view name) const {
    for (std::size_t i = 0; i < others.size(); ++i)
        if (endpoints[i].transport == name)
            return others[i];
    return name == tcp_factory().name() ? tcp : nullptr;
}

OpenTransports open_transports(const transport::Opening &opening) {
    const std::string &wanted = opening.network.transport;
    OpenTransports open;
    const auto why_not = [&](const TransportFactory &factory) {
        return wanted == "auto" || wanted == factory.name()
                   ? factory.missing(opening)
                   : "STRETTO_TRANSPORT is '" + wanted + "' there; set it to " +
                         std::string(factory.name()) + " or auto";
    };
    const auto lack = [&](const TransportFactory &factory, const std::string &why) {
        open.lacks.push_back({std::string(factory.name()), why.substr(0, kMostWhyBytes)});
    };
    std::size_t room = transport::kMostAddressBytes - kTcpAddressBytes;
    for (const TransportFactory *factory : transports()) {
        if (factory == &tcp_factory()) // which comes last
            continue;
        std::string why = why_not(*factory);
        try {
            if (why.empty()) {
                std::shared_ptr<transport::RemoteTransport> one = factory->open(opening);
                std::vector<std::byte> address = one->address();
                if (address.size() > room ||
                    open.endpoints.size() + 1 == transport::kMostTransports)
                    throw Error(Status::system,
                                "its address of " + std::to_string(address.size()) +
                                    " bytes has no room in the table of the job; let it use fewer "
                                    "devices, or set STRETTO_TRANSPORT to the one that is wanted");
                room -= address.size();
                open.endpoints.push_back(
                    {std::string(factory->name()), factory->version(), true, std::move(address)});
                open.others.push_back(std::move(one));
            }
        } catch (const Error &error) {
            why = error.what();
        }
        if (!why.empty())
            lack(*factory, why);
    }
    const std::string why = why_not(tcp_factory());
    if (!why.empty())
        lack(tcp_factory(), why);
    open.tcp = std::make_shared<TcpTransport>(opening);
    open.endpoints.push_back({std::string(tcp_factory().name()), tcp_factory().version(),
                              why.empty(), open.tcp->address()});
    return open;
}

std::string agreed_transport(std::span<const Endpoints> of_ranks) {
    for (const EndpointAddress &each : of_ranks.front())
        if (std::ranges::all_of(of_ranks, [&](const Endpoints &endpoints) {
                return obstacle(each.transport, each.version, endpoints, {}).empty();
            }))
            return each.transport;
    return "";
}

std::string no_common_transport(std::span<const Endpoints> of_ranks,
                                std::span<const std::vector<Lack>> lacks,
                                std::span<const std::string> who) {
    // Each transport that any rank can use, the preferred of rank 0 first, and then those that no
    // rank can use.
    std::vector<std::pair<std::string, std::uint16_t>> all;
    const auto note = [&](const std::string &name, std::uint16_t version) {
        if (std::ranges::none_of(all, [&](const auto &each) { return each.first == name; }))
            all.emplace_back(name, version);
    };
    for (const Endpoints &endpoints : of_ranks)
        for (const EndpointAddress &each : endpoints)
            if (each.for_data)
                note(each.transport, each.version);
    for (const std::vector<Lack> &own : lacks)
        for (const Lack &each : own)
            note(each.transport, 0);
    std::string sentence = "the ranks have no transport in common";
    for (const auto &[name, version] : all) {
        std::string first;
        int more = -1;
        for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
            if (const std::string why = obstacle(name, version, of_ranks[rank], lacks[rank]);
                !why.empty() && ++more == 0)
                first = who[rank] + " cannot use " + name + " (" + why + ")";
        sentence += "; " + first + (more > 0 ? ", nor can " + std::to_string(more) + " more" : "");
    }
    return sentence;
}

} // namespace stretto::bootstrap
