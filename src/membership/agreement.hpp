// SPDX-License-Identifier: BSD-3-Clause
// How the members of a view agree on the next one: one decision, by ballots (Lamport, The Part-Time
// Parliament, 1998), in which every member votes and any member may lead.
//
//     leader                      each of those who are left
//     Prepare(b)             ->   promises to take no part in ballots below b, and says how many
//                                 calls it has completed and what it has voted for
//                            <-   Promise(b, completed, vote)      or Refuse(b'), if b' > b
//     Propose(b, view)       ->   votes
//                            <-   Accept(b)                        or Refuse(b')
//     the view is decided once a quorum of the old members has voted for it in one ballot
//
// The leader proposes what it may no longer contradict: the view of the highest ballot that anybody
// has voted in; if there is none, all who are left, with the least number of completed calls.
//
// Why two views of one epoch cannot be decided.  Say v is decided in ballot b, the lowest in which
// any is, and let c > b be the lowest ballot in which another view w is proposed.  Its leader has
// promises of a quorum Q for c (those who are left are a quorum), and a quorum has voted for v in
// b; they share a member m.  m voted in b before it promised c, else it would have refused b; so
// its promise carries a vote of a ballot from b on.  The highest vote in the promises is then of a
// ballot d with b <= d < c, in which only v was proposed: by the choice of c, and because a ballot
// has one leader, which proposes once in it.  So w = v.
//
// Why the number of completed calls is right.  A member promises only once its caller has called
// shrink, after which it completes nothing in this epoch; and whoever first proposes a view has a
// promise of each of its members.  A view that is proposed again keeps its number.
//
// A leader starts over, in a higher ballot, whenever those who are left have changed or it has met
// a higher ballot.  Two leaders who outbid each other do not know of the same accusations; what one
// knows has been flooded before its ballot and comes with it, so they come to the same result after
// one round, and one of them follows.
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

    // The caller has called shrink after so many calls: the member can promise now.
    void contribute(std::uint64_t completed, Outbox &out);
    // This member leads those who are left, a quorum with itself among them; or another one does.
    // Only after contribute().
    void lead(const RankSet &left, Outbox &out);
    void follow() { phase_ = Phase::following; }

    void receive(int from, const Prepare &prepare, Outbox &out);
    void receive(int from, const Promise &promise, Outbox &out);
    void receive(int from, const Refuse &refuse, Outbox &out);
    void receive(int from, const Propose &propose, Outbox &out);
    void receive(int from, const Accept &accept, Outbox &out);
    // What was sent to `rank` may be lost: says it again.
    void restored(int rank, Outbox &out) const;

    // Somebody claims to have got to the last round: there is no sense in going on.
    bool exhausted() const { return highest_.round >= kMostRounds; }
    // Whether these are a quorum of the old members.
    bool enough(const RankSet &some) const;
    // As this member has counted the votes.
    const std::optional<View> &decided() const { return decided_; }
    // Who has not yet answered; empty unless this member leads.
    RankSet awaited() const;
    bool bound_to(int leader) const { return promised_.owner == leader; }

    friend auto operator<=>(const Agreement &, const Agreement &) = default;

private:
    enum class Phase : std::uint8_t { following, preparing, proposing };

    void send(int to, Body body, Outbox &out) const { out.send(to, epoch_, std::move(body)); }
    void to_those_asked(const Body &body, Outbox &out) const;
    void see(Ballot ballot) { highest_ = std::max(highest_, ballot); }
    void promise(int leader, Ballot ballot, Outbox &out);
    void note(const std::optional<Vote> &vote);
    void propose_if_all_promised(Outbox &out);
    void count(int voter);

    std::int32_t rank_;
    std::uint32_t epoch_;
    RankSet members_;
    Rules rules_;

    std::optional<std::uint64_t> completed_; // once the caller has called shrink
    std::vector<Ballot> held_;               // that came before that
    Ballot promised_;
    std::optional<Vote> vote_;

    // Of a leader.
    Phase phase_ = Phase::following;
    Ballot highest_; // of all that this member has met
    Ballot mine_;
    RankSet asked_, answered_;
    std::uint64_t least_ = 0;  // completed, of those who have promised
    std::optional<Vote> best_; // of those who have promised
    View proposal_;
    std::optional<View> decided_;
};

} // namespace stretto::membership
