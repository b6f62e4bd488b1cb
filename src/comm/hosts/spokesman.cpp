// SPDX-License-Identifier: BSD-3-Clause
#include "comm/hosts/spokesman.hpp"

#include <unistd.h>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/settings.hpp"
#include "comm/hosts/transports.hpp"
#include "comm/hosts/whereabouts.hpp"
#include "net/interfaces.hpp"
#include "net/sockets.hpp"

namespace stretto::comm {

namespace {

net::Purpose to_rank_0(int rank) {
    return {
        net::ConnectionKind::rendezvous, 0, static_cast<std::uint32_t>(rank), 0, 0, net::kProtocol};
}

} // namespace

Spokesman::Spokesman(const Identity &me, const net::Key &key, const Patience &patience)
    : rank_(me.rank), size_(me.size), address_(me.address), address_from_(me.address_from),
      patience_(patience), key_(key), resolving_(net::parse_endpoint(me.address_from, me.address)) {
}

void Spokesman::name(Seat seat) {
    named_.push_back(seat);
    unsaid_.push_back(std::move(seat));
    say_seats();
}

void Spokesman::say_seats() {
    if (!talk_)
        return;
    for (Seat &seat : std::exchange(unsaid_, {})) {
        for (transport::EndpointAddress &each : seat.endpoints)
            if (const auto *factory = transport_named(each.transport))
                factory->complete(each.bytes, way_);
        talk_->say(Word::seat, 0, write(seat));
    }
}

void Spokesman::complete() {
    talk_->say(Word::complete);
}

void Spokesman::failed(Status status, const std::string &why) noexcept {
    try {
        // If there is no connection yet, it is worth a moment.
        const std::uint64_t start = now_ns();
        constexpr std::uint64_t kMoment = 2'000'000'000; // ns
        while (!talk_ && now_ns() - start < kMoment && !patience_.ended()) {
            call();
            usleep(1000);
        }
        if (!talk_)
            return;
        talk_->say_failed(status, why);
        for (int tries = 0; tries < 100 && talk_->progress() && talk_->wants_to_send(); ++tries)
            usleep(1000);
    } catch (...) { // rank 0 sees the connection close
    }
}

// Until there is a connection.
void Spokesman::call() {
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
    case net::Dialer::State::trying: return hear_of_failure();
    case net::Dialer::State::failed:
        throw Error(dialer_->failure().status(), dialer_->failure().what() +
                                                     from_here(dialer_->target()) +
                                                     "; rank 0's address is from " + address_from_);
    case net::Dialer::State::open: begin_talk();
    }
}

// Whoever has the port of rank 0 need not answer.
void Spokesman::hear_of_failure() {
    const net::Address target = dialer_->target();
    if (!aside_ && patience_.waited() > kAside && target.port() < UINT16_MAX)
        aside_.emplace(
            key_, to_rank_0(rank_),
            std::vector{target.with_port(static_cast<std::uint16_t>(target.port() + 1))});
    if (aside_ && !aside_talk_ && aside_->progress(now_ns()) == net::Dialer::State::open) {
        aside_talk_.emplace(aside_->take(), 0u, size_);
        for (const Seat &seat : named_)
            aside_talk_->say(Word::seat, 0, write(seat));
    }
    if (!aside_talk_)
        return; // neither is who has that port a rank, if it is there at all
    const bool whole = aside_talk_->progress();
    Word word;
    while (aside_talk_->heard(word))
        if (word.kind == Word::failed)
            throw Talk::failure(word);
    if (!whole)
        aside_talk_.reset();
}

void Spokesman::progress() {
    if (!talk_)
        call();
    if (!talk_)
        return;
    const bool whole = talk_->progress();
    Word word;
    while (talk_->heard(word))
        hear(word);
    if (!whole && !may_go_)
        throw Error(Status::peer, "rank 0 has gone before the job was complete (" + talk_->why() +
                                      "); look at its output");
    if (!may_go_ && patience_.ended_for_word())
        throw Error(Status::timeout, "rank " + std::to_string(rank_) + " on " + net::host_name() +
                                         " has a connection to rank 0 at " + address_ +
                                         " and has not heard within " + patience_.seconds() +
                                         " that the job is complete; is rank 0 stopped, or its "
                                         "host cut off?");
}

void Spokesman::begin_talk() {
    net::Opened opened = dialer_->take();
    const net::Address peer = opened.peer;
    // First of all: what goes wrong from now on can be told.
    talk_.emplace(std::move(opened), 0u, size_);
    // Who reaches rank 0 by a loopback address may be reached by one as well.
    const net::Place place = peer.is_loopback() ? net::Place::anywhere : net::Place::other_host;
    try {
        way_ = {net::local_toward(peer, place).address, peer};
    } catch (const Error &error) {
        throw Error(error.status(), "rank " + std::to_string(rank_) + " on " + net::host_name() +
                                        " has no address for the others: " + error.what());
    }
    say_seats();
}

void Spokesman::take_table(const Word &word) {
    table_ = parse_table(word.bytes);
    if (!table_)
        throw Error(Status::mismatch, "the hosts of this job run different versions of Stretto; "
                                      "install one version");
    for (transport::Endpoints &endpoints : table_->endpoints)
        for (transport::EndpointAddress &each : endpoints)
            if (const auto *factory = transport_named(each.transport))
                factory->adapt(each.bytes, way_);
}

void Spokesman::hear(const Word &word) {
    switch (word.kind) {
    case Word::table: take_table(word); break;
    case Word::failed: throw Talk::failure(word);
    case Word::go: may_go_ = true; break;
    default: break;
    }
}

} // namespace stretto::comm
