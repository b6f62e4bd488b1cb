// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/out_of_band.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <sys/stat.h>
#include <vector>

#include "base/kernel_id.hpp"
#include "base/status.hpp"
#include "bootstrap/join.hpp"
#include "net/bytes.hpp"
#include "net/crypto.hpp"
#include "net/interfaces.hpp"
#include "net/sockets.hpp"

namespace stretto::bootstrap {

namespace {

// Text in a message of fixed size.
template<std::size_t N>
class Text {
public:
    Text &operator=(std::string_view text) {
        const std::size_t length = std::min(text.size(), N - 1);
        std::memcpy(characters_, text.data(), length);
        characters_[length] = '\0';
        return *this;
    }
    std::string get() const { return std::string(characters_, strnlen(characters_, N)); }

private:
    char characters_[N] = {};
};

// Why a rank cannot go on, if it cannot.
struct Trouble {
    std::int32_t status = 0; // Status
    Text<512> why;

    void take(const Error &error) {
        status = static_cast<std::int32_t>(error.status());
        why = error.what();
    }
};

// What each rank shows of itself.
struct PeerInfo {
    Trouble trouble;
    // Equal on ranks that reach one another's sockets without a network, as far as that is known.
    std::uint64_t kernel = 0, network = 0;
    std::int32_t apart = 0; // STRETTO_FAKE_HOSTS says so
    std::array<Text<64>, 4> addresses;
};

// What rank 0 answers.
struct RootInfo {
    Trouble trouble;
    Text<48> job;
    Text<80> secret;
    Text<256> address;
};

std::string hexadecimal(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte each : bytes)
        for (const auto digit : {std::to_integer<int>(each) >> 4, std::to_integer<int>(each) & 15})
            text += "0123456789abcdef"[digit];
    return text;
}

PeerInfo own_info(const Config &config) {
    check(config);
    PeerInfo card;
    card.kernel = kernel_id();
    struct stat space{};
    if (stat("/proc/self/ns/net", &space) == 0)
        card.network = space.st_ino;
    card.apart = config.network.fake_hosts.empty() ? 0 : 1;
    const net::InterfaceFilter filter = net::interface_filter(config.network.iface);
    std::size_t known = 0;
    for (const net::Interface &interface : net::interfaces())
        for (const net::Interface::Assigned &assigned : interface.addresses)
            if (interface.up && !interface.loopback && filter.takes(interface.name) &&
                !assigned.address.is_link_local() && known < card.addresses.size())
                card.addresses[known++] = assigned.address.host();
    return card;
}

bool same_host(const PeerInfo &a, const PeerInfo &b) {
    return a.kernel == b.kernel && a.network == b.network && a.apart == 0 && b.apart == 0;
}

// An address of this host by which `other` may reach it.
net::Address address_toward(const PeerInfo &other, int rank, const net::InterfaceFilter &filter) {
    const auto place = other.apart != 0 ? net::Place::anywhere : net::Place::other_host;
    std::string why = "it has no network";
    for (const auto &text : other.addresses)
        if (const auto peer = net::Address::numeric(text.get(), 0)) {
            try {
                return net::local_toward(*peer, place, filter).address;
            } catch (const Error &error) {
                why = error.what();
            }
        }
    if (other.apart != 0)
        return *net::Address::numeric("127.0.0.1", 0);
    throw Error(Status::system, "rank 0 has no way to rank " + std::to_string(rank) + ": " + why);
}

// The first of `all` that is on another host than rank 0: to its host rank 0 needs an address.
int elsewhere(std::span<const PeerInfo> all) {
    const auto other = std::find_if(all.begin() + 1, all.end(),
                                    [&](const PeerInfo &each) { return !same_host(all[0], each); });
    return other == all.end() ? -1 : static_cast<int>(other - all.begin());
}

} // namespace

Identity introduce(const Config &config, int rank, int size, const Allgather &allgather) {
    const Config::Network &network = config.network;
    const auto gathered = [&](const auto &mine) {
        std::vector<std::remove_cvref_t<decltype(mine)>> all(static_cast<std::size_t>(size));
        allgather(&mine, all.data(), sizeof mine);
        for (std::size_t each = 0; each < all.size(); ++each)
            if (const Trouble &trouble = all[each].trouble; trouble.status != 0)
                throw Error(static_cast<Status>(trouble.status),
                            "rank " + std::to_string(each) + " cannot join: " + trouble.why.get());
        return all;
    };

    PeerInfo mine;
    try {
        mine = own_info(config);
    } catch (const Error &error) {
        mine.trouble.take(error);
    }
    const std::vector<PeerInfo> cards = gathered(mine);

    RootInfo invitation;
    Identity me{rank, size, "", "MPI"};
    if (rank == 0)
        try {
            const net::Bytes32 random = net::random_bytes();
            invitation.job = hexadecimal(std::span(random).first<16>());
            if (const int other = elsewhere(cards); other > 0) {
                invitation.secret = hexadecimal(net::random_bytes());
                if (!network.addr.empty()) {
                    invitation.address = network.addr;
                } else {
                    me.door = std::make_shared<Descriptor>(
                        net::listen_within(net::port_range(network.ports), 0));
                    const std::uint16_t port = net::local_address(me.door->get()).port();
                    invitation.address = address_toward(cards[static_cast<std::size_t>(other)],
                                                        other, net::interface_filter(network.iface))
                                             .with_port(port)
                                             .text();
                }
            }
        } catch (const Error &error) {
            invitation.trouble.take(error);
        }
    const RootInfo answer = gathered(invitation).front();
    me.job = "introduced-" + answer.job.get();
    me.secret = answer.secret.get();
    me.address = answer.address.get();
    me.called = "this MPI job";
    if (network.addr.empty())
        me.address_from = "what rank 0 found; STRETTO_IFACE or STRETTO_ADDR choose another";
    return me;
}

} // namespace stretto::bootstrap
