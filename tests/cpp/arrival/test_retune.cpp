// SPDX-License-Identifier: BSD-3-Clause
// What the coordinator's agent decides of calls that repeat, and what all make of it.
#include "doctest.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "arrival/reports.hpp"
#include "arrival/retune.hpp"
#include "base/status.hpp"

using namespace stretto;
using namespace stretto::arrival;
using cost::Arrivals;

namespace {

// A host each, 1 Gbit/s, 4 MiB; rank 1 has come late to the last three calls.
Retune one_late(int ranks, double late) {
    Retune retune;
    retune.situation.ranks = retune.situation.hosts = ranks;
    retune.situation.bytes = 4u << 20;
    retune.synchronous = "ring";
    retune.expected.assign(static_cast<std::size_t>(ranks), 0);
    retune.expected[1] = late;
    retune.recent.assign(3, retune.expected);
    retune.elapsed = {0.1, 0.1, std::numeric_limits<double>::quiet_NaN()};
    retune.feedback = std::make_shared<CostFeedback>(0);
    return retune;
}

arrival::Late read(const Retune &retune, std::size_t most = 1024) {
    return decoded(retune.decide(most), retune.situation, retune.selected, retune.expected);
}

} // namespace

TEST_CASE("all make of a decision what the one who decided meant") {
    for (const int ranks : {3, 7, 16})
        for (const double late : {0.0, 0.001, 0.1}) {
            CAPTURE(ranks);
            CAPTURE(late);
            const Retune retune = one_late(ranks, late);
            const arrival::Late meant =
                choose_late(retune.situation, retune.synchronous, retune.expected, retune.recent);
            const arrival::Late all = read(retune);
            CHECK(all.algorithm == meant.algorithm);
            CHECK(all.order == meant.order);
            CHECK(all.margin == meant.margin); // to the last bit: orders go by it
            CHECK(all.why == meant.why);
            CHECK(all.algorithm.empty() == (late < 0.1));
        }
}

TEST_CASE("what goes on keeps its order, and its plans") {
    Retune retune = one_late(8, 0.1);
    retune.selected = read(retune);
    REQUIRE(!retune.selected.algorithm.empty());
    retune.expected[2] = 0.004; // no reason for another order
    const arrival::Late next = read(retune);
    CHECK(next.algorithm == retune.selected.algorithm);
    CHECK(next.order == retune.selected.order);
}

TEST_CASE("what is slower than its price is dropped, by the calls that it has served") {
    Retune retune = one_late(8, 0.1);
    retune.by_selected = 2;
    retune.elapsed = {0.12, 0.12, 0};
    retune.selected = read(retune); // what the ring takes is known now
    REQUIRE(!retune.selected.algorithm.empty());
    retune.elapsed = {1, 1, 0};
    retune.by_selected = 0; // they were others
    CHECK(read(retune).algorithm == retune.selected.algorithm);
    retune.by_selected = 2;
    CHECK(read(retune).algorithm.empty());
}

TEST_CASE("what calls took is not priced while decisions rest") {
    Retune retune = one_late(8, 0.1);
    retune.feedback = std::make_shared<CostFeedback>(1'000'000'000);
    retune.selected.algorithm = "chain";
    const auto useless = [&] { return retune.selected; };
    retune.feedback->priced(CostFeedback::rule, 1, 0, retune.selected, useless);
    retune.selected.algorithm.clear(); // the ring
    retune.feedback->priced(CostFeedback::rule, 1, 0, retune.selected, useless);
    REQUIRE(retune.feedback->backs_off(CostFeedback::rule, 0.1));
    retune.by_selected = 2;
    CHECK(retune.decide(1024).empty());
    CHECK(!retune.feedback->steady().knows("ring"));
    retune.feedback = std::make_shared<CostFeedback>();
    CHECK(!retune.decide(1024).empty());
    CHECK(retune.feedback->steady().knows("ring"));
}

TEST_CASE("a decision fits, or all stays as it is") {
    Retune retune = one_late(16, 0.1);
    CHECK(retune.decide(60).size() <= 60);
    CHECK(!read(retune, 60).algorithm.empty()); // the reason is cut short
    CHECK(retune.decide(10).empty());
    retune.selected.algorithm = "chain(segments=7)";
    CHECK(read(retune, 10).algorithm == "chain(segments=7)");
    for (const char *text :
         {"0x1p-5", "0x1p-5\n0\nchain", "0x1p-5\n0\nchain\nwhy", "late\n0\nchain\n\nwhy",
          "\n\n\n\n", "0x1p-5\nchain\nwhy\n\n", "0x1p-5\n\nchain\n\nwhy"})
        CHECK_THROWS_AS(decoded(text, retune.situation, retune.selected, retune.expected), Error);
}

TEST_CASE("of calls with a root the order is told, as only the coordinator knows when ranks came") {
    const auto read_alone = [](const Retune &retune) {
        return decoded(retune.decide(1024), retune.situation, retune.selected, {});
    };
    for (const schedule::Collective collective :
         {schedule::Collective::reduce, schedule::Collective::broadcast})
        for (const int ranks : {3, 7, 16})
            for (int root = 0; root < ranks; ++root) {
                CAPTURE(ranks);
                CAPTURE(root);
                Retune retune = one_late(ranks, 0.1);
                retune.situation.collective = collective;
                retune.situation.root = root;
                retune.synchronous = "chain";
                retune.reported = true;
                const arrival::Late meant = choose_late(retune.situation, retune.synchronous,
                                                        retune.expected, retune.recent);
                CHECK(read_alone(retune).same_as(meant));
                retune.forced = true; // made for these arrivals, whatever it costs
                const std::vector<int> order = read_alone(retune).order;
                std::vector<int> others, rest = order;
                for (int rank = 0; rank < ranks; ++rank)
                    if (rank != root && rank != 1)
                        others.push_back(rank);
                if (root != 1)
                    others.push_back(1);
                std::erase(rest, root);
                CHECK(rest == others);
                CHECK((collective == schedule::Collective::broadcast ? order.front()
                                                                     : order.back()) == root);
                for (const char *behind : {"1 ", "-1", "99", "x"})
                    CHECK_THROWS_AS(decoded("0x1p-5\n0\nchain\n" + std::string(behind) + "\nwhy",
                                            retune.situation, retune.selected, {}),
                                    Error);
            }
}

TEST_CASE("of calls in flight the order is told, too, whatever it is") {
    for (const int ranks : {3, 8, 13}) {
        Retune retune = one_late(ranks, 0.1);
        retune.reported = true;
        const arrival::Late meant =
            choose_late(retune.situation, retune.synchronous, retune.expected, retune.recent);
        REQUIRE(!meant.algorithm.empty());
        CHECK(decoded(retune.decide(1024), retune.situation, retune.selected, {}).same_as(meant));
        // All come one after the other, the highest rank first.
        for (int rank = 0; rank < ranks; ++rank)
            retune.expected[static_cast<std::size_t>(rank)] = 0.1 * (ranks - 1 - rank);
        retune.recent.assign(3, retune.expected);
        retune.synchronous = "chain";
        retune.forced = true;
        const std::vector<int> order =
            decoded(retune.decide(1024), retune.situation, retune.selected, {}).order;
        CHECK(order == sorted_by_arrival(retune.expected));
        CHECK(order.front() == ranks - 1);
    }
}

TEST_CASE("the last in a chain are those who come last, if others wait for them now") {
    for (const schedule::Collective collective :
         {schedule::Collective::reduce, schedule::Collective::broadcast}) {
        Retune retune = one_late(8, 0); // root 0: rank 7 is far from it
        const bool gives = collective == schedule::Collective::broadcast;
        retune.expected[gives ? 1 : 6] = 0.1;
        retune.recent.assign(3, retune.expected);
        retune.situation.collective = collective;
        retune.synchronous = "chain";
        const arrival::Late all = read(retune);
        CHECK(all.algorithm.starts_with("chain("));
        CHECK(all.mean_elapsed == 0); // which only the coordinator knows
        retune.expected.assign(8, 0); // they come together
        retune.recent.assign(3, retune.expected);
        CHECK(read(retune).algorithm.empty());
        // Rank 7 is the last to get the vector; to give, rank 1 is.
        retune.expected[gives ? 7 : 1] = 0.1;
        retune.recent.assign(3, retune.expected);
        CHECK(read(retune).algorithm.empty());
    }
}

TEST_CASE("what was asked for by name is made for the arrivals, whatever it costs") {
    Retune retune = one_late(5, 0.001);
    retune.situation.collective = schedule::Collective::broadcast;
    retune.synchronous = "chain";
    retune.forced = retune.reported = true;
    const arrival::Late all = decoded(retune.decide(1024), retune.situation, retune.selected, {});
    CHECK(all.algorithm.starts_with("chain("));
    CHECK(all.order == std::vector<int>{0, 2, 3, 4, 1});
}

TEST_CASE("what ranks report is a history, of the calls of which all have") {
    const Reports reports{.came = 100, .took = 200, .ranks = {4, 7, 2}};
    arrival::Notices notices;
    for (std::uint64_t call = 0; call < arrival::History::kCalls; ++call)
        for (const int rank : reports.ranks) {
            if (call == 2 && rank == 7) // it was late to tell
                continue;
            notices.add(reports.came + call, rank,
                        1'000'000 * static_cast<std::int64_t>(call) + rank * 1000);
            notices.add(reports.took + call, rank, 3000);
        }
    const arrival::History history = reports.taken_from(notices);
    CHECK(history.calls() == arrival::History::kCalls - 1);
    const std::vector<double> expected = history.expected();
    REQUIRE(expected.size() == 3);
    CHECK(expected[0] == doctest::Approx(2e-6));
    CHECK(expected[1] == doctest::Approx(5e-6));
    CHECK(expected[2] == 0);
    CHECK(history.elapsed().front() == doctest::Approx(3e-6));
    CHECK(reports.taken_from(notices).calls() == 0); // it is taken
}

TEST_CASE("where nobody knows who comes late, all agree that it shows in the call") {
    Retune retune = one_late(8, 0);
    for (std::size_t call = 0; call < 3; ++call) {
        retune.recent[call].assign(8, 0);
        retune.recent[call][2 * call] = 0.1;
    }
    retune.by_selected = 2;
    retune.elapsed = {0.15, 0.15, 0}; // what the ring takes is known now
    retune.selected = read(retune);
    REQUIRE(!retune.selected.algorithm.empty());
    CHECK(retune.selected.latecomers == 1);
    CHECK(retune.selected.order.empty());
    // What it takes is learned.
    retune.elapsed = {0.12, 0.12, 0};
    CHECK(read(retune).same_as(retune.selected));
    retune.elapsed = {1, 1, 0};
    CHECK(read(retune).algorithm.empty());
    // It says nothing of calls whose late rank is known.
    retune.recent.assign(3, retune.expected = cost::Arrivals(8, 0));
    for (cost::Arrivals *each :
         {&retune.expected, &retune.recent[0], &retune.recent[1], &retune.recent[2]})
        (*each)[3] = 0.1;
    retune.by_selected = 0;
    const arrival::Late known = read(retune);
    REQUIRE(!known.algorithm.empty());
    CHECK(known.latecomers == 0);
    CHECK(known.order.back() == 3);
}
