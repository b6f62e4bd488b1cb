// SPDX-License-Identifier: BSD-3-Clause
// What the arbiter's agent decides of calls that repeat, and what all make of it.
#include "doctest.h"

#include <limits>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "comm/reports.hpp"
#include "comm/review.hpp"

using namespace stretto;
using namespace stretto::comm;
using select::Arrivals;

namespace {

// A host each, 1 Gbit/s, 4 MiB; rank 1 has come late to the last three calls.
Review one_late(int ranks, double late) {
    Review review;
    review.situation.ranks = review.situation.hosts = ranks;
    review.situation.bytes = 4u << 20;
    review.balanced = "ring";
    review.expected.assign(static_cast<std::size_t>(ranks), 0);
    review.expected[1] = late;
    review.recent.assign(3, review.expected);
    review.elapsed = {0.1, 0.1, std::numeric_limits<double>::quiet_NaN()};
    review.lessons = std::make_shared<Lessons>(0);
    return review;
}

select::Late read(const Review &review, std::size_t most = 1024) {
    return reviewed(review.decide(most), review.situation, review.serves, review.expected);
}

} // namespace

TEST_CASE("all make of a decision what the one who decided meant") {
    for (const int ranks : {3, 7, 16})
        for (const double late : {0.0, 0.001, 0.1}) {
            CAPTURE(ranks);
            CAPTURE(late);
            const Review review = one_late(ranks, late);
            const select::Late meant =
                choose_late(review.situation, review.balanced, review.expected, review.recent);
            const select::Late all = read(review);
            CHECK(all.algorithm == meant.algorithm);
            CHECK(all.order == meant.order);
            CHECK(all.margin == meant.margin); // to the last bit: orders go by it
            CHECK(all.why == meant.why);
            CHECK(all.algorithm.empty() == (late < 0.1));
        }
}

TEST_CASE("what goes on keeps its order, and its plans") {
    Review review = one_late(8, 0.1);
    review.serves = read(review);
    REQUIRE(!review.serves.algorithm.empty());
    review.expected[2] = 0.004; // no reason for another order
    const select::Late next = read(review);
    CHECK(next.algorithm == review.serves.algorithm);
    CHECK(next.order == review.serves.order);
}

TEST_CASE("what is slower than its price is dropped, by the calls that it has served") {
    Review review = one_late(8, 0.1);
    review.served = 2;
    review.elapsed = {0.12, 0.12, 0};
    review.serves = read(review); // what the ring takes is known now
    REQUIRE(!review.serves.algorithm.empty());
    review.elapsed = {1, 1, 0};
    review.served = 0; // they were others
    CHECK(read(review).algorithm == review.serves.algorithm);
    review.served = 2;
    CHECK(read(review).algorithm.empty());
}

TEST_CASE("what calls took is not priced while decisions rest") {
    Review review = one_late(8, 0.1);
    review.lessons = std::make_shared<Lessons>(1'000'000'000);
    review.serves.algorithm = "chain";
    const auto in_vain = [&] { return review.serves; };
    review.lessons->priced(Lessons::rule, 1, 0, review.serves, in_vain);
    review.serves.algorithm.clear(); // the ring
    review.lessons->priced(Lessons::rule, 1, 0, review.serves, in_vain);
    REQUIRE(review.lessons->rests(Lessons::rule, 0.1));
    review.served = 2;
    CHECK(review.decide(1024).empty());
    CHECK(!review.lessons->usual().knows("ring"));
    review.lessons = std::make_shared<Lessons>();
    CHECK(!review.decide(1024).empty());
    CHECK(review.lessons->usual().knows("ring"));
}

TEST_CASE("a decision fits, or all stays as it is") {
    Review review = one_late(16, 0.1);
    CHECK(review.decide(60).size() <= 60);
    CHECK(!read(review, 60).algorithm.empty()); // the reason is cut short
    CHECK(review.decide(10).empty());
    review.serves.algorithm = "chain(segments=7)";
    CHECK(read(review, 10).algorithm == "chain(segments=7)");
    for (const char *text :
         {"0x1p-5", "0x1p-5\n0\nchain", "0x1p-5\n0\nchain\nwhy", "late\n0\nchain\n\nwhy",
          "\n\n\n\n", "0x1p-5\nchain\nwhy\n\n", "0x1p-5\n\nchain\n\nwhy"})
        CHECK_THROWS_AS(reviewed(text, review.situation, review.serves, review.expected), Error);
}

TEST_CASE("of calls with a root the order is told, as only the arbiter knows when ranks came") {
    const auto read_alone = [](const Review &review) {
        return reviewed(review.decide(1024), review.situation, review.serves, {});
    };
    for (const schedule::Collective collective :
         {schedule::Collective::reduce, schedule::Collective::broadcast})
        for (const int ranks : {3, 7, 16})
            for (int root = 0; root < ranks; ++root) {
                CAPTURE(ranks);
                CAPTURE(root);
                Review review = one_late(ranks, 0.1);
                review.situation.collective = collective;
                review.situation.root = root;
                review.balanced = "chain";
                const select::Late meant =
                    choose_late(review.situation, review.balanced, review.expected, review.recent);
                CHECK(read_alone(review).same_as(meant));
                review.forced = true; // made for these arrivals, whatever it costs
                const std::vector<int> order = read_alone(review).order;
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
                    CHECK_THROWS_AS(reviewed("0x1p-5\n0\nchain\n" + std::string(behind) + "\nwhy",
                                             review.situation, review.serves, {}),
                                    Error);
            }
}

TEST_CASE("the last in a chain are those who come last, if others wait for them now") {
    for (const schedule::Collective collective :
         {schedule::Collective::reduce, schedule::Collective::broadcast}) {
        Review review = one_late(8, 0); // root 0: rank 7 is far from it
        const bool gives = collective == schedule::Collective::broadcast;
        review.expected[gives ? 1 : 6] = 0.1;
        review.recent.assign(3, review.expected);
        review.situation.collective = collective;
        review.balanced = "chain";
        const select::Late all = read(review);
        CHECK(all.algorithm.starts_with("chain("));
        CHECK(all.mean_elapsed == 0); // which only the arbiter knows
        review.expected.assign(8, 0); // they come together
        review.recent.assign(3, review.expected);
        CHECK(read(review).algorithm.empty());
        // Rank 7 is the last to get the vector; to give, rank 1 is.
        review.expected[gives ? 7 : 1] = 0.1;
        review.recent.assign(3, review.expected);
        CHECK(read(review).algorithm.empty());
    }
}

TEST_CASE("what was asked for by name is made for the arrivals, whatever it costs") {
    Review review = one_late(5, 0.001);
    review.situation.collective = schedule::Collective::broadcast;
    review.balanced = "chain";
    review.forced = true;
    const select::Late all = reviewed(review.decide(1024), review.situation, review.serves, {});
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
    Review review = one_late(8, 0);
    for (std::size_t call = 0; call < 3; ++call) {
        review.recent[call].assign(8, 0);
        review.recent[call][2 * call] = 0.1;
    }
    review.served = 2;
    review.elapsed = {0.15, 0.15, 0}; // what the ring takes is known now
    review.serves = read(review);
    REQUIRE(!review.serves.algorithm.empty());
    CHECK(review.serves.latecomers == 1);
    CHECK(review.serves.order.empty());
    // What it takes is learned.
    review.elapsed = {0.12, 0.12, 0};
    CHECK(read(review).same_as(review.serves));
    review.elapsed = {1, 1, 0};
    CHECK(read(review).algorithm.empty());
    // It says nothing of calls whose late rank is known.
    review.recent.assign(3, review.expected = select::Arrivals(8, 0));
    for (select::Arrivals *each :
         {&review.expected, &review.recent[0], &review.recent[1], &review.recent[2]})
        (*each)[3] = 0.1;
    review.served = 0;
    const select::Late known = read(review);
    REQUIRE(!known.algorithm.empty());
    CHECK(known.latecomers == 0);
    CHECK(known.order.back() == 3);
}
