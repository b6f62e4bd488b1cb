// SPDX-License-Identifier: BSD-3-Clause
// How the members of a view agree on the next one: one decision, by ballots (Lamport, The Part-Time
// Parliament, 1998), in which every member votes and any member may lead.
//
//     leader                      each member that is left (suspicions.hpp)
//     Prepare(b)             ->   promises to take no part in ballots below b, and reports how many
//                                 calls it has completed and its last vote
//                            <-   Promise(b, completed, vote)      or Refuse(b'), if b' > b
//     Propose(b, view)       ->   votes
//                            <-   Accept(b)                        or Refuse(b')
//     the view is decided once a quorum of the old members has voted for it in one ballot
//
// If the promises carry votes, the leader proposes the view of the vote with the highest ballot:
// that view may be decided already.  If they carry none, it proposes all members that are left,
// with the least number of completed calls.
//
// Why two views of one epoch cannot be decided.  Let b be the lowest ballot in which a view is
// decided, and v that view.  Let c > b be the lowest ballot in which another view w is proposed.
// The leader of c has promises of a quorum Q (the members that are left are a quorum), and a quorum
// has voted for v in b.  The two quorums share a member m.  m voted in b before it promised c, else
// it would have refused b; so its promise carries a vote of ballot b or a later one.  The highest
// vote in the promises is then of a ballot d with b <= d < c.  Only v was proposed in d: by the
// choice of c, and because a ballot has one leader, which proposes once in it.  So w = v.
//
// Why the number of completed calls is right.  A member promises only after its caller has called
// shrink, and from then on completes no call of this epoch.  The leader that first proposes a view
// has a promise of each member of the view.  A view that is proposed again keeps its number.
//
// A leader starts over, in a higher ballot, if the set of members that are left changes or if it
// learns of a higher ballot.  Two leaders that outbid each other know of different accusations.  A
// leader floods its accusations before its ballot, so both know the same ones after one round; then
// they compute the same lowest member, and the other one follows it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "membership/outbox.hpp"
#include "membership/rules.hpp"
#include "membership/view.hpp"

namespace stretto::membership {

class Agreement {
public:
    Agreement(int rank, const View &view, const Rules &rules)
        : rank_(rank), epoch_(view.epoch), members_(view.members), rules_(rules) {}

    // The caller has called shrink, after `completed` calls: from now on the member can promise.
    void contribute(std::uint64_t completed, Outbox &out);
    // This member leads the members in `left`, a quorum that has this member; or another one leads.
    // Only after contribute().
    void lead(const RankSet &left, Outbox &out);
    void follow() { phase_ = Phase::following; }

    void receive(int from, const Prepare &prepare, Outbox &out);
    void receive(int from, const Promise &promise, Outbox &out);
    void receive(int from, const Refuse &refuse, Outbox &out);
    void receive(int from, const Propose &propose, Outbox &out);
    void receive(int from, const Accept &accept, Outbox &out);
    // The link to `rank` is back, and the last messages may be lost: sends them again.
    void restored(int rank, Outbox &out) const;

    // A member has sent a ballot of the last round: no higher ballot is possible.
    bool exhausted() const { return highest_.round >= kMostRounds; }
    // Whether these are a quorum of the old members.
    bool enough(const RankSet &some) const;
    // The decided view, if this member leads and has counted a quorum of votes.
    const std::optional<View> &decided() const { return decided_; }
    // The members that have not answered yet; empty unless this member leads.
    RankSet awaited() const;
    // Whether this member's last promise was to that leader.
    bool bound_to(int leader) const { return promised_.owner == leader; }

    friend auto operator<=>(const Agreement &, const Agreement &) = default;

private:
    enum class Phase : std::uint8_t { following, preparing, proposing };

    void send(int to, Body body, Outbox &out) const { out.send(to, epoch_, std::move(body)); }
    void send_to_asked(const Body &body, Outbox &out) const;
    void raise_highest(Ballot ballot) { highest_ = std::max(highest_, ballot); }
    void promise(int leader, Ballot ballot, Outbox &out);
    void record(const std::optional<Vote> &vote);
    void propose_if_all_promised(Outbox &out);
    void count(int voter);

    std::int32_t rank_;
    std::uint32_t epoch_;
    RankSet members_;
    Rules rules_;

    std::optional<std::uint64_t> completed_; // set when the caller calls shrink
    std::vector<Ballot> held_;               // ballots received before that
    Ballot promised_;
    std::optional<Vote> vote_;

    // The state of a leader.
    Phase phase_ = Phase::following;
    Ballot highest_; // of all ballots that this member has seen
    Ballot mine_;
    RankSet asked_, answered_;
    std::uint64_t least_ = 0;  // the least number of completed calls in the promises
    std::optional<Vote> best_; // the vote with the highest ballot in the promises
    View proposal_;
    std::optional<View> decided_;
};

} // namespace stretto::membership
