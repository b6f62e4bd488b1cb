// SPDX-License-Identifier: BSD-3-Clause
#include "comm/hosts/spokesman.hpp"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include "base/clock.hpp"
#include "base/settings.hpp"
#include "comm/hosts/whereabouts.hpp"
#include "net/interfaces.hpp"
#include "net/sockets.hpp"

namespace stretto::comm {

Spokesman::Spokesman(const Identity &me, const net::Key &key, const Patience &patience)
    : rank_(me.rank), size_(me.size), address_(me.address), patience_(patience),
      dialer_(key,
              {net::ConnectionKind::rendezvous, 0, static_cast<std::uint32_t>(me.rank), 0, 0,
               net::kProtocol},
              net::resolve(net::parse_endpoint("STRETTO_ADDR", me.address)),
              {.deadline = patience.deadline()}) {}

void Spokesman::name(Seat seat) {
    unsaid_.push_back(std::move(seat));
    say_seats();
}

void Spokesman::say_seats() {
    if (!talk_)
        return;
    for (Seat &seat : std::exchange(unsaid_, {})) {
        seat.address = own_;
        talk_->say(Word::seat, 0, write(seat));
    }
}

void Spokesman::complete() {
    talk_->say(Word::complete);
}

void Spokesman::failed(Status status, const std::string &why) noexcept {
    if (!talk_)
        return;
    try {
        talk_->say_failed(status, why);
        for (int tries = 0; tries < 100 && talk_->progress() && talk_->wants_to_send(); ++tries)
            usleep(1000);
    } catch (...) { // rank 0 sees the connection close
    }
}

void Spokesman::progress() {
    if (!talk_) {
        switch (dialer_.progress(now_ns())) {
        case net::Dialer::State::trying: return;
        case net::Dialer::State::failed:
            throw Error(dialer_.failure().status(),
                        dialer_.failure().what() + from_here(dialer_.target()));
        case net::Dialer::State::open: break;
        }
        begin_talk();
    }
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
    net::Opened opened = dialer_.take();
    const net::Address peer = opened.peer;
    // First of all: what goes wrong from now on can be told.
    talk_.emplace(std::move(opened), 0u, size_);
    // Who reaches rank 0 by a loopback address may be reached by one as well.
    const net::Place place = peer.is_loopback() ? net::Place::anywhere : net::Place::other_host;
    try {
        own_ = net::local_toward(peer, place).address;
    } catch (const Error &error) {
        throw Error(error.status(), "rank " + std::to_string(rank_) + " on " + net::host_name() +
                                        " has no address for the others: " + error.what());
    }
    say_seats();
}

// A name of rank 0's host may stand for a loopback address there (127.0.1.1 in Debian's
// /etc/hosts), by which nobody else reaches it: but for the way on which we have.
void Spokesman::take_table(const Word &word) {
    table_ = parse_table(word.bytes);
    if (!table_)
        throw Error(Status::mismatch, "the hosts of this job run different versions of Stretto; "
                                      "install one version");
    for (net::Address &address : table_->addresses)
        if (address.is_loopback())
            address = talk_->peer().address.with_port(address.port());
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
