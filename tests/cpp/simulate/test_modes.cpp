// SPDX-License-Identifier: BSD-3-Clause
// What the model and its modes mean, on examples that can be done by hand.
#include "doctest.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "base/status.hpp"
#include "schedule/accounting.hpp"
#include "simulate/times.hpp"
#include "support/paper_schedules.hpp"

using namespace stretto;
using namespace stretto::test;
using simulate::Event;
using simulate::Mode;
using simulate::Problem;
using simulate::Timeline;

namespace {

constexpr Mode kModes[] = {Mode::posted, Mode::arrived, Mode::eager, Mode::ordered};

std::vector<double> finish(const Schedule &schedule, const Problem &problem) {
    return simulate::simulate(schedule, problem).finish;
}

Schedule two(std::vector<Op> first, std::vector<Op> second, Block blocks,
             Collective collective = Collective::broadcast) {
    auto programs = empty_programs(2);
    programs[0].ops = std::move(first);
    programs[1].ops = std::move(second);
    return assemble("two", {collective, 2, blocks}, std::move(programs));
}

} // namespace

TEST_CASE("when a message may start") {
    const Schedule told = two({send(1, {0})}, {recv(0, {0})}, 1);
    // The receiver comes at 3, the message needs 1.
    CHECK(finish(told, units(Mode::posted, {0, 3})) == std::vector<double>{4, 4});
    CHECK(finish(told, units(Mode::arrived, {0, 3})) == std::vector<double>{4, 4});
    CHECK(finish(told, units(Mode::eager, {0, 3})) == std::vector<double>{1, 3});
    CHECK(finish(told, units(Mode::ordered, {0, 3})) == std::vector<double>{4, 4});
    // The sender comes at 3.
    for (const Mode mode : kModes)
        CHECK(finish(told, units(mode, {3, 0})) == std::vector<double>{4, 4});
}

TEST_CASE("alpha and beta occupy ports, gamma the processor") {
    const Schedule reduced =
        two({send(1, {0})}, {recv_reduce(0, {0}, Side::left)}, 1, Collective::allreduce);
    Problem problem = units(Mode::posted, {}, 8);
    problem.element = 2;
    problem.network = {5, 1, 0.25};
    for (const Mode mode : kModes) {
        problem.mode = mode;
        CHECK(finish(reduced, problem) == std::vector<double>{5 + 16, 5 + 16 + 4});
    }
}

TEST_CASE("three send to one that reduces in order, then sends to three") {
    // The messages come at 1, 2, 3; the last is reduced at 3.25; results leave until 6.25.
    for (const Mode mode : {Mode::arrived, Mode::eager})
        CHECK(finish(linear(4), units(mode)) == std::vector<double>{6.25, 4.25, 5.25, 6.25});
    // With one open receive, and as all three touch the same block, each begins when the one before
    // it is reduced: 1.25, 2.5, 3.75.
    for (const Mode mode : {Mode::posted, Mode::ordered})
        CHECK(finish(linear(4), units(mode)) == std::vector<double>{6.75, 4.75, 5.75, 6.75});
}

TEST_CASE("a receive that must wait for its turn holds up a walk, not the language") {
    // 1 comes at 10.  0 waits for it first, then for 2.
    auto programs = empty_programs(3);
    programs[0].ops = {recv(1, {1}), recv(2, {2})};
    programs[1].ops = {send(0, {1})};
    programs[2].ops = {send(0, {2})};
    const Schedule gather = assemble("gather", {Collective::gather, 3, 3}, std::move(programs));
    const std::vector<double> arrivals = {0, 10, 0};
    CHECK(finish(gather, units(Mode::posted, arrivals, 3)) == std::vector<double>{12, 11, 12});
    CHECK(finish(gather, units(Mode::arrived, arrivals, 3)) == std::vector<double>{11, 11, 1});
    CHECK(finish(gather, units(Mode::eager, arrivals, 3)) == std::vector<double>{11, 11, 1});
    CHECK(finish(gather, units(Mode::ordered, arrivals, 3)) == std::vector<double>{11, 11, 1});
}

TEST_CASE("walks buffer their sends, mode ordered does not") {
    // In place, each overwrites what it still sends.
    const Schedule exchange = recursive_doubling(4, true);
    for (const Mode mode : {Mode::posted, Mode::arrived, Mode::eager})
        CHECK(finish(exchange, units(mode)) == std::vector<double>(4, 2.5));
    CHECK_THROWS_WITH_AS(simulate::simulate(exchange, units(Mode::ordered)),
                         doctest::Contains("deadlock"), Error);
    CHECK(finish(recursive_doubling(4, false), units(Mode::ordered)) ==
          std::vector<double>(4, 2.5));
}

TEST_CASE("the error of a deadlock names the waiting ops") {
    const Schedule circle =
        two({recv(1, {0}), send(1, {0}, kWork, 1)}, {recv(0, {0}, kWork, 1), send(0, {0})}, 1);
    for (const Mode mode : {Mode::posted, Mode::arrived, Mode::eager})
        CHECK_THROWS_WITH_AS(simulate::simulate(circle, units(mode)),
                             doctest::Contains("position 0 waits in op 0"), Error);
}

TEST_CASE("windows count under the language's order alone") {
    // Two blocks leave in the order 0, 1 and are awaited in the order 1, 0.
    CHECK(finish(crossed(), units(Mode::ordered, {}, 2)) == std::vector<double>{2, 2});
    Schedule both = crossed();
    both.program = [program = both.program](Position p) {
        Program windowed = program(p);
        windowed.open = {1, 1};
        return windowed;
    };
    CHECK_THROWS_AS(simulate::simulate(both, units(Mode::ordered, {}, 2)), Error);
    CHECK(finish(both, units(Mode::posted, {}, 2)) == std::vector<double>{2, 2});
}

TEST_CASE("receives of one group go as they come") {
    // Position 1 comes at 20: block 0 is reduced from 2, 3 first.
    const auto arrivals = std::vector<double>{0, 20, 0, 0};
    Problem problem = units(Mode::ordered, arrivals, 4);
    const double grouped = simulate::simulate(direct(4), problem).finish[0];
    Schedule fixed = direct(4);
    fixed.program = [program = fixed.program](Position p) {
        Program ordered = program(p);
        for (Op &op : ordered.ops)
            op.group = 0;
        return ordered;
    };
    CHECK(grouped < simulate::simulate(fixed, problem).finish[0]);
}

TEST_CASE("of two that wait for a port, the one that waits longer goes first") {
    // 2 comes at 1, 1 at 2; 0 takes both from 5 on, one after the other.
    auto programs = empty_programs(3);
    programs[0].ops = {recv(1, {1}), recv(2, {2})};
    programs[1].ops = {send(0, {1})};
    programs[2].ops = {send(0, {2})};
    const Schedule gather = assemble("gather", {Collective::gather, 3, 3}, std::move(programs));
    CHECK(finish(gather, units(Mode::eager, {5, 0.5, 0.25}, 3)) ==
          std::vector<double>{5, 2.25, 1.25});
    // Both since 5: the order of their programs, then of positions.
    CHECK(finish(gather, units(Mode::arrived, {5, 2, 1}, 3)) == std::vector<double>{7, 6, 7});
}

TEST_CASE("an n-ary reduction costs n - 1 operands, a copy nothing") {
    for (const Mode mode : kModes)
        CHECK(finish(one_shot(2), units(mode)) == std::vector<double>(2, 1.25));
    // Three messages in a row, not reduced as they come, then 3 * 0.25.
    CHECK(finish(one_shot(4), units(Mode::ordered)) == std::vector<double>(4, 3.75));
    CHECK(finish(alltoall(2, 2), units(Mode::ordered, {}, 4)) == std::vector<double>{2, 2});
}

TEST_CASE("one position, no elements, empty blocks") {
    for (const Mode mode : kModes) {
        CHECK(finish(ring(1), units(mode, {3}, 5)) == std::vector<double>{3});
        CHECK(finish(ring(4), units(mode, {3, 1, 0, 2}, 0)) == std::vector<double>{3, 1, 0, 2});
        // One element for 4 blocks: block 0 alone travels, 3 hops each way.
        CHECK(simulate::simulate(ring(4), units(mode, {}, 1)).makespan == 6.75);
    }
}

TEST_CASE("a token holds suffixes back until it comes") {
    // Position 2 tells 0 with its contribution; 0 tells 1; value 1 makes 1 the root.
    const Schedule chosen = chosen_root();
    for (const Mode mode : kModes)
        for (const std::int32_t value : {0, 1}) {
            Problem problem = units(mode, {0, 0, 7});
            problem.token_value = value;
            const Timeline timeline = simulate::simulate(chosen, problem);
            // 2 -> 0 ends at 8, reduced at 8.25; 0 -> 1 at 9.25.  Then 1 -> 0, reduced at 10.5, and
            // two messages; or, reduced at 1 by 9.5, two messages.
            CHECK(timeline.makespan == (value == 0 ? 12.5 : 11.5));
        }
    Problem problem = units(Mode::posted);
    problem.token_value = 2;
    CHECK_THROWS_AS(simulate::simulate(chosen, problem), Error);
}

TEST_CASE("an elected token is known when the last position has arrived") {
    auto programs = empty_programs(2);
    programs[0].suffixes = {{send(1, {0})}, {recv(1, {0})}};
    programs[1].suffixes = {{recv(0, {0})}, {send(0, {0})}};
    Schedule last = assemble("last", {Collective::allreduce, 2, 1}, std::move(programs));
    last.token = Token{2, -1, 0};
    for (const std::int32_t value : {0, 1}) {
        Problem problem = units(Mode::eager, {0, 4});
        problem.token_value = value;
        CHECK(finish(last, problem) == std::vector<double>{5, 5});
    }
}

// Every message of every schedule, once, and no port or processor in two places.
TEST_CASE("events fill ports and processors without overlap") {
    std::mt19937 random(3);
    std::vector<Schedule> schedules = {pre_reduced_ring({2, 1, 0, 0, 0}), generalized_cyclic(7),
                                       chain_and_back(5, 3)};
    for (const algorithms::Algorithm &algorithm : algorithms::all())
        if (algorithm.runs(6))
            schedules.push_back(algorithms::make({.algorithm = &algorithm, .parameters = {}}, 6));
    for (const Schedule &schedule : schedules)
        for (const Mode mode : kModes) {
            CAPTURE(schedule.name);
            CAPTURE(static_cast<int>(mode));
            Problem problem = units(mode, {}, 60 * static_cast<std::size_t>(schedule.blocks()));
            problem.network = {10, 1, 0.5};
            std::vector<Event> events;
            problem.watch = [&](const Event &event) { events.push_back(event); };
            for (Position p = 0; p < schedule.ranks; ++p)
                problem.arrivals.push_back(std::uniform_int_distribution<>(0, 1000)(random));
            const Timeline timeline = simulate::simulate(schedule, problem);

            std::map<std::pair<Position, int>, std::vector<std::pair<double, double>>> busy;
            std::vector<double> last = problem.arrivals;
            std::int64_t messages = 0;
            std::vector<std::vector<Op>> paths;
            for (Position p = 0; p < schedule.ranks; ++p)
                paths.push_back(schedule::path(schedule.program(p)));
            const auto op = [&](Position p, std::int32_t index) -> const Op & {
                return paths[static_cast<std::size_t>(p)].at(static_cast<std::size_t>(index));
            };
            for (const Event &event : events) {
                const std::pair span(event.start, event.end);
                if (event.from == event.to) {
                    CHECK(event.reduces);
                    busy[{event.from, 2}].push_back(span);
                } else {
                    ++messages;
                    busy[{event.from, 0}].push_back(span);
                    busy[{event.to, 1}].push_back(span);
                    CHECK(event.start >= problem.arrivals[static_cast<std::size_t>(event.from)]);
                    const Op &send = op(event.from, event.from_op);
                    const Op &recv = op(event.to, event.to_op);
                    CHECK(send.kind == OpKind::send);
                    CHECK(send.peer == event.to);
                    CHECK(send.blocks.front() == event.block);
                    CHECK(recv.kind == OpKind::recv);
                    CHECK(recv.peer == event.from);
                }
                for (const Position p : {event.from, event.to}) {
                    double &end = last[static_cast<std::size_t>(p)];
                    end = std::max(end, event.end);
                }
            }
            CHECK(messages ==
                  schedule::account(schedule, problem.count, problem.element).total.sends);
            CHECK(timeline.finish == last);
            CHECK(timeline.makespan == *std::max_element(last.begin(), last.end()));
            for (auto &[place, spans] : busy) {
                std::sort(spans.begin(), spans.end());
                for (std::size_t i = 1; i < spans.size(); ++i)
                    CHECK(spans[i].first >= spans[i - 1].second);
            }
        }
}

TEST_CASE("events name senders, receivers, blocks and reductions") {
    Problem problem = units(Mode::posted, {}, 3);
    problem.network.gamma = 0; // so that there is no work
    int events = 0;
    problem.watch = [&](const Event &event) {
        ++events;
        CHECK(event.to == (event.from + 1) % 3);
        CHECK(event.end == event.start + 1);
        CHECK(event.reduces == (event.end <= 2));
        const int step = static_cast<int>(event.start);
        CHECK(event.block == (event.from + 6 - step) % 3);
    };
    simulate::simulate(ring(3), problem);
    CHECK(events == 12);
}

TEST_CASE("a ring of hundreds takes exactly its steps") {
    const Timeline timeline =
        simulate::simulate(allreduce("ring", 256), units(Mode::posted, {}, 256));
    CHECK(timeline.makespan == 255 * 1.25 + 255);
    CHECK(timeline.mean_elapsed == timeline.makespan);
}

TEST_CASE("a schedule that cannot be simulated is refused with a reason") {
    const auto refused = [](const Schedule &schedule, const Problem &problem, const char *why) {
        CHECK_THROWS_WITH_AS(simulate::simulate(schedule, problem), doctest::Contains(why), Error);
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    refused(ring(3), units(Mode::posted, {0, 1}), "2 arrivals for 3 positions");
    refused(ring(2), units(Mode::posted, {0, -1}), "an arrival of -1");
    refused(ring(2), units(Mode::posted, {0, nan}), "an arrival of");
    refused(ring(2), units(Mode::posted, {0, 1e9}), "10 days");
    Problem slow = units(Mode::posted, {}, 300);
    slow.network.beta = 800'000;
    refused(ring(300), slow, "50 days");
    refused(two({send(1, {0})}, {}, 1), units(Mode::posted), "no partner for the send");
    refused(two({}, {recv(0, {0})}, 1), units(Mode::posted), "no partner for the receive");
    refused(two({send(1, {0})}, {recv(0, {0, 1})}, 2), units(Mode::posted, {}, 2), "meets");
    refused(two({send(5, {0})}, {}, 1), units(Mode::posted), "5");
}
