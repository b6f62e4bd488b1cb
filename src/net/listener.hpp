// SPDX-License-Identifier: BSD-3-Clause
// Accepts connections of the job's own ranks, and of no other process.  Any process of the network
// may connect, as often and as long as it likes: all of them together cost a bounded number of
// descriptors and little time, and never keep a rank out.
//
// A listener has no thread: its owner waits for its descriptor and calls progress().
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
    // Handshakes at a time.  Each costs a descriptor, of which a process often has 1,024.  Other
    // connections wait in the kernel's queue.
    std::size_t strangers = 128;
    // The time for a proof: as long as the most patient initiator waits (connector.hpp).  A peer
    // that just stays connected harms no other: the next rule takes its place away.
    std::uint64_t patience_ns = 60'000'000'000;
    // When all places are taken, the oldest handshake is dropped, but not before it has had this
    // time: a proof takes two round trips, and a thousand ranks that connect at once must not
    // displace one another.  With a longer time fewer strangers could fill the queue; with this one
    // it takes 6,400 a second.
    std::uint64_t grace_ns = 20'000'000;
    // Called for ranks that have proved themselves: whether such a connection is wanted.
    Responder::Judge judge = {};
    // Called with a sentence for the first refusal of each kind.
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

    // The address that it listens at, with the port that peers connect to.
    const Address &address() const { return address_; }

    // Readable when progress() has something to do; at wake_at() (of now_ns(); UINT64_MAX: never)
    // it has something to do in any case.
    int descriptor() const { return poll_.get(); }
    std::uint64_t wake_at() const;
    void progress(std::uint64_t now);

    // The next connection that is agreed on.
    std::optional<Opened> take();

    // The job continues in another epoch.  A peer whose handshake names the old one has to connect
    // again.
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
    Descriptor spare_; // the spare descriptor, closed for a moment when there are no others
    Key job_;
    LocalIdentity station_;
    ListenerOptions options_;
    Address address_;
    std::vector<std::unique_ptr<UnauthenticatedPeer>> strangers_; // the oldest first
    std::vector<epoll_event> events_;
    std::deque<Opened> opened_;
    std::array<std::uint64_t, kRefusals> refused_{};
    std::uint64_t rests_until_ = 0; // does not accept; 0: it does
    bool full_ = false; // all places are taken, or else no descriptors or memory are left
};

} // namespace stretto::net
