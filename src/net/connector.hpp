// SPDX-License-Identifier: BSD-3-Clause
// Opens a connection to a rank that listens, or will: it tries until it succeeds, is turned down
// for good, or the time is over.
//
// Without a thread: whoever owns it waits for its descriptor and calls progress().
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
    // How long it may take to connect, and then to prove itself; who proves itself too late is
    // given twice as long each time, up to the most: all ranks of a job knock at once, perhaps over
    // slow links or on few processors.  And how long to wait between two tries: at first, and at
    // most.
    std::uint64_t try_ns = 5'000'000'000, most_try_ns = 60'000'000'000;
    std::uint64_t least_pause_ns = 10'000'000, most_pause_ns = 500'000'000;
};

class Connector {
public:
    // `addresses`: of the rank `purpose.to`; they are tried in turn.
    Connector(const Key &job, const ConnectionRole &purpose, std::vector<Address> addresses,
              DialOptions options = {});

    enum class State { trying, open, failed };
    State state() const { return state_; }
    // Goes on as far as it can without waiting.
    State progress(std::uint64_t now);
    // Whether a try is being made; else it rests between two.
    bool tries_now() const { return connecting_ || handshake_; }
    // For what to wait before the next call; the descriptor is -1 while it waits for time alone.
    pollfd waits_for() const;
    std::uint64_t wake_at() const; // of now_ns(), at the latest

    // The address that it tries, or was the last one.
    const Address &target() const { return addresses_[tries_ % addresses_.size()]; }
    // While it tries, for errors: how often, and how the last try ended.
    std::string so_far() const;
    std::uint64_t failed_tries() const { return tries_; }
    // Once, when it is open.
    Opened take();
    // When it failed: who, whom, where, why, and what to do.
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
    std::uint64_t proof_ns_;  // how long the next may take, once connected
    std::uint64_t tries_ = 0; // that have failed
    std::string last_;        // how
    std::optional<Error> failure_;
};

// Waits for it.  Throws its failure.
Opened wait_for(Connector &connector);

} // namespace stretto::net
