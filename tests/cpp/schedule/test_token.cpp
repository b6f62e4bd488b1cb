// SPDX-License-Identifier: BSD-3-Clause
// choose: prefix, suffixes, and how the token comes to know where it is needed.
#include "doctest.h"

#include <optional>
#include <string>
#include <vector>

#include "schedule/json.hpp"
#include "schedule/verify.hpp"
#include "support/interpret.hpp"
#include "support/mutate.hpp"
#include "support/schedules.hpp"

using namespace stretto::test;

namespace {

bool fails_with(const Schedule &schedule, const std::string &part) {
    const Verdict verdict = verify(schedule);
    INFO(verdict.failure);
    const bool found = !verdict.ok && verdict.failure.find(part) != std::string::npos;
    CHECK(found);
    return found;
}

constexpr const char *kUnknown = "waits for the token, which does not surely reach its position";

// Position 1 tells 0 something in the prefix; value v says in which of two ways 0 answers.
Schedule answer(Token token, std::vector<Op> before_0, std::vector<Op> before_1) {
    auto programs = empty_programs(2);
    ops_of(programs, 0) = std::move(before_0);
    ops_of(programs, 1) = std::move(before_1);
    programs[0].suffixes = {{send(1, {0}, kWork, 1)}, {send(1, {0}, kWork, 2)}};
    programs[1].suffixes = {{recv(0, {0}, kWork, 1)}, {recv(0, {0}, kWork, 2)}};
    Schedule schedule = assemble("answer", {Collective::broadcast, 2, 1}, std::move(programs));
    schedule.token = token;
    return schedule;
}

} // namespace

TEST_CASE("every suffix is proved") {
    CHECK(verify(chosen_root()).failure == "");
    auto programs = programs_of(chosen_root());
    programs[1].suffixes[1].pop_back();
    fails_with(with_programs(chosen_root(), programs), "token value 1: unmatched message");
}

TEST_CASE("the token reaches a position by piggyback, or it may not choose") {
    auto programs = programs_of(chosen_root());
    // Position 1 is told by the first op of position 0's suffix.  Without it nothing carries.
    programs[0].suffixes[0].erase(programs[0].suffixes[0].begin());
    programs[0].suffixes[1].erase(programs[0].suffixes[1].begin());
    programs[1].ops.clear();
    programs[1].suffixes = {{send(0, {0}), recv(0, {0})},
                            {recv(0, {0}, 1), reduce({1, kWork}, {0}), send(0, {0}), send(2, {0})}};
    programs[0].suffixes[1].insert(programs[0].suffixes[1].begin(), send(1, {0}));
    fails_with(with_programs(chosen_root(), programs), kUnknown);
}

TEST_CASE("an arbiter issues after its first ops") {
    const std::vector<Op> tell = {send(1, {0}, kWork, 3)}, told = {recv(0, {0}, 1, 3)};
    CHECK(verify(answer({2, 0, 0}, tell, told)).failure == "");
    // Issued only when that message is complete, so the message cannot carry it.
    fails_with(answer({2, 0, 1}, tell, told), kUnknown);
    // A second message, ordered after the first, does.
    Op second = send(1, {0}, kWork, 3);
    second.after = {0};
    const std::vector<Op> told_twice = {recv(0, {0}, 1, 3), recv(0, {0}, 2, 3)};
    CHECK(verify(answer({2, 0, 1}, {tell[0], second}, told_twice)).failure == "");
    // Not ordered: it may leave before the token is there.
    second.after.clear();
    fails_with(answer({2, 0, 1}, {tell[0], second}, told_twice), kUnknown);
    fails_with(answer({2, 0, 2}, tell, told), "its prefix has 1");
}

TEST_CASE("a message that may carry the token does not count as one that does") {
    // Position 0 knows from the start and tells 1; 1 tells 2 something; 3 only delays 2.
    const auto schedule = [](std::vector<Op> relay, std::vector<Op> heard, std::vector<Op> delay) {
        auto programs = empty_programs(4);
        ops_of(programs, 0) = {send(1, {0}, kWork, 3)};
        ops_of(programs, 1) = std::move(relay);
        ops_of(programs, 2) = std::move(heard);
        ops_of(programs, 3) = std::move(delay);
        programs[0].suffixes = {{send(2, {0}, kWork, 1)}, {send(2, {0}, kWork, 2)}};
        programs[2].suffixes = {{recv(0, {0}, kWork, 1)}, {recv(0, {0}, kWork, 2)}};
        const std::vector<std::optional<Atom>> start = {Atom{0, 0}, Atom{1, 0}, {}, Atom{3, 0}};
        const std::vector<std::optional<Goal>> end = {{}, {}, Goal{0, 0}, {}};
        Schedule made = assemble("luck", Contract::custom(4, 1, start, end), std::move(programs));
        made.token = Token{2, 0, 0};
        return made;
    };
    const Op told = recv(0, {0}, 1, 3), tell = send(2, {0}, kWork, 3), hear = recv(1, {0}, 1, 3);
    Op ordered = tell;
    ordered.after = {0};
    const Schedule sure = schedule({told, ordered}, {hear}, {});
    // Through what arrived, and a copy of it.
    const Schedule chain = schedule({told, copy({0}, 1, 2), send(2, {0}, 2, 3)}, {hear}, {});
    const Schedule lucky = schedule({told, tell}, {hear}, {});
    // 2 hears only after two messages of 3, by when 1 knows; but `tell` was issued before.
    Op second = send(2, {0}), afterwards = hear;
    second.after = {0};
    afterwards.after = {1};
    const Schedule late = schedule({told, tell}, {recv(3, {0}, 2), recv(3, {0}, 2), afterwards},
                                   {send(2, {0}), second});
    CHECK(verify(sure).failure == "");
    CHECK(verify(chain).failure == "");
    fails_with(lucky, kUnknown);
    fails_with(late, kUnknown);
    // The numbers agree: there are runs in which position 2 never hears of it.
    CHECK(run_on_numbers(sure, 1, 30).computed);
    CHECK(run_on_numbers(chain, 1, 30).computed);
    CHECK_FALSE(run_on_numbers(lucky, 1, 30).computed);
    CHECK_FALSE(run_on_numbers(late, 1, 30).computed);
}

TEST_CASE("equal suffixes need no token") {
    auto programs = empty_programs(2);
    programs[0].suffixes = {{send(1, {0})}, {send(1, {0})}};
    programs[1].suffixes = {{recv(0, {0})}, {recv(0, {0})}};
    Schedule schedule = assemble("equal", {Collective::broadcast, 2, 1}, std::move(programs));
    schedule.token = Token{2, 1, 0}; // whom nobody hears
    CHECK(verify(schedule).failure == "");
}

TEST_CASE("all positions know an elected token") {
    CHECK(verify(answer({2, -1, 0}, {}, {})).failure == "");
    fails_with(answer({2, -1, 1}, {}, {}), "`issued_after`");
    fails_with(answer({3, -1, 0}, {}, {}), "2 suffixes, but the token has 3 values");
    fails_with(answer({2, 2, 0}, {}, {}), "the arbiter must be");
    fails_with(answer({0, 0, 0}, {}, {}), "at least 1 value");
    Schedule without = answer({2, -1, 0}, {}, {});
    without.token.reset();
    fails_with(without, "2 suffixes");
}

TEST_CASE("the last to arrive reduces: an election with a suffix for each position") {
    // Value v: position v was last.  The others have sent it their contributions; it answers.
    constexpr Position ranks = 4;
    auto programs = empty_programs(ranks);
    for (Position p = 0; p < ranks; ++p)
        for (Position last = 0; last < ranks; ++last) {
            std::vector<Op> suffix;
            if (p != last)
                suffix = {send(last, {0}), recv(last, {0})};
            for (Position q = 0; p == last && q < ranks; ++q)
                if (q != p)
                    suffix.push_back(recv_reduce(q, {0}, q < p ? Side::left : Side::right));
            for (Position q = 0; p == last && q < ranks; ++q)
                if (q != p)
                    suffix.push_back(send(q, {0}));
            programs[static_cast<std::size_t>(p)].suffixes.push_back(suffix);
        }
    Schedule schedule = assemble("last", {Collective::allreduce, ranks, 1}, programs);
    schedule.token = Token{ranks, -1, 0};
    const Verdict verdict = verify(schedule);
    CHECK(verdict.failure == "");
    CHECK(verdict.consistent);
    CHECK_FALSE(verdict.order_preserving); // value 2 reduces 1 0 2 3
    CHECK(verdict.accounting.steps == 4);
    CHECK(to_text(schedule).find("token of 4 values, elected") != std::string::npos);
}
