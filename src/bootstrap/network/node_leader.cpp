// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/node_leader.hpp"

#include <unistd.h>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "bootstrap/network/local_route.hpp"
#include "bootstrap/network/rendezvous.hpp"
#include "bootstrap/network/transports.hpp"
#include "bootstrap/phrases.hpp"
#include "net/sockets.hpp"

namespace stretto::bootstrap {

namespace {

net::ConnectionRole to_rank_0(int rank) {
    return {
        net::ConnectionKind::rendezvous, 0, static_cast<std::uint32_t>(rank), 0, 0, net::kProtocol};
}

} // namespace

NodeLeader::NodeLeader(const Config::Network &config, const Identity &me, const net::Key &key,
                       const Patience &patience)
    : filter_(net::interface_filter(config.iface)), congestion_(config.congestion), rank_(me.rank),
      size_(me.size), address_(me.address), address_from_(me.address_from), patience_(patience),
      key_(key), resolving_(net::parse_endpoint(me.address_from, me.address)) {}

void NodeLeader::name(RankRecord record) {
    named_.push_back(record);
    unsaid_.push_back(std::move(record));
    say_seats();
}

void NodeLeader::say_seats() {
    if (!channel_)
        return;
    for (RankRecord &record : std::exchange(unsaid_, {})) {
        for (transport::EndpointAddress &each : record.endpoints)
            if (const auto *factory = transport_named(each.transport))
                factory->complete(each.bytes, way_);
        channel_->say(BootstrapMessage::record, 0, write(record));
    }
}

void NodeLeader::complete() {
    channel_->say(BootstrapMessage::complete);
}

void NodeLeader::failed(Status status, const std::string &why) noexcept {
    try {
        // If there is no connection yet, it is worth a moment.
        const std::uint64_t start = now_ns();
        constexpr std::uint64_t kReportWithinNs = 2'000'000'000; // ns
        while (!channel_ && now_ns() - start < kReportWithinNs && !patience_.ended()) {
            call();
            usleep(1000);
        }
        if (!channel_)
            return;
        channel_->say_failed(status, why);
        for (int tries = 0; tries < 100 && channel_->progress() && channel_->wants_to_send();
             ++tries)
            usleep(1000);
    } catch (...) { // rank 0 sees the connection close
    }
}

// Until there is a connection.
void NodeLeader::call() {
    if (!dialer_) {
        auto addresses = resolving_.progress(now_ns());
        if (!addresses && patience_.ended())
            throw Error(Status::timeout, rank_here(rank_) + " knows no address of rank 0 after " +
                                             patience_.seconds() + ": " + resolving_.last() + " (" +
                                             address_from_ + ")");
        if (!addresses)
            return;
        dialer_.emplace(key_, to_rank_0(rank_), std::move(*addresses),
                        net::DialOptions{.deadline = patience_.deadline()});
    }
    switch (dialer_->progress(now_ns())) {
    case net::Connector::State::trying: return hear_of_failure();
    case net::Connector::State::failed:
        throw Error(dialer_->failure().status(), dialer_->failure().what() +
                                                     from_here(dialer_->target(), filter_) +
                                                     "; rank 0's address is from " + address_from_);
    case net::Connector::State::open: begin_talk();
    }
}

// The process that has the port of rank 0 need not answer.  If it is not rank 0, rank 0 says why at
// the next port.
void NodeLeader::hear_of_failure() {
    const net::Address target = dialer_->target();
    if (!aside_ && patience_.waited() > kAsideNs && target.port() < UINT16_MAX)
        aside_.emplace(
            key_, to_rank_0(rank_),
            std::vector{target.with_port(static_cast<std::uint16_t>(target.port() + 1))});
    if (aside_ && !aside_talk_ && aside_->progress(now_ns()) == net::Connector::State::open) {
        aside_talk_.emplace(aside_->take(), 0u, size_, congestion_);
        for (const RankRecord &record : named_)
            aside_talk_->say(BootstrapMessage::record, 0, write(record));
    }
    if (!aside_talk_)
        return; // the process that has that port is no rank either, if there is one
    const bool whole = aside_talk_->progress();
    BootstrapMessage word;
    while (aside_talk_->heard(word))
        if (word.kind == BootstrapMessage::failed)
            throw BootstrapChannel::failure(word);
    if (!whole)
        aside_talk_.reset();
}

void NodeLeader::progress() {
    if (!channel_)
        call();
    if (!channel_)
        return;
    const bool whole = channel_->progress();
    BootstrapMessage word;
    while (channel_->heard(word))
        hear(word);
    if (!whole && !may_go_)
        throw Error(Status::peer, "rank 0 has gone before the job was complete (" +
                                      channel_->why() + "); look at its output");
    if (!may_go_ && patience_.ended_for_word())
        throw Error(Status::timeout, "rank " + std::to_string(rank_) + " on " + net::host_name() +
                                         " has a connection to rank 0 at " + address_ +
                                         " and has not heard within " + patience_.seconds() +
                                         " that the job is complete; is rank 0 stopped, or its "
                                         "host cut off?");
}

void NodeLeader::begin_talk() {
    net::Opened opened = dialer_->take();
    const net::Address peer = opened.peer;
    // First of all: what goes wrong from now on can be told.
    channel_.emplace(std::move(opened), 0u, size_, congestion_);
    // Who reaches rank 0 by a loopback address may be reached by one as well.
    const net::Place place = peer.is_loopback() ? net::Place::anywhere : net::Place::other_host;
    try {
        way_ = {net::local_toward(peer, place, filter_).address, peer};
    } catch (const Error &error) {
        throw Error(error.status(), "rank " + std::to_string(rank_) + " on " + net::host_name() +
                                        " has no address for the others: " + error.what());
    }
    say_seats();
}

void NodeLeader::take_table(const BootstrapMessage &word) {
    table_ = parse_table(word.bytes);
    if (!table_)
        throw Error(Status::mismatch, "the hosts of this job run different versions of Stretto; "
                                      "install one version");
    for (transport::Endpoints &endpoints : table_->endpoints)
        for (transport::EndpointAddress &each : endpoints)
            if (const auto *factory = transport_named(each.transport))
                factory->adapt(each.bytes, way_);
}

void NodeLeader::hear(const BootstrapMessage &word) {
    switch (word.kind) {
    case BootstrapMessage::table: take_table(word); break;
    case BootstrapMessage::failed: throw BootstrapChannel::failure(word);
    case BootstrapMessage::go: may_go_ = true; break;
    default: break;
    }
}

} // namespace stretto::bootstrap
