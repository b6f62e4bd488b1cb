// SPDX-License-Identifier: BSD-3-Clause
// Which receive takes which message.
//
// A receiver has two queues: receives that were posted and wait for a message, and messages that
// arrived and wait for a receive ("unexpected").  They are matched as MPI defines it:
//
// - A receive takes a message of its context whose source and tag are equal to its own; kAny, in a
//   receive, is equal to everything.
// - A message that arrives goes to the receive posted first among those that it fits.
// - A receive that is posted takes the message that arrived first among those that fit it.
//
// So messages of one source in one context that fit the same receives are taken in the order in
// which they were sent, as long as they are handed over in that order.
//
// Here the queues are lists.  A receiver with long queues is better off with bins by source and
// tag (Bayatpour et al., "Adaptive and Dynamic Design for MPI Tag Matching", Cluster 2016, switches
// when looks per search exceed a threshold): hence the interface, the looks that are counted, and
// drain(), with which one implementation hands over to another.
#pragma once

#include <cstdint>
#include <memory>

namespace stretto::p2p {

inline constexpr int kAny = -1;

struct Envelope {
    std::uint32_t context = 0; // separates what must never match, whatever the tags
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

// What waits in a queue: a part of something larger that its owner keeps where it is.
struct Item {
    Envelope envelope;
    std::uint64_t order = 0; // of posting or of arrival; given by the matcher
    Item *before = nullptr, *after = nullptr;
};

// A posted receive, source and tag may be kAny; a message, neither may.
struct PostedReceive : Item {};
struct ArrivedMessage : Item {};

class Matcher {
public:
    virtual ~Matcher() = default;

    // The message that the receive takes, which leaves its queue; else null, and the receive waits.
    virtual ArrivedMessage *post(PostedReceive &receive) = 0;
    // The receive that takes the message, which leaves its queue; else null, and the message waits.
    virtual PostedReceive *arrive(ArrivedMessage &message) = 0;
    // The message that a receive for `wanted` would take now; it stays.
    virtual ArrivedMessage *find(const Envelope &wanted) = 0;
    // Takes back a receive that waits.
    virtual void withdraw(PostedReceive &receive) = 0;
    // Takes out all that waits, first the oldest; null when there is no more.
    virtual PostedReceive *drain_receives() = 0;
    virtual ArrivedMessage *drain_messages() = 0;

    // What tells a good implementation from a bad one for this receiver.
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
