// SPDX-License-Identifier: BSD-3-Clause
#include "net/connector.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/interrupted.hpp"

namespace stretto::net {

namespace {

// Whether another attempt may succeed.
bool passes(Refusal refusal, const Other &other) {
    switch (refusal) {
    case Refusal::late:
    case Refusal::closed:
    case Refusal::crowded:
    case Refusal::descriptors:
    case Refusal::unreachable: return true;
    case Refusal::epoch:
        return other.epoch < other.purpose.epoch; // the job's change of epoch will reach it
    default: return false;
    }
}

Status status_of(Refusal refusal) {
    switch (refusal) {
    case Refusal::epoch: return Status::revoked;
    case Refusal::stranger:
    case Refusal::reflection: return Status::argument; // of the address
    default: return Status::mismatch;
    }
}

} // namespace

Connector::Connector(const Key &job, const ConnectionRole &purpose, std::vector<Address> addresses,
                     DialOptions options)
    : job_(job), purpose_(purpose), addresses_(std::move(addresses)), options_(options),
      pause_ns_(options.least_pause_ns), proof_ns_(options.try_ns) {
    if (addresses_.empty())
        throw Error(Status::internal, "no address to connect to");
}

Connector::State Connector::progress(std::uint64_t now) {
    if (state_ == State::trying && !tries_now() && now >= next_try_ && now < options_.deadline)
        start(now);
    if (state_ == State::trying && tries_now())
        go_on(now);
    if (state_ == State::trying && now >= options_.deadline)
        fail(Status::timeout, "in time (" + std::to_string(tries_) + " tries): " +
                                  (last_.empty() ? "it was too late to begin with" : last_));
    return state_;
}

void Connector::start(std::uint64_t now) {
    try {
        connecting_.emplace(target(), options_.from);
        try_ends_ = now + options_.try_ns;
    } catch (const Error &error) {
        fail(error.status(), std::string(": ") + error.what());
    }
}

void Connector::go_on(std::uint64_t now) {
    if (connecting_) {
        pollfd entry{connecting_->descriptor(), POLLOUT, 0};
        if (poll_for({&entry, 1}, 0) <= 0 && now < try_ends_)
            return;
        if (entry.revents == 0)
            return again(Refusal::unreachable, ETIMEDOUT, now);
        if (const int error = connecting_->outcome(); error != 0)
            return again(Refusal::unreachable, error, now);
        socket_ = connecting_->take();
        connecting_.reset();
        handshake_.emplace(job_, purpose_, random_bytes());
        try_ends_ = now + proof_ns_;
    }
    switch (exchange(socket_.get(), *handshake_)) {
    case Progress::over: return finish();
    case Progress::closed: return again(Refusal::closed, 0, now);
    case Progress::waiting:
        if (now < try_ends_)
            return;
        proof_ns_ = std::min(2 * proof_ns_, options_.most_try_ns);
        again(Refusal::late, 0, now);
    }
}

void Connector::finish() {
    if (handshake_->state() == Handshake::State::agreed) {
        state_ = State::open;
        return;
    }
    const Refusal refusal = handshake_->refusal();
    if (passes(refusal, handshake_->other()))
        return again(refusal, 0, now_ns());
    fail(status_of(refusal), ": it " + told_to_initiator(refusal, handshake_->other()));
}

// Tries the next address at once, and pauses after the last one.
void Connector::again(Refusal why, int error, std::uint64_t now) {
    const Other other = handshake_ ? handshake_->other() : Other{};
    last_ = "the last time " + target().text() + " " + told_to_initiator(why, other) +
            (error != 0 ? std::string(" (") + std::strerror(error) + ")" : "");
    connecting_.reset();
    handshake_.reset();
    socket_ = Descriptor();
    ++tries_;
    if (tries_ % addresses_.size() != 0)
        return;
    next_try_ = now + pause_ns_;
    pause_ns_ = std::min(2 * pause_ns_, options_.most_pause_ns);
}

void Connector::fail(Status status, const std::string &why) {
    std::string where;
    for (const Address &address : addresses_)
        where += (where.empty() ? "" : ", ") + address.text();
    std::string remedy;
    if (status == Status::timeout)
        remedy =
            "; see whether rank " + std::to_string(purpose_.to) +
            " runs and listens there, whether a firewall is in between, and by which interface "
            "this host goes there (STRETTO_IFACE)";
    failure_.emplace(status, "rank " + std::to_string(purpose_.from) + " on " + host_name() +
                                 " could not open a " + std::string(name(purpose_.kind)) +
                                 " connection to rank " + std::to_string(purpose_.to) + " at " +
                                 where + (why.starts_with(':') ? why : " " + why) + remedy);
    state_ = State::failed;
    connecting_.reset();
    handshake_.reset();
    socket_ = Descriptor();
}

std::string Connector::so_far() const {
    if (tries_ == 0)
        return connecting_  ? "a call of it has not been taken yet"
               : handshake_ ? "it has taken a call and not answered yet"
                            : "it has not been called";
    return std::to_string(tries_) + (tries_ == 1 ? " try: " : " tries: ") + last_;
}

pollfd Connector::waits_for() const {
    if (state_ != State::trying)
        return {-1, 0, 0};
    if (connecting_)
        return {connecting_->descriptor(), POLLOUT, 0};
    if (!handshake_)
        return {-1, 0, 0};
    return {socket_.get(), static_cast<short>(handshake_->outgoing().empty() ? POLLIN : POLLOUT),
            0};
}

std::uint64_t Connector::wake_at() const {
    if (state_ != State::trying)
        return UINT64_MAX;
    return std::min(options_.deadline, tries_now() ? try_ends_ : next_try_);
}

Opened Connector::take() {
    const Address peer = remote_address(socket_.get());
    return {std::move(socket_), handshake_->agreement(), peer};
}

Opened wait_for(Connector &connector) {
    for (;;) {
        const std::uint64_t now = now_ns();
        if (connector.progress(now) == Connector::State::failed)
            throw connector.failure();
        if (connector.state() == Connector::State::open)
            return connector.take();
        pollfd entry = connector.waits_for();
        const std::uint64_t until = connector.wake_at();
        const std::uint64_t left = until > now ? (until - now + 999'999) / 1'000'000 : 0;
        (void)poll(&entry, 1, static_cast<int>(std::min<std::uint64_t>(left, INT_MAX)));
    }
}

} // namespace stretto::net
