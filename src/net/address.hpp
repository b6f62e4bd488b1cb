// SPDX-License-Identifier: BSD-3-Clause
// Addresses, as text and in the kernel's form.
#pragma once

#include <cstdint>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

namespace stretto::net {

// An IPv4 or IPv6 address with a port, or none.
class Address {
public:
    Address() = default;
    // From the kernel's form; no address, if it is of another family.  An IPv4 address that comes
    // as an IPv6 one (::ffff:10.0.0.1, from a socket that takes both) is the IPv4 address.
    Address(const sockaddr *address, socklen_t size);
    // Reads "10.0.0.1", "::1", "fe80::1%eth0"; nothing for a name or any other text.
    static std::optional<Address> numeric(std::string_view host, std::uint16_t port);
    // Every address of this host.
    static Address any(int family, std::uint16_t port);

    bool known() const { return family() != AF_UNSPEC; }
    int family() const { return raw_.generic.sa_family; }
    std::uint16_t port() const;
    Address with_port(std::uint16_t port) const;
    bool is_loopback() const;
    bool is_link_local() const;                 // valid only together with an interface
    bool same_host(const Address &other) const; // ports are ignored
    // Whether the first `bits` bits of both are the same.
    bool same_network(const Address &other, unsigned bits) const;

    std::string host() const; // "10.0.0.1", "fe80::1%eth0"; "nowhere", if there is none
    std::string text() const; // "10.0.0.1:29400", "[::1]:29400"

    const sockaddr *raw() const { return &raw_.generic; }
    socklen_t size() const;

    friend bool operator==(const Address &a, const Address &b) {
        return a.same_host(b) && a.port() == b.port();
    }

private:
    union {
        sockaddr_in6 v6;
        sockaddr_in v4;
        sockaddr generic;
    } raw_{}; // all zero: AF_UNSPEC
};

// A host, by name or address, and a port.
struct Endpoint {
    std::string host;
    std::uint16_t port = 0;
};

// Checks the form, not whether the host exists.
bool can_name_host(std::string_view text);

// Reads "node7:29400", "10.0.0.1:29400", "[::1]:29400".  Throws Error(argument) that names
// `variable`, the source of the text, and describes its values.
Endpoint parse_endpoint(std::string_view variable, std::string_view text);

// Looks up an endpoint again and again, since a name may become known only when its host starts.  A
// thread asks the name servers, which may take long to answer.  If the caller stops waiting, the
// thread ends by itself.
class Resolving {
public:
    explicit Resolving(Endpoint endpoint);
    // The addresses, once they are known.  Never waits.
    std::optional<std::vector<Address>> progress(std::uint64_t now);
    // The result of the last look-up, for errors.
    const std::string &last() const { return last_; }

private:
    struct LookUp;
    void start();

    Endpoint endpoint_;
    std::shared_ptr<LookUp> look_up_; // the look-up that is running; null: none
    std::uint64_t next_ = 0, pause_ns_ = 100'000'000;
    std::string last_ = "no name server has answered";
};

// The addresses of an endpoint in the order in which the resolver prefers them.  May ask name
// servers, and so take seconds.  Throws Error(system) that names the host and a remedy.
std::vector<Address> resolve(const Endpoint &endpoint, int family = AF_UNSPEC);

} // namespace stretto::net
