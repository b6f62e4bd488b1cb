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
// Each queue is a list in order.  If its searches are long, an index of short chains makes them
// short (match_index.hpp).  Which chains, the queue learns from its own searches (adaptation.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

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
// The matcher sets all but the envelope.
struct Item {
    Envelope envelope;
    // If there is an index: the order of posting or of arrival, and the next in the chain.
    std::uint32_t order = 0;
    Item *next = nullptr;
    Item *before = nullptr, *after = nullptr; // in the list
};

// In a posted receive, source and tag may be kAny; in a message they are known.
struct PostedReceive : Item {};
struct ArrivedMessage : Item {};

// How a queue finds the items that fit.
enum class Scheme : std::uint8_t {
    list,      // looks at all of them, from the oldest on
    bins,      // at those whose source has the same remainder
    by_source, // at those of the source
    hash,      // at those whose context, source and tag have the same hash value
};
inline constexpr std::array kSchemes{Scheme::list, Scheme::bins, Scheme::by_source, Scheme::hash};
std::string_view name(Scheme scheme);

// What the searches of a queue cost so far, or those of both.
struct Effort {
    std::uint64_t searches = 0;
    std::uint64_t looks = 0;       // at items, over all searches
    std::uint64_t conversions = 0; // from one scheme to another
    std::uint64_t deepest = 0;     // the most items that waited at the same time
};

// Which items fill a queue, when it was long.
struct Filling {
    std::uint32_t depth = 0;          // items that waited; 0: the queue has never been long
    std::uint32_t context = 0;        // that most of them have
    int source = kAny, tag = kAny;    // that most of these items have
    double of_source = 0, of_tag = 0; // the part of them that has it
};

struct QueueState {
    Scheme scheme = Scheme::list;
    std::size_t chains = 0; // of the index, without the one for wildcards
    std::size_t depth = 0;  // items that wait
    Effort effort;
    Filling filling;
};

class Matcher {
public:
    enum class Queue : std::uint8_t { posted, unexpected };

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

    // Changes the scheme now; `chains`: of bins and hash.  False, and nothing changes, if there is
    // no memory.
    virtual bool convert(Queue queue, Scheme scheme, std::size_t chains) = 0;

    virtual QueueState state(Queue queue) const = 0;
    // Memory of both queues now: of the indexes, and of the links in items that wait.
    virtual std::size_t bytes() const = 0;

    Scheme posted_scheme() const { return state(Queue::posted).scheme; }
    Scheme unexpected_scheme() const { return state(Queue::unexpected).scheme; }
    // Of both queues.
    Effort effort() const;
};

// A queue that has changed its scheme.
struct Conversion {
    Matcher::Queue queue;
    Scheme from, to;
    std::size_t items; // that wait
};

struct MatchingOptions {
    std::optional<Scheme> fixed; // nothing: each queue adapts
    std::size_t bins = 0;        // chains of fixed bins or of a fixed hash; 0: a quarter of `ranks`
    int ranks = 1;               // that may send
    // A queue looks for a better scheme after this many searches, if they took this many looks each
    // (CALLS_NUM and MATCH_ATTEMPTS of the paper).
    std::uint32_t calls = 64;
    std::uint32_t attempts = 8;
    std::uint32_t most_orders = UINT32_MAX; // so many are given, then all items get new ones
    // Is called when a queue has adapted, if there is one; must not throw.
    std::function<void(const Conversion &)> converted = {};
};

// Throws if there is no memory for the chains of a fixed scheme.
std::unique_ptr<Matcher> make_matcher(const MatchingOptions &options);

} // namespace stretto::p2p
