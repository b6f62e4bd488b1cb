// SPDX-License-Identifier: BSD-3-Clause
// Which receive takes which message.
//
// A receiver has two queues: posted receives that wait for a message, and messages that arrived and
// wait for a receive ("unexpected").  They are matched as MPI defines it:
//
// - A receive takes a message of its context whose source and tag are equal to its own; kAny, in a
//   receive, is equal to everything.
// - Of the receives that fit an arriving message, the one that was posted first takes it.
// - Of the messages that fit a newly posted receive, it takes the one that arrived first.
//
// So receives take the messages of one source and one context that fit the same receives in the
// order in which they were sent, if the caller passes them to arrive() in that order.
//
// Here the queues are lists.  For long queues, bins by source and tag are faster (Bayatpour et al.,
// "Adaptive and Dynamic Design for MPI Tag Matching", Cluster 2016, switches when the looks of a
// search exceed a threshold).  For that, Matcher is an interface, looks are counted, and one
// implementation can pass its queues to another by drain_receives() and drain_messages().
#pragma once

#include <cstdint>
#include <memory>

namespace stretto::p2p {

inline constexpr int kAny = -1;

struct Envelope {
    std::uint32_t context = 0; // messages of different contexts never match, whatever their tags
    int source = 0;
    int tag = 0;
    bool operator==(const Envelope &) const = default;
};

// Whether a receive for `wanted` takes a message with envelope `has`.
constexpr bool fits(const Envelope &wanted, const Envelope &has) {
    return wanted.context == has.context &&
           (wanted.source == kAny || wanted.source == has.source) &&
           (wanted.tag == kAny || wanted.tag == has.tag);
}

// An element of a queue: a base of a larger object, which its owner must not move while it waits.
struct Item {
    Envelope envelope;
    std::uint64_t order = 0; // of posting or of arrival; given by the matcher
    Item *before = nullptr, *after = nullptr;
};

// In a posted receive, source and tag may be kAny; in a message they are known.
struct PostedReceive : Item {};
struct ArrivedMessage : Item {};

class Matcher {
public:
    virtual ~Matcher() = default;

    // Gives the message that the receive takes, and removes it from its queue; or null, and the
    // receive waits.
    virtual ArrivedMessage *post(PostedReceive &receive) = 0;
    // Gives the receive that takes the message, and removes it from its queue; or null, and the
    // message waits.
    virtual PostedReceive *arrive(ArrivedMessage &message) = 0;
    // The message that a receive for `wanted` would take now; it stays in its queue.
    virtual ArrivedMessage *find(const Envelope &wanted) = 0;
    // Removes a waiting receive from its queue.
    virtual void withdraw(PostedReceive &receive) = 0;
    // Each call removes the oldest element of the queue; null: the queue is empty.
    virtual PostedReceive *drain_receives() = 0;
    virtual ArrivedMessage *drain_messages() = 0;

    // How much work the searches are: by this implementations can be compared.
    struct Effort {
        std::uint64_t searches = 0; // of either queue
        std::uint64_t looks = 0;    // at items, over all searches
    };
    const Effort &effort() const { return effort_; }

protected:
    Effort effort_;
};

std::unique_ptr<Matcher> make_list();

} // namespace stretto::p2p
