// SPDX-License-Identifier: BSD-3-Clause
// Plays a sequence against a matcher: once with care, to check it; then timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "matching/sequence.hpp"
#include "p2p/matching/match_queue.hpp"

namespace stretto::matching {

struct Checked {
    std::size_t wrong = 0; // 1: an operation had a wrong result, and the play ended there
    std::size_t bytes = 0; // the most that the matcher had, looked at after each operation
    p2p::Effort effort;    // of the whole sequence
    p2p::Scheme posted = p2p::Scheme::list, unexpected = p2p::Scheme::list; // at the end
};

struct Timed {
    // Of all operations, in parts of as many each; all plays of a sequence have the same parts.  So
    // what the machine does besides in one play can be told from what the operations take.
    std::vector<double> ns;
    std::size_t wrong = 0; // operations with a wrong result
};

struct Tail {
    double p50_ns = 0, p99_ns = 0; // of single operations that match
    std::size_t wrong = 0;
};

// Receives and messages are slots of 256 bytes, about as large as the library's, in the order of
// their numbers.  Neighbours in a queue are often neighbours in memory, which is kind to lists.
class Player {
public:
    explicit Player(const Sequence &sequence);

    // Each needs a matcher that no play has used.
    Checked check(p2p::Matcher &matcher);
    // By a reading of the clock after each part; results are compared afterwards.
    Timed time(p2p::Matcher &matcher);
    // By two readings around each operation that matches, less what these cost by themselves.
    Tail time_each(p2p::Matcher &matcher);

private:
    template<class Base>
    struct Slot : Base {
        std::byte rest[256 - sizeof(Base)];
    };

    const p2p::Item *play(p2p::Matcher &matcher, const Operation &operation);
    std::int32_t number_of(const Operation &operation, const p2p::Item *item) const;
    std::size_t wrong_results() const;

    const Sequence &sequence_;
    std::vector<Slot<p2p::PostedReceive>> receives_;
    std::vector<Slot<p2p::ArrivedMessage>> messages_;
    std::vector<const p2p::Item *> results_; // of each operation
};

} // namespace stretto::matching
