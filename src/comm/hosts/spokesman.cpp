// SPDX-License-Identifier: BSD-3-Clause
#include "comm/hosts/spokesman.hpp"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include "base/clock.hpp"
#include "comm/hosts/whereabouts.hpp"
#include "net/interfaces.hpp"

namespace stretto::comm {

Spokesman::Spokesman(const Identity &me, const net::Key &key, std::uint64_t deadline)
    : size_(me.size), dialer_(key,
                              {net::ConnectionKind::rendezvous, 0,
                               static_cast<std::uint32_t>(me.rank), 0, 0, net::kProtocol},
                              net::resolve(net::parse_endpoint("STRETTO_ADDR", me.address)),
                              {.deadline = deadline}) {}

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
        net::Opened opened = dialer_.take();
        own_ = net::local_toward(opened.peer, net::Place::anywhere).address;
        talk_.emplace(std::move(opened), 0u, size_);
        say_seats();
    }
    const bool whole = talk_->progress();
    Word word;
    while (talk_->heard(word))
        hear(word);
    if (!whole && !may_go_)
        throw Error(Status::peer, "rank 0 has gone before the job was complete (" + talk_->why() +
                                      "); look at its output");
}

void Spokesman::hear(const Word &word) {
    switch (word.kind) {
    case Word::table:
        table_ = parse_table(word.bytes);
        if (!table_)
            throw Error(Status::mismatch, "the hosts of this job run different versions of "
                                          "Stretto; install one version");
        break;
    case Word::failed: throw Talk::failure(word);
    case Word::go: may_go_ = true; break;
    default: break;
    }
}

} // namespace stretto::comm
