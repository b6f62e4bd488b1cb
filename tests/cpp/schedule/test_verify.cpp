// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <optional>
#include <string>
#include <vector>

#include "schedule/json.hpp"
#include "schedule/verify.hpp"
#include "support/schedules.hpp"

using namespace stretto::test;

namespace {

// The whole reason without the schedule's name, or "" if it is proved.
std::string failure(const Schedule &schedule) {
    const Verdict verdict = verify(schedule);
    CHECK(verdict.ok == verdict.failure.empty());
    return verdict.failure.empty() ? "" : verdict.failure.substr(schedule.name.size() + 2);
}

bool contains(const std::string &text, const std::string &part) {
    INFO(text);
    const bool found = text.find(part) != std::string::npos;
    CHECK(found);
    return found;
}

Schedule broadcast(std::vector<Op> root, std::vector<Op> other, Block blocks = 1) {
    return assemble("b", {Collective::broadcast, 2, blocks}, {{root, {}, {}}, {other, {}, {}}});
}

Op unordered(Op op) {
    op.group = 1;
    return op;
}

Op after(Op op, std::int32_t earlier) {
    op.after = {earlier};
    return op;
}

} // namespace

TEST_CASE("textbook schedules are proved at every number of ranks") {
    for (Position ranks = 1; ranks <= 17; ++ranks) {
        CAPTURE(ranks);
        CHECK(failure(linear(ranks)) == "");
        CHECK(failure(binomial(ranks)) == "");
        CHECK(failure(ring(ranks)) == "");
        CHECK(failure(direct(ranks)) == "");
        CHECK(failure(one_shot(ranks)) == "");
        CHECK(failure(alltoall(ranks, 2)) == "");
        if ((ranks & (ranks - 1)) == 0)
            CHECK(failure(recursive_doubling(ranks, false)) == "");
    }
    CHECK(failure(ring(128)) == "");
    CHECK(failure(direct(64)) == "");
    CHECK(failure(recursive_doubling(128, false)) == "");
}

TEST_CASE("an exchange in place is a deadlock, and named") {
    CHECK(failure(recursive_doubling(2, true)) ==
          "deadlock of 4 ops: "
          "position 0, op 0 (send to 1: work[0]) waits for "
          "position 1, op 1 (recv from 0: work[0] = incoming op work) waits for "
          "position 1, op 0 (send to 0: work[0]) waits for "
          "position 0, op 1 (recv from 1: work[0] = work op incoming) waits for "
          "position 0, op 0");
    contains(failure(recursive_doubling(8, true)), "deadlock");
}

TEST_CASE("waits in a circle: messages awaited in opposite orders under windows") {
    CHECK(failure(crossed()) == "");
    auto programs = programs_of(crossed());
    programs[0].open = {0, 1};
    contains(failure(with_programs(crossed(), programs)), "deadlock");
    programs[1].open = {2, 0};
    CHECK(failure(with_programs(crossed(), programs)) == "");
}

TEST_CASE("waits in a circle: `after` edges") {
    const auto exchange = [](Op first, Op second) {
        return assemble("a", {Collective::allgather, 2, 2},
                        {{{send(1, {0}), recv(1, {1})}, {}, {}}, {{first, second}, {}, {}}});
    };
    CHECK(failure(exchange(recv(0, {0}), after(send(0, {1}), 0))) == "");
    CHECK(failure(exchange(send(0, {1}), after(recv(0, {0}), 0))) == "");
    auto programs = programs_of(exchange(send(0, {1}), after(recv(0, {0}), 0)));
    programs[0].ops[1].after = {0};
    contains(failure(with_programs(ring(2), programs)), "position 0"); // another contract
    contains(failure(with_programs(exchange(send(0, {1}), recv(0, {0})), programs)),
             "deadlock of 4 ops");
}

TEST_CASE("a send is complete only when it was received") {
    // An exchange.  Position 0 receives where it sends from, so it must have been heard first.
    const Contract swap =
        Contract::custom(2, 1, {Atom{0, 0}, Atom{1, 0}}, {Goal{0, 1}, Goal{0, 0}});
    const std::vector<Op> in_place = {send(1, {0}), recv(1, {0})};
    std::vector<Op> apart = {send(0, {0}), recv(0, {0}, 1), copy({0}, 1, kWork)};
    CHECK(failure(assemble("s", swap, {{in_place, {}, {}}, {apart, {}, {}}})) == "");
    apart[1].after = {0}; // position 1 wants to be heard first, too
    contains(failure(assemble("s", swap, {{in_place, {}, {}}, {apart, {}, {}}})),
             "deadlock of 5 ops");
}

TEST_CASE("messages without partners") {
    CHECK(failure(broadcast({send(1, {0})}, {})) ==
          "unmatched message: position 0, op 0 (send to 1: work[0]): position 1 has no receive "
          "for it");
    CHECK(failure(broadcast({send(1, {0})}, {recv(0, {0}), recv(0, {0})})) ==
          "unmatched message: position 1, op 1 (recv from 0: work[0] = incoming): position 0 has "
          "no send for it");
    contains(failure(broadcast({send(1, {0}, kWork, 1)}, {recv(0, {0}, kWork, 2)})), "lane 1");
}

TEST_CASE("the two sides of a message have the same sizes for every count") {
    contains(failure(broadcast({send(1, {0, 1})}, {recv(0, {0})}, 2)),
             "one has 2 blocks, the other 1");
    contains(failure(broadcast({send(1, {0, 1})}, {recv(0, {1, 0})}, 2)),
             "blocks 0 and 1 differ in size for some counts");
    // With equal blocks, labels may differ: sent as 0 1, received as 1 0, then put straight.
    Op straighten = copy({1, 0}, 1, kWork);
    straighten.targets = {0, 1};
    const Schedule twisted =
        assemble("t", {Collective::broadcast, 2, 2},
                 {{{send(1, {0, 1})}, {}, {}}, {{recv(0, {1, 0}, 1), straighten}, {}, {}}},
                 Partition::equal(2));
    CHECK(failure(twisted) == "");
    Schedule uneven = twisted;
    uneven.partition = Partition::even(2);
    contains(failure(uneven), "differ in size");
    const Schedule contract = assemble(
        "c", Contract::custom(1, 2, {Atom{0, 1}, Atom{0, 0}}, {std::nullopt, std::nullopt}),
        empty_programs(1));
    contains(failure(contract), "the contract starts block 0 of position 0 as input block 1, but "
                                "they differ in size for some counts; see Partition::equal");
}

TEST_CASE("reads before writes") {
    contains(failure(broadcast({send(1, {0}, 1)}, {recv(0, {0})})),
             "position 0, op 0 (send to 1: s1[0]): block 0 of slot 1 is read before anything is "
             "written to it");
    contains(failure(broadcast({send(1, {0})}, {recv_reduce(0, {0}, Side::left)})),
             "position 1, op 0");
}

TEST_CASE("contributions count once, and only in their own block") {
    auto twice = programs_of(linear(3));
    twice[1].ops = {send(0, {0}), send(0, {0}), recv(0, {0})};
    twice[0].ops.insert(twice[0].ops.begin(), recv_reduce(1, {0}, Side::right));
    contains(failure(with_programs(linear(3), twice)),
             "the contribution of position 1 to input block 0 would count twice");

    auto missing = programs_of(linear(3));
    missing[0].ops[1] = recv(2, {0}, 5);
    CHECK(failure(with_programs(linear(3), missing)) ==
          "position 0 ends with block 0 without the contribution of position 2");

    const Contract two(Collective::allreduce, 2, 2);
    contains(failure(assemble(
                 "m", two, {{{recv_reduce(1, {0}, Side::left)}, {}, {}}, {{send(0, {1})}, {}, {}}},
                 Partition::equal(2))),
             "input blocks 1 and 0 would be mixed");

    contains(failure(broadcast({}, {})), "position 1 ends with block 0 undefined");
    CHECK(failure(assemble("w", {Collective::broadcast, 2, 2},
                           {{{send(1, {0, 1})}, {}, {}}, {{recv(0, {1, 0})}, {}, {}}},
                           Partition::equal(2))) ==
          "position 1 ends with block 0 other than input block 0 of position 0");
}

TEST_CASE("an end must be made of its own input block") {
    // One position that exchanges its two blocks.
    Op exchanged = copy({0, 1}, 1, kWork);
    exchanged.targets = {1, 0};
    CHECK(failure(assemble("x", {Collective::allreduce, 1, 2},
                           {{{copy({0, 1}, kWork, 1), exchanged}, {}, {}}}, Partition::equal(2))) ==
          "position 0 ends with block 0 made of input block 1 instead of 0");
}

TEST_CASE("malformed ops are refused by name") {
    const auto refused = [](Op op, const char *why) {
        contains(failure(broadcast({op}, {})), std::string("position 0, op 0 (") + to_text(op));
        contains(failure(broadcast({op}, {})), why);
    };
    refused(send(0, {0}), "a position cannot message itself");
    refused(send(2, {0}), "peer 2 is not one of positions 0...1");
    refused(send(-1, {0}), "peer -1");
    refused(send(1, {1}), "block 1 is not one of blocks 0...0");
    refused(send(1, {-1}), "block -1");
    refused(send(1, {}), "no blocks");
    refused(send(1, {0}, -1), "needs the slot it reads");
    refused(send(1, {0}, 0, -1), "lane -1");
    refused(recv(1, {0, 0}), "block 0 is written twice");
    refused(reduce({1}, {0}), "at least 2 sources");
    refused(reduce({1, -1}, {0}), "source -1");
    refused(copy({0}, 1, 1), "read and overwritten");
    refused(after(send(1, {0}), 0), "not an earlier one");
    Op apart = unordered(recv_reduce(1, {0}, Side::left, kWork, 1));
    refused(apart, "must reduce into the slot it reduces with");
    Op sided = recv(1, {0});
    sided.side = Side::left;
    refused(sided, "a side needs a slot");
}

TEST_CASE("the frame must fit") {
    Schedule schedule = ring(3);
    schedule.partition = Partition::even(4);
    contains(failure(schedule), "the contract is for 3 ranks and 3 blocks");
    schedule = ring(3);
    schedule.program = nullptr;
    contains(failure(schedule), "no programs");
    auto programs = programs_of(ring(3));
    programs[1].open.recv = -1;
    contains(failure(with_programs(ring(3), programs)), "position 1: a window");
}

TEST_CASE("unordered groups have one accumulator that nothing else touches") {
    const auto root = [](std::vector<Op> ops) {
        return assemble("g", {Collective::reduce, 3, 1},
                        {{ops, {}, {}}, {{send(0, {0})}, {}, {}}, {{send(0, {0})}, {}, {}}});
    };
    const Op first = unordered(recv_reduce(1, {0}, Side::right));
    const Op second = unordered(recv_reduce(2, {0}, Side::right));
    CHECK(failure(root({first, second})) == "");
    contains(failure(root({first, copy({0}, kWork, 1), second})),
             "touches block 0 while group 1 still reduces into it");
    contains(
        failure(root({copy({0}, kWork, 1), first, unordered(recv_reduce(2, {0}, Side::right, 1, 1)),
                      reduce({kWork, 1}, {0})})),
        "another accumulator than the first receive of group 1");
    Schedule wide = assemble("g", {Collective::reduce, 3, 2},
                             {{{first, unordered(recv_reduce(2, {1}, Side::right))}, {}, {}},
                              {{send(0, {0})}, {}, {}},
                              {{send(0, {1})}, {}, {}}});
    contains(failure(wide), "another accumulator than the first receive of group 1");
    // Any mix of sides: the order is open anyway.
    CHECK(failure(root({unordered(recv_reduce(1, {0}, Side::left)), second})) == "");
}

TEST_CASE("scratch slots are sparse") {
    // Block 1 goes through slot 77 of position 0, where nothing else exists.
    const Schedule schedule = assemble("s", {Collective::reduce, 2, 3},
                                       {{{recv(1, {1}, 77), reduce({77, kWork}, {1}),
                                          recv_reduce(1, {0, 2}, Side::left, kWork, kWork, 1)},
                                         {},
                                         {}},
                                        {{send(0, {1}), send(0, {0, 2}, kWork, 1)}, {}, {}}});
    CHECK(failure(schedule) == "");
}

TEST_CASE("weights and refined blocks, some of them empty") {
    Schedule schedule = ring(6);
    schedule.partition = Partition::weighted({0, 2, 1}).refine(2);
    CHECK(failure(schedule) == "");
}

TEST_CASE("gather and scatter") {
    for (const Position root : {0, 2}) {
        auto to = empty_programs(3), from = empty_programs(3);
        for (Position p = 0; p < 3; ++p) {
            if (p == root)
                continue;
            ops_of(to, p) = {send(root, {2 * p, 2 * p + 1})};
            ops_of(to, root).push_back(recv(p, {2 * p, 2 * p + 1}));
            ops_of(from, root).push_back(send(p, {2 * p, 2 * p + 1}));
            ops_of(from, p) = {recv(root, {2 * p, 2 * p + 1})};
        }
        CHECK(failure(assemble("gather", {Collective::gather, 3, 6, root}, to)) == "");
        CHECK(failure(assemble("scatter", {Collective::scatter, 3, 6, root}, from)) == "");
        contains(failure(assemble("gather", {Collective::gather, 3, 6, root}, from)), "position");
    }
}

TEST_CASE("custom contracts: a shift, and a reduction of some positions") {
    const auto shift = [](Position towards) {
        std::vector<std::optional<Atom>> start;
        std::vector<std::optional<Goal>> end;
        auto programs = empty_programs(3);
        for (Position p = 0; p < 3; ++p) {
            start.push_back(Atom{p, 0});
            end.push_back(Goal{0, (p + 2) % 3});
            ops_of(programs, p) = {send((p + towards) % 3, {0}),
                                   recv((p + 3 - towards) % 3, {0}, 1), copy({0}, 1, kWork)};
        }
        return assemble("shift", Contract::custom(3, 1, start, end), programs);
    };
    CHECK(failure(shift(1)) == "");
    contains(failure(shift(2)), "other than input block 0 of position 2");

    // Positions 0 and 2 of 3 contribute; 1 reduces for itself.
    const Contract some = Contract::custom(3, 1, {Atom{0, 0}, std::nullopt, Atom{2, 0}},
                                           {std::nullopt, Goal{0, std::nullopt}, std::nullopt});
    const Schedule two_of_three =
        assemble("some", some,
                 {{{send(1, {0})}, {}, {}},
                  {{recv(0, {0}), recv_reduce(2, {0}, Side::right)}, {}, {}},
                  {{send(1, {0})}, {}, {}}});
    CHECK(failure(two_of_three) == "");
    CHECK(verify(two_of_three).canonical);
}

TEST_CASE("lanes separate the messages of two phases") {
    // The same two messages, exchanged in the receiver's program: with lanes their order is free.
    const auto twice = [](Lane lane) {
        return assemble("l", {Collective::broadcast, 2, 2},
                        {{{send(1, {0}), send(1, {1}, kWork, lane)}, {}, {}},
                         {{recv(0, {1}, kWork, lane), recv(0, {0})}, {}, {}}},
                        Partition::equal(2));
    };
    CHECK(failure(twice(1)) == "");
    contains(failure(twice(0)), "other than input block");
}
