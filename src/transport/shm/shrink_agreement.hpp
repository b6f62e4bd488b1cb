// SPDX-License-Identifier: BSD-3-Clause
// The shrink agreement: ranks that share memory agree on which of them continue after a failure.
//
// A rank that wants to continue enters the round, publishes how many calls it has completed, and
// waits for the others.  When every rank has entered, has gone or is too late, any rank may write
// the list of the ranks that entered and propose it: one word of the header, the *decision word*,
// is changed from the round before to this round and the proposer, by compare and swap.  So exactly
// one list wins.  A rank that is not on it is excluded for good, and learns that when it looks.
// The list is complete before it is proposed, so a proposer that dies harms no other rank, and
// there is no lock that it could hold.
//
// Then the members do their common work, and a member that sees it done confirms the round.  If a
// member dies before that, a member that notices gives the round up, and there is another round
// without the dead rank.  The decision word holds this too, so all ranks see the same end:
//
//     round k-1 given up  --> round k open --> confirmed
//                                         \--> given up --> round k+1 open ...
//
// A list is not overwritten before the ranks on it have entered the next round.  A rank that is too
// late for that may find another list in its place, or an incomplete one; the list's round shows
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/shm/segment.hpp"

namespace stretto::transport {

// One rank's part.
class ShrinkAgreement {
public:
    struct List {
        std::uint32_t round = 0;
        std::vector<int> members;    // in ascending order
        std::uint64_t completed = 0; // the least of theirs
    };

    // `segment` outlives this object.  `completed`: completed calls of this rank.
    ShrinkAgreement(Segment &segment, int rank, std::uint64_t completed);
    // Unless the round was confirmed, the others need not wait for this rank in further rounds.
    ~ShrinkAgreement();
    ShrinkAgreement(const ShrinkAgreement &) = delete;
    ShrinkAgreement &operator=(const ShrinkAgreement &) = delete;

    // Enters the next round: waits until every member of the last one has entered, has gone, or has
    // not entered for `patience_ns` (0: for ever).  Throws Error(excluded) if the others went on
    // without this rank.
    List hold(std::uint64_t patience_ns);
    // The members' common work is done.  False if a member has given the round up.
    bool confirm();
    // The work cannot be done.  False if a member has confirmed the round.
    bool give_up();
    bool given_up() const;

private:
    enum class Phase : std::uint8_t { given_up = 0, open = 1, confirmed = 2 };
    // Round 32 bits, proposer 24, phase 8.
    struct Decision {
        std::uint32_t round = 0;
        int proposer = 0;
        Phase phase = Phase::given_up;
    };
    static std::uint64_t pack(const Decision &decision);
    static Decision unpack(std::uint64_t word);

    ShrinkRecord &shrink_record(int rank) const { return segment_.lines(rank).shrink_record; }
    std::atomic<std::uint64_t> &word() const { return segment_.header().decision; }
    Decision decision() const { return unpack(word().load(std::memory_order_acquire)); }
    bool gone(int rank) const;
    bool has_come(int rank) const;
    bool all_have_come() const;
    void propose(Decision before);
    bool end(Phase phase);
    List take(const Decision &decision);
    [[noreturn]] void late() const;

    Segment &segment_;
    const int rank_;
    std::uint32_t round_ = 0;
    std::vector<int> candidates_; // members of the round before
    bool confirmed_ = false;
};

} // namespace stretto::transport
