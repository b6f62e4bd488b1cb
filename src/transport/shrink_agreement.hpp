// SPDX-License-Identifier: BSD-3-Clause
// The shrink agreement: ranks that share memory agree on who of them goes on after a failure.
//
// In each round those who want to go on come, say how many calls they have completed, and wait for
// the others. When everybody has come, is gone or is too late, any of them may list those who came
// and propose the list: one word of the header, the *verdict*, goes from the round before to this
// round and the proposer, by compare and swap.  So one list wins, whoever saw what; who is not on
// it is excluded for good, and finds that out when it looks.  The list is complete before it is
// proposed: a proposer that dies harms nobody, and there is no lock that it could hold.
//
// Then the members do together what they came for, and whoever sees it done confirms the round. If
// one of them dies first, whoever notices gives it up, and there is another round, without the
// dead. The verdict holds this too, so all see the same end:
//
//     round k-1 given up  --> round k open --> confirmed
//                                         \--> given up --> round k+1 open ...
//
// A list is not written again before those who are on it have come to the next round; who is too
// late for that may find another list in its place, or half of one, and knows by the list's round.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/segment.hpp"

namespace stretto::transport {

// One rank's part.
class ShrinkAgreement {
public:
    struct List {
        std::uint32_t round = 0;
        std::vector<int> members;    // in ascending order
        std::uint64_t completed = 0; // the least of theirs
    };

    // `segment` outlives it.  `completed`: calls of this rank.
    ShrinkAgreement(Segment &segment, int rank, std::uint64_t completed);
    // Unless the round was confirmed, the others need not wait for this rank in any other.
    ~ShrinkAgreement();
    ShrinkAgreement(const ShrinkAgreement &) = delete;
    ShrinkAgreement &operator=(const ShrinkAgreement &) = delete;

    // The next round: waits until every member of the last has come, is gone, or has not come for
    // `patience_ns` (0: for ever).  Throws Error(excluded) if the others went on without this rank.
    List hold(std::uint64_t patience_ns);
    // What the members came for is done.  False if somebody has given up.
    bool confirm();
    // It cannot be done.  False if somebody has confirmed it.
    bool give_up();
    bool given_up() const;

private:
    enum class Phase : std::uint8_t { given_up = 0, open = 1, confirmed = 2 };
    // Round 32 bits, proposer 24, phase 8.
    struct Verdict {
        std::uint32_t round = 0;
        int proposer = 0;
        Phase phase = Phase::given_up;
    };
    static std::uint64_t pack(const Verdict &verdict);
    static Verdict unpack(std::uint64_t word);

    Roll &roll(int rank) const { return segment_.lines(rank).roll; }
    std::atomic<std::uint64_t> &word() const { return segment_.header().verdict; }
    Verdict verdict() const { return unpack(word().load(std::memory_order_acquire)); }
    bool gone(int rank) const;
    bool has_come(int rank) const;
    bool all_have_come() const;
    void propose(Verdict before);
    bool end(Phase phase);
    List take(const Verdict &verdict);
    [[noreturn]] void late() const;

    Segment &segment_;
    const int rank_;
    std::uint32_t round_ = 0;
    std::vector<int> candidates_; // members of the round before
    bool confirmed_ = false;
};

} // namespace stretto::transport
