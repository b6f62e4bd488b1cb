// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "schedule/contract.hpp"
#include "schedule/schedule.hpp"

using namespace stretto::schedule;
using stretto::Error;

namespace {

// "p.b" for a contribution, "*b" for a reduction, "-" for undefined; a row per position.
std::string start_table(const Contract &contract) {
    std::string text;
    for (Position p = 0; p < contract.ranks(); ++p) {
        for (Block b = 0; b < contract.blocks(); ++b) {
            const auto atom = contract.start(p, b);
            text += atom ? std::to_string(atom->from) + "." + std::to_string(atom->block) : "-";
            text += " ";
        }
        text += "| ";
    }
    return text;
}

std::string end_table(const Contract &contract) {
    std::string text;
    for (Position p = 0; p < contract.ranks(); ++p) {
        for (Block b = 0; b < contract.blocks(); ++b) {
            const auto goal = contract.end(p, b);
            if (!goal)
                text += "-";
            else
                text += (goal->from ? std::to_string(*goal->from) + "." : std::string("*")) +
                        std::to_string(goal->block);
            text += " ";
        }
        text += "| ";
    }
    return text;
}

} // namespace

TEST_CASE("the contracts: blocks at the start and at the end") {
    const std::string own = "0.0 0.1 | 1.0 1.1 | ", all = "*0 *1 | *0 *1 | ";
    CHECK(start_table({Collective::allreduce, 2, 2}) == own);
    CHECK(end_table({Collective::allreduce, 2, 2}) == all);
    CHECK(start_table({Collective::barrier, 2, 2}) == own);
    CHECK(end_table({Collective::barrier, 2, 2}) == all);
    CHECK(start_table({Collective::reduce, 2, 2, 1}) == own);
    CHECK(end_table({Collective::reduce, 2, 2, 1}) == "- - | *0 *1 | ");
    CHECK(start_table({Collective::broadcast, 2, 2, 1}) == "- - | 1.0 1.1 | ");
    CHECK(end_table({Collective::broadcast, 2, 2, 1}) == "1.0 1.1 | 1.0 1.1 | ");
    CHECK(start_table({Collective::reduce_scatter, 2, 2}) == own);
    CHECK(end_table({Collective::reduce_scatter, 2, 2}) == "*0 - | - *1 | ");
    CHECK(start_table({Collective::allgather, 2, 2}) == "0.0 - | - 1.1 | ");
    CHECK(end_table({Collective::allgather, 2, 2}) == "0.0 1.1 | 0.0 1.1 | ");
    CHECK(start_table({Collective::gather, 2, 2, 1}) == "0.0 - | - 1.1 | ");
    CHECK(end_table({Collective::gather, 2, 2, 1}) == "- - | 0.0 1.1 | ");
    CHECK(start_table({Collective::scatter, 2, 2, 0}) == "0.0 0.1 | - - | ");
    CHECK(end_table({Collective::scatter, 2, 2, 0}) == "0.0 - | - 0.1 | ");
    CHECK(start_table({Collective::alltoall, 2, 4}) == "0.0 0.1 0.2 0.3 | 1.0 1.1 1.2 1.3 | ");
    CHECK(end_table({Collective::alltoall, 2, 4}) == "0.0 0.1 1.0 1.1 | 0.2 0.3 1.2 1.3 | ");
}

TEST_CASE("blocks of a position are consecutive") {
    const Contract contract(Collective::allgather, 3, 6);
    CHECK(contract.owner(0) == 0);
    CHECK(contract.owner(3) == 1);
    CHECK(contract.owner(5) == 2);
    CHECK_THROWS_AS(Contract(Collective::allreduce, 3, 4).owner(0), Error);
}

TEST_CASE("custom contracts are tables") {
    const Contract contract =
        Contract::custom(2, 1, {Atom{0, 0}, std::nullopt}, {std::nullopt, Goal{0, 0}});
    CHECK(start_table(contract) == "0.0 | - | ");
    CHECK(end_table(contract) == "- | 0.0 | ");
    CHECK_THROWS_AS(Contract::custom(2, 1, {Atom{0, 0}}, {std::nullopt, std::nullopt}), Error);
    CHECK_THROWS_AS(Contract::custom(1, 1, {Atom{1, 0}}, {std::nullopt}), Error);
    CHECK_THROWS_AS(Contract::custom(1, 1, {Atom{0, 0}}, {Goal{1, std::nullopt}}), Error);
}

TEST_CASE("impossible contracts are refused") {
    CHECK_THROWS_AS(Contract(Collective::allgather, 3, 4), Error);
    CHECK_THROWS_AS(Contract(Collective::alltoall, 3, 4), Error);
    CHECK_THROWS_AS(Contract(Collective::reduce, 3, 1, 3), Error);
    CHECK_THROWS_AS(Contract(Collective::reduce, 3, 1, -1), Error);
    CHECK_THROWS_AS(Contract(Collective::allreduce, 0, 1), Error);
    CHECK_THROWS_AS(Contract(Collective::allreduce, 1, 0), Error);
    CHECK_THROWS_AS(Contract(Collective::custom, 1, 1), Error);
}

TEST_CASE("collectives have names") {
    for (int i = 0; i <= static_cast<int>(Collective::custom); ++i) {
        const auto collective = static_cast<Collective>(i);
        CHECK(collective_named(name(collective)) == collective);
    }
    CHECK_FALSE(collective_named("allreduc").has_value());
}

TEST_CASE("a path is the prefix and one suffix") {
    Program program;
    program.ops = {send(1, {0})};
    CHECK(path(program, 7) == program.ops);
    program.suffixes = {{recv(1, {0})}, {recv(2, {0}), send(2, {1})}};
    CHECK(path(program, 0) == std::vector<Op>{send(1, {0}), recv(1, {0})});
    CHECK(path(program, 1) == std::vector<Op>{send(1, {0}), recv(2, {0}), send(2, {1})});
    CHECK_THROWS_AS(path(program, 2), Error);
    CHECK_THROWS_AS(path(program, -1), Error);
}
