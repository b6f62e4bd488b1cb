// SPDX-License-Identifier: BSD-3-Clause
#include "net/interfaces.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>

#include "base/kernel_files.hpp"
#include "base/settings.hpp"
#include "base/spelling.hpp"
#include "base/status.hpp"

namespace stretto::net {

namespace {

std::optional<unsigned> number_in(const std::string &file) {
    const std::string text = contents(file);
    unsigned number = 0; // a driver that does not know gives -1 or cannot be read
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && number > 0 ? std::optional(number) : std::nullopt;
}

unsigned ones(std::span<const std::uint8_t> bytes) {
    unsigned count = 0;
    for (const std::uint8_t byte : bytes)
        count += static_cast<unsigned>(std::popcount(byte));
    return count;
}

// The length of a netmask.  Address is not used, since it would turn ::ffff:0:0 into an IPv4
// address.
unsigned prefix_of(const sockaddr *mask) {
    if (mask == nullptr)
        return 0;
    if (mask->sa_family == AF_INET) {
        sockaddr_in v4;
        std::memcpy(&v4, mask, sizeof(v4));
        return static_cast<unsigned>(std::popcount(v4.sin_addr.s_addr));
    }
    sockaddr_in6 v6;
    std::memcpy(&v6, mask, sizeof(v6));
    return ones(v6.sin6_addr.s6_addr);
}

std::string written(const Interface::Assigned &assigned) {
    return assigned.address.host() + "/" + std::to_string(assigned.prefix);
}

} // namespace

std::vector<Interface> interfaces() {
    ifaddrs *list = nullptr;
    if (getifaddrs(&list) != 0)
        throw_errno("cannot list the network interfaces of this host");
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(list, &freeifaddrs);
    std::vector<Interface> all;
    for (const ifaddrs *each = list; each != nullptr; each = each->ifa_next) {
        auto found = std::find_if(all.begin(), all.end(), [&](const Interface &interface) {
            return interface.name == each->ifa_name;
        });
        if (found == all.end()) {
            const std::string folder = "/sys/class/net/" + std::string(each->ifa_name);
            Interface interface;
            interface.name = each->ifa_name;
            interface.up = (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_RUNNING) != 0;
            interface.loopback = (each->ifa_flags & IFF_LOOPBACK) != 0;
            interface.mtu = number_in(folder + "/mtu").value_or(0);
            interface.megabits = number_in(folder + "/speed");
            found = all.insert(all.end(), std::move(interface));
        }
        if (each->ifa_addr == nullptr)
            continue;
        const int family = each->ifa_addr->sa_family;
        const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        if (family == AF_INET || family == AF_INET6)
            found->addresses.push_back(
                {Address(each->ifa_addr, size), prefix_of(each->ifa_netmask)});
    }
    return all;
}

std::string in_words(std::span<const Interface> all) {
    std::string text;
    for (const Interface &interface : all) {
        text += (text.empty() ? "" : ", ") + interface.name;
        for (const Interface::Assigned &assigned : interface.addresses)
            text += " " + written(assigned);
        if (!interface.up)
            text += " (down)";
        else if (interface.addresses.empty())
            text += " (no address)";
    }
    return text.empty() ? "none" : text;
}

InterfaceFilter::InterfaceFilter(std::string_view list) : text_(list) {
    const auto refuse = [&](const std::string &why) {
        throw Error(Status::argument, std::string(info(Setting::iface).variable) + " is '" +
                                          shown(text_) + "', " + why +
                                          "; it takes beginnings of names, as eth0,ib; whole "
                                          "names, as =eth0; or names to leave out, as ^docker,lo");
    };
    if (list.starts_with('^')) {
        excludes_ = true;
        list.remove_prefix(1);
    }
    if (list.starts_with('=')) {
        whole_ = true;
        list.remove_prefix(1);
    }
    for (;;) {
        const std::size_t comma = list.find(',');
        const std::string_view word = list.substr(0, comma);
        if (word.empty())
            refuse("which has an empty name");
        if (word.find_first_of("^= ") != std::string_view::npos)
            refuse("in which ^ and = stand elsewhere than before the whole list");
        words_.emplace_back(word);
        if (comma == std::string_view::npos)
            return;
        list.remove_prefix(comma + 1);
    }
}

bool InterfaceFilter::takes(std::string_view interface) const {
    const bool named = std::any_of(words_.begin(), words_.end(), [&](const std::string &word) {
        return whole_ ? interface == word : interface.starts_with(word);
    });
    return words_.empty() || named != excludes_;
}

void check_interface_filter(std::string_view setting) {
    if (!setting.empty())
        (void)InterfaceFilter(setting);
}

InterfaceFilter interface_filter(std::string_view setting) {
    try {
        return setting.empty() ? InterfaceFilter() : InterfaceFilter(setting);
    } catch (const Error &) {
        return {};
    }
}

} // namespace stretto::net
