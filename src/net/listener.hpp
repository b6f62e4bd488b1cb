// SPDX-License-Identifier: BSD-3-Clause
// Lets in the connections of a job's own ranks, and nobody else.  Everybody on the network may
// knock, as often and as long as they like: they cost a bounded number of descriptors and a little
// time, and never keep a rank out.
//
// Without a thread: whoever owns it waits for its descriptor and calls progress().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/epoll.h>
#include <vector>

#include "base/descriptor.hpp"
#include "net/exchange.hpp"
#include "net/handshake.hpp"

namespace stretto::net {

struct ListenerOptions {
    // Who is being let in at a time; each costs a descriptor, of which a process often has 1,024.
    // Others wait in the kernel's queue.
    std::size_t strangers = 128;
    // How long proving itself may take: as long as the most patient initiator waits
    // (connector.hpp). Who only stays costs others nothing: the next rule takes its place away.
    std::uint64_t patience_ns = 60'000'000'000;
    // When all places are taken, the oldest makes room, but not before it had so much time: a proof
    // takes two round trips, and a thousand ranks that come at once must not drive one another out.
    // Longer, and fewer strangers would do to fill the queue: these are 6,400 a second.
    std::uint64_t grace_ns = 20'000'000;
    // Whether such a connection is wanted, asked of ranks that have proved themselves.
    Responder::Judge judge = {};
    // Is told of the first refusal of each kind, in a sentence.
    std::function<void(Refusal, const std::string &)> report = {};
};

class Listener {
public:
    // `socket` listens (net/sockets.hpp).
    Listener(Descriptor socket, const Key &job, const LocalIdentity &station,
             ListenerOptions options = {});
    ~Listener();
    Listener(const Listener &) = delete;
    Listener &operator=(const Listener &) = delete;

    // What it listens at; the port is the one to tell others.
    const Address &address() const { return address_; }

    // Readable when progress() has something to do; at wake_at() (of now_ns(); UINT64_MAX: never)
    // it has something to do in any case.
    int descriptor() const { return poll_.get(); }
    std::uint64_t wake_at() const;
    void progress(std::uint64_t now);

    // The next connection that is agreed on.
    std::optional<Opened> take();

    // The job goes on in another epoch.  Who is being let in into the old one has to come again.
    void set_epoch(std::uint64_t epoch);

    std::size_t strangers() const { return strangers_.size(); }
    std::uint64_t refused(Refusal kind) const { return refused_[static_cast<std::size_t>(kind)]; }
    std::uint64_t refused() const; // of all kinds

private:
    struct UnauthenticatedPeer;

    void accept_all(std::uint64_t now);
    enum class Accepted { one, none, failed };
    Accepted accept_one(std::uint64_t now);
    Accepted turn_one_away();
    bool has_room(std::uint64_t now);
    void hear(UnauthenticatedPeer &stranger);
    void turn_away(UnauthenticatedPeer &stranger, Refusal why);
    void forget(UnauthenticatedPeer &stranger);
    void drop_late(std::uint64_t now);
    void refuse(Refusal kind, const Other &other, const Address &peer);
    void rest_until(std::uint64_t when);
    void go_on();

    Descriptor socket_, poll_;
    Descriptor spare_; // to be given up for a moment when there are no others
    Key job_;
    LocalIdentity station_;
    ListenerOptions options_;
    Address address_;
    std::vector<std::unique_ptr<UnauthenticatedPeer>> strangers_; // the oldest first
    std::vector<epoll_event> events_;
    std::deque<Opened> opened_;
    std::array<std::uint64_t, kRefusals> refused_{};
    std::uint64_t rests_until_ = 0; // does not accept; 0: it does
    bool full_ = false;             // for want of places; else of descriptors or memory
};

} // namespace stretto::net
