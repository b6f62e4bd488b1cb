// SPDX-License-Identifier: BSD-3-Clause
// Single members, told by hand what the model check cannot ask for.
#include "doctest.h"

#include <string>

#include "membership/member.hpp"

using namespace stretto;
using namespace stretto::membership;
using action::Outcome;

namespace {

Member member(int rank, int ranks) {
    return Member(rank, {0, RankSet::all(ranks), 0});
}

RankSet ranks_of(int ranks, std::initializer_list<int> some) {
    RankSet set(ranks);
    for (const int rank : some)
        set.insert(rank);
    return set;
}

template<class Kind>
const Kind *first(const Actions &actions) {
    for (const Action &each : actions)
        if (const auto *found = std::get_if<Kind>(&each))
            return found;
    return nullptr;
}

} // namespace

TEST_CASE("a frozen member that thaws learns that it is excluded, from whomever it addresses") {
    // Ranks 0 and 1 went on without 2; all that they sent it is lost.
    Member thawed = member(2, 3);
    Member other = member(1, 3);
    other.step(event::Suspect{2, "silent"});
    other.step(event::Shrink{5});
    other.step(event::Received{0, {0, DecidedView{{1, ranks_of(3, {0, 1}), 5}}}});
    CHECK(other.view().epoch == 1);

    const Actions answer = other.step(event::Received{2, {0, Beat{}}});
    const auto *send = first<action::Send>(answer);
    REQUIRE(send);
    CHECK(send->to == 2);
    const Actions told = thawed.step(event::Received{1, send->message});
    const auto *revoked = first<action::Revoked>(told);
    REQUIRE(revoked);
    CHECK(revoked->reason.text == "the others went on without rank 2 while it was silent");
    CHECK_FALSE(thawed.may_complete());
    const Actions shrunk = thawed.step(event::Shrink{7});
    REQUIRE(first<action::Shrunk>(shrunk));
    CHECK(first<action::Shrunk>(shrunk)->outcome == Outcome::excluded);
    CHECK(first<action::Shrunk>(shrunk)->view.members == ranks_of(3, {0, 1}));
    // And again, if it is asked again.
    CHECK(first<action::Shrunk>(thawed.step(event::Shrink{7})));
}

TEST_CASE("who hears of a later epoch asks what happened") {
    Member behind = member(0, 3);
    const Actions asks = behind.step(event::Received{1, {3, Prepare{{1, 1}}}});
    REQUIRE(asks.size() == 1);
    CHECK(std::get<action::Send>(asks[0]) == action::Send{1, {0, Beat{}}});
    CHECK(behind.may_complete());
}

TEST_CASE("two of four go on only with the lowest rank") {
    for (const bool lowest : {true, false}) {
        Member one = member(lowest ? 0 : 1, 4);
        one.step(event::Suspect{2, "silent"});
        one.step(event::Suspect{lowest ? 3 : 0, "silent"});
        const Actions actions = one.step(event::Shrink{0});
        const auto *shrunk = first<action::Shrunk>(actions);
        if (lowest) {
            CHECK(shrunk == nullptr); // it asks its partner
            CHECK(one.awaited() == ranks_of(4, {1}));
        } else {
            REQUIRE(shrunk);
            CHECK(shrunk->outcome == Outcome::no_majority);
        }
    }
}

TEST_CASE("messages of strangers to a view are not taken") {
    Member one = member(0, 4);
    one.step(event::Suspect{3, "silent"});
    one.step(event::Shrink{0});
    one.step(event::Received{1, {0, DecidedView{{1, ranks_of(4, {0, 1, 2}), 0}}}});
    REQUIRE(one.view().epoch == 1);
    CHECK(one.step(event::Received{3, {1, Revoke{{Status::peer, 3, 0, ""}}}}).empty());
    CHECK(one.may_complete());
    // An accusation of one who is none: the epoch ends, but nobody goes for it.
    one.step(event::Received{1, {1, Revoke{{Status::peer, 1, 3, "?"}}}});
    CHECK_FALSE(one.may_complete());
    CHECK(one.left() == ranks_of(4, {0, 1, 2}));
}

TEST_CASE("who meets a ballot that cannot be outbid gives up") {
    Member one = member(0, 3);
    one.step(event::Fail{0, Status::timeout, "late"});
    one.step(event::Shrink{0});
    const Actions actions = one.step(event::Received{1, {0, Refuse{{kMostRounds, 1}}}});
    REQUIRE(first<action::Shrunk>(actions));
    CHECK(first<action::Shrunk>(actions)->outcome == Outcome::no_majority);
}

TEST_CASE("a member alone goes on alone") {
    Member one = member(0, 1);
    const Actions revoked = one.step(event::Fail{0, Status::timeout, "late"});
    REQUIRE(revoked.size() == 1);
    CHECK(std::get<action::Revoked>(revoked[0]).reason.status == Status::timeout);
    const Actions shrunk = one.step(event::Shrink{3});
    REQUIRE(shrunk.size() == 1);
    CHECK(std::get<action::Shrunk>(shrunk[0]) ==
          action::Shrunk{Outcome::succeeded, {1, RankSet::all(1), 3}});
    CHECK(one.may_complete());
}

TEST_CASE("decided choices are forgotten only by request, and end with the epoch") {
    Member coordinator = member(0, 2);
    const auto decided = [](const Actions &actions) {
        return first<action::ValueDecided>(actions) ? first<action::ValueDecided>(actions)->value
                                                    : std::string("nothing");
    };
    CHECK(decided(coordinator.step(event::Decide{4, 0, "a"})) == "a");
    CHECK(decided(coordinator.step(event::Decide{4, 0, "b"})) == "a");
    coordinator.step(event::Forget{0, 5});
    CHECK(decided(coordinator.step(event::Decide{4, 0, "c"})) == "c");
    coordinator.step(event::Fail{0, Status::timeout, "late"});
    CHECK(coordinator.step(event::Decide{4, 0, "d"}).empty());
    CHECK(coordinator.step(event::Received{1, {0, Ask{4, "e"}}}).empty());
}
