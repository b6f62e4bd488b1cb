// SPDX-License-Identifier: BSD-3-Clause
#include "membership/agreement.hpp"

#include <algorithm>

namespace stretto::membership {

bool Agreement::enough(const RankSet &some) const {
    return is_quorum(some, members_) ||
           (!rules_.lowest_breaks_ties && 2 * some.count() >= members_.count());
}

void Agreement::send_to_asked(const Body &body, Outbox &out) const {
    for (const int rank : asked_)
        if (rank != rank_)
            send(rank, body, out);
}

// ---- voting

void Agreement::contribute(std::uint64_t completed, Outbox &out) {
    completed_ = completed;
    std::ranges::sort(held_); // the highest last: so none of them is refused
    for (const Ballot ballot : held_)
        promise(ballot.owner, ballot, out);
    held_.clear();
}

void Agreement::receive(int from, const Prepare &prepare, Outbox &out) {
    if (prepare.ballot.owner != from)
        return;
    raise_highest(prepare.ballot);
    if (!completed_)
        held_.push_back(prepare.ballot);
    else
        promise(from, prepare.ballot, out);
}

void Agreement::promise(int leader, Ballot ballot, Outbox &out) {
    if (ballot < promised_) {
        send(leader, Refuse{promised_}, out);
        return;
    }
    promised_ = ballot;
    send(leader, Promise{ballot, *completed_, vote_}, out);
}

void Agreement::receive(int from, const Propose &propose, Outbox &out) {
    const Ballot ballot = propose.vote.ballot;
    if (ballot.owner != from || !completed_) // without completed_ this member has not promised
        return;
    raise_highest(ballot);
    if (ballot < promised_ && rules_.keeps_promises) {
        send(from, Refuse{promised_}, out);
        return;
    }
    promised_ = ballot;
    vote_ = propose.vote;
    send(from, Accept{ballot}, out);
}

// ---- leading

void Agreement::lead(const RankSet &left, Outbox &out) {
    if (phase_ != Phase::following && asked_ == left && mine_ == highest_)
        return;
    mine_ = highest_ = promised_ = {highest_.round + 1, rank_};
    phase_ = Phase::preparing;
    asked_ = left;
    answered_ = RankSet(left.ranks());
    answered_.insert(rank_);
    least_ = *completed_;
    best_.reset();
    record(vote_);
    send_to_asked(Prepare{mine_}, out);
    propose_if_all_promised(out);
}

void Agreement::record(const std::optional<Vote> &vote) {
    if (vote && rules_.carries_votes && (!best_ || best_->ballot < vote->ballot))
        best_ = vote;
}

void Agreement::receive(int from, const Promise &promise, Outbox &out) {
    if (phase_ != Phase::preparing || promise.ballot != mine_ || !asked_.has(from))
        return;
    answered_.insert(from);
    least_ = std::min(least_, promise.completed);
    record(promise.accepted);
    propose_if_all_promised(out);
}

void Agreement::propose_if_all_promised(Outbox &out) {
    if (!asked_.within(answered_) && (rules_.awaits_all || !enough(answered_)))
        return;
    proposal_ = best_ ? best_->view : View{epoch_ + 1, asked_, least_};
    phase_ = Phase::proposing;
    answered_ = RankSet(asked_.ranks());
    send_to_asked(Propose{{mine_, proposal_}}, out);
    if (mine_ < promised_)
        return; // this member has promised a higher ballot since it began to lead
    vote_ = Vote{mine_, proposal_};
    count(rank_);
}

void Agreement::receive(int from, const Accept &accept, Outbox &) {
    if (phase_ == Phase::proposing && accept.ballot == mine_)
        count(from);
}

void Agreement::count(int voter) {
    answered_.insert(voter);
    if (enough(answered_))
        decided_ = proposal_;
}

void Agreement::receive(int, const Refuse &refuse, Outbox &) {
    raise_highest(refuse.promised);
}

RankSet Agreement::awaited() const {
    return phase_ == Phase::following ? RankSet(members_.ranks()) : asked_ - answered_;
}

// ---- after a loss

void Agreement::restored(int rank, Outbox &out) const {
    if (awaited().has(rank))
        send(rank,
             phase_ == Phase::preparing ? Body(Prepare{mine_}) : Body(Propose{{mine_, proposal_}}),
             out);
    if (promised_.owner != rank || rank == rank_)
        return;
    send(rank, Promise{promised_, *completed_, vote_}, out);
    if (vote_ && vote_->ballot == promised_)
        send(rank, Accept{promised_}, out);
}

} // namespace stretto::membership
