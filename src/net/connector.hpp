// SPDX-License-Identifier: BSD-3-Clause
// Opens a connection to a rank that listens, or will listen.  It tries until it succeeds, the other
// rank refuses it for good, or the time is over.
//
// It has no thread: its owner waits for its descriptor and calls progress().
#pragma once

#include <cstdint>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "net/exchange.hpp"
#include "net/handshake.hpp"
#include "net/sockets.hpp"

namespace stretto::net {

struct DialOptions {
    std::uint64_t deadline = UINT64_MAX; // of now_ns()
    Address from = {};                   // the address of this host to connect from, or none
    // The time to connect, and then to complete the proof.  If the proof is too late, the next
    // attempt gets twice as long, up to the maximum, since all ranks of a job may connect at once
    // over slow links or on few processors.  And the pause between two attempts: at first, and at
    // most.
    std::uint64_t try_ns = 5'000'000'000, most_try_ns = 60'000'000'000;
    std::uint64_t least_pause_ns = 10'000'000, most_pause_ns = 500'000'000;
};

class Connector {
public:
    // `addresses`: those of the rank `purpose.to`, which are tried in turn.
    Connector(const Key &job, const ConnectionRole &purpose, std::vector<Address> addresses,
              DialOptions options = {});

    enum class State { trying, open, failed };
    State state() const { return state_; }
    // Progresses as far as it can without waiting.
    State progress(std::uint64_t now);
    // Whether an attempt is running; otherwise it pauses between two.
    bool tries_now() const { return connecting_ || handshake_; }
    // What the owner waits for before the next call; the descriptor is -1 while only time has to
    // pass.
    pollfd waits_for() const;
    std::uint64_t wake_at() const; // of now_ns(), at the latest

    // The address of this attempt, or of the last one.
    const Address &target() const { return addresses_[tries_ % addresses_.size()]; }
    // For errors while it tries: the number of attempts, and how the last one failed the last one
    // ended.
    std::string so_far() const;
    std::uint64_t failed_tries() const { return tries_; }
    // Called once, when it is open.
    Opened take();
    // After a failure: the two ranks, the address, the reason and the remedy.
    const Error &failure() const { return *failure_; }

private:
    void start(std::uint64_t now);
    void go_on(std::uint64_t now);
    void finish();
    void again(Refusal why, int error, std::uint64_t now);
    void fail(Status status, const std::string &why);

    Key job_;
    ConnectionRole purpose_;
    std::vector<Address> addresses_;
    DialOptions options_;

    State state_ = State::trying;
    std::optional<Connecting> connecting_; // until it is connected
    Descriptor socket_;                    // then this
    std::optional<Initiator> handshake_;   // over it
    std::uint64_t try_ends_ = 0;           // of the try that is being made
    std::uint64_t next_try_ = 0, pause_ns_;
    std::uint64_t proof_ns_;  // time for the next proof
    std::uint64_t tries_ = 0; // failed attempts
    std::string last_;        // how
    std::optional<Error> failure_;
};

// Waits until it is open.  Throws its failure.
Opened wait_for(Connector &connector);

} // namespace stretto::net
