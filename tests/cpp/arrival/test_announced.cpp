// SPDX-License-Identifier: BSD-3-Clause
// What a coordinator decides for ranks that come at other times than usual, and what all make of
// it.
#include "doctest.h"

#include <cstdint>
#include <ctime>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "arrival/announced.hpp"
#include "base/clock.hpp"
#include "base/status.hpp"
#include "select/placed.hpp"

using namespace stretto;
using namespace stretto::arrival;
using arrival::Deviations;
using cost::Arrivals;

namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::uint64_t kHour = 3'600'000'000'000; // of clocks that go round

// A host each, 1 Gbit/s, 4 MiB; all come at once usually.
Forecast at_once(int ranks) {
    Forecast forecast;
    forecast.situation.ranks = forecast.situation.hosts = ranks;
    forecast.situation.bytes = 4u << 20;
    forecast.synchronous = "ring";
    forecast.steady.assign(static_cast<std::size_t>(ranks), 0);
    forecast.ranks.resize(static_cast<std::size_t>(ranks));
    std::iota(forecast.ranks.begin(), forecast.ranks.end(), 100); // of a larger job
    forecast.selected.margin = 0.003;
    forecast.feedback = std::make_shared<CostFeedback>(0);
    return forecast;
}

} // namespace

TEST_CASE("what is decided is read as it was meant") {
    for (const AnnouncedDecision &each :
         {AnnouncedDecision{"", {}}, AnnouncedDecision{"ring", {{3, -7}}},
          AnnouncedDecision{"late_rooted(blocks=7, chain=2)", {{0, 1}, {70000, INT64_MAX}}}}) {
        const AnnouncedDecision read = announced_decision_from(to_text(each));
        CHECK(read.algorithm == each.algorithm);
        CHECK(read.deviations == each.deviations);
    }
    CHECK_THROWS_AS(announced_decision_from("ring\n3:"), Error);
}

TEST_CASE("arrivals are told in whole margins, of the ranks of this communicator") {
    const Arrivals steady{0, 0.010, 0.002};
    const std::vector<int> ranks{5, 7, 9};
    CHECK(!announced_arrivals(steady, 0.004, ranks, {}));
    CHECK(!announced_arrivals(steady, 0.004, ranks, {{7, 1 * kMs}, {9, -1 * kMs}})); // not worth it
    CHECK(!announced_arrivals(steady, 0.004, ranks, {{6, 50 * kMs}})); // of no concern
    CHECK(!announced_arrivals(steady, 0, ranks, {{7, 50 * kMs}}));     // nothing is decided
    const auto late = announced_arrivals(steady, 0.004, ranks, {{9, 21 * kMs}});
    REQUIRE(late);
    CHECK((*late)[2] == doctest::Approx(0.022));
    // The first to come is at 0, also if it comes earlier than usual.
    const auto early = announced_arrivals(steady, 0.004, ranks, {{7, -24 * kMs}});
    REQUIRE(early);
    CHECK((*early)[1] == 0);
    CHECK((*early)[0] == doctest::Approx(0.014));
    CHECK((*early)[2] == doctest::Approx(0.016));
}

TEST_CASE("who will be late is decided for, whichever rank it is") {
    for (const int ranks : {3, 8, 16})
        for (const int late : {0, 1, ranks - 1}) {
            CAPTURE(ranks);
            CAPTURE(late);
            const Forecast forecast = at_once(ranks);
            CHECK(forecast.decide({}, 1024).empty());
            const std::string text = forecast.decide({{100 + late, 100 * kMs}}, 1024);
            const AnnouncedDecision decision = announced_decision_from(text);
            CHECK(decision.deviations == Deviations{{100 + late, 100 * kMs}});
            CHECK(!decision.algorithm.empty());
            const auto expected = announced_arrivals(forecast.steady, forecast.selected.margin,
                                                     forecast.ranks, decision.deviations);
            REQUIRE(expected);
            CHECK(arrival::sorted_by_arrival(*expected).back() == late);
        }
}

TEST_CASE("what all ranks together cannot gain is not priced, but tried again some time") {
    Forecast forecast = at_once(8);
    const Deviations told{{101, 100 * kMs}}; // of 0.8 s that ranks are apart, 0.2 may be saved
    CHECK(!forecast.decide(told, 1024).empty());
    forecast.feedback->priced(CostFeedback::call, 0.1, 0, {}, [] {
        for (const std::clock_t start = std::clock(); std::clock() - start < CLOCKS_PER_SEC / 4;)
            ;
        return arrival::Late();
    });
    CHECK(forecast.decide(told, 1024) == Forecast::kRefused);
    int refused = 0;
    while (forecast.decide(told, 1024) == Forecast::kRefused && refused < 1000)
        ++refused;
    CHECK(refused < 1000);
    // Nor what is below the margin, on the average.
    CHECK(forecast.decide({{101, 4 * kMs}}, 1024) == Forecast::kRefused);
}

TEST_CASE("after a decision the coordinator rests, of each kind by itself") {
    CostFeedback feedback(1'000'000'000);
    CHECK(!feedback.backs_off(CostFeedback::call, 0.1));
    feedback.priced(CostFeedback::call, 0.1, 0, {}, [] { return arrival::Late(); });
    CHECK(feedback.backs_off(CostFeedback::call, 0.1));
    CHECK(!feedback.backs_off(CostFeedback::rule,
                              0.1)); // the rule is decided all the same
    feedback.priced(CostFeedback::rule, 0.1, 0, {}, [] { return arrival::Late(); });
    CHECK(feedback.backs_off(CostFeedback::rule, 0.1));
}

TEST_CASE("a rule that is made for late ranks is looked at however often it has proved right") {
    CostFeedback feedback(1'000'000'000);
    const arrival::Late chain{.algorithm = "chain"};
    for (const arrival::Late &served : {arrival::Late(), chain, chain}) {
        feedback.priced(CostFeedback::rule, 0.1, 0, served, [&] { return chain; });
        CHECK(!feedback.backs_off(CostFeedback::rule, 0.1));
    }
    feedback.priced(CostFeedback::call, 0.1, 0, chain, [&] { return chain; });
    CHECK(feedback.backs_off(CostFeedback::call, 0.1));
}

TEST_CASE("the coordinator rests the longer the more often nothing came of it, but not for ever") {
    using enum Backoff::Outcome;
    constexpr double kWaits = 0.1;
    const std::uint64_t now = now_ns();
    const auto rests_for = [&](const Backoff &rest, std::uint64_t times, Backoff::Outcome outcome) {
        // An hour of pricing was over so long ago that the rest just is, or an hour later.
        Backoff before = rest, after = rest;
        before.begin(now - (times + 1) * kHour, now - times * kHour, kWaits, outcome);
        after.begin(now - times * kHour, now - (times - 1) * kHour, kWaits, outcome);
        return before.over(kWaits) && !after.over(kWaits);
    };
    Backoff rest(8);
    for (const std::uint64_t times : {16, 32, 64, 128, 256, 512, 1024, 1024}) {
        CHECK(rests_for(rest, times, useless));
        rest.begin(0, 1, kWaits, useless);
    }
    rest.begin(0, 1, kWaits, gained);
    // What serves calls of late ranks already, and well, is looked at more often.
    for (const std::uint64_t times : {16, 32, 64, 64, 64}) {
        CHECK(rests_for(rest, times, as_before));
        rest.begin(0, 1, kWaits, as_before);
    }
    rest.begin(0, 1, kWaits, gained);
    CHECK(rests_for(rest, 16, useless));
}

TEST_CASE("ranks that wait twice as long as when nothing came of it are something new") {
    using enum Backoff::Outcome;
    const std::uint64_t now = now_ns();
    Backoff rest;
    rest.begin(now, now + kHour, 0.1, useless);
    CHECK(!rest.over(0.2));
    CHECK(rest.over(0.21));
    rest.begin(now, now + kHour, 0.05, as_before); // the longest counts
    CHECK(!rest.over(0.2));
    rest.begin(now, now + kHour, 0.1, gained);
    CHECK(!rest.over(100)); // it is worth its price, and that is paid now and then
}

TEST_CASE("while decisions rest, what was found best serves whoever is as late") {
    Forecast forecast = at_once(16);
    forecast.feedback = std::make_shared<CostFeedback>(1'000'000'000);
    const auto algorithm_for = [&](int rank, int ms) -> std::optional<std::string> {
        const std::string text = forecast.decide({{100 + rank, ms * kMs}}, 1024);
        return text == Forecast::kRefused ? std::nullopt
                                          : std::optional(announced_decision_from(text).algorithm);
    };
    const auto best = algorithm_for(15, 100);
    REQUIRE(best);
    CHECK(!best->empty());
    CHECK(algorithm_for(3, 100) == best);
    CHECK(algorithm_for(0, 60) == best);
    CHECK(algorithm_for(7, 190) == best);
    CHECK(!algorithm_for(7, 40)); // another may be best for these
    CHECK(!algorithm_for(7, 250));
    // Nor are those taken at their word who have come otherwise.
    forecast.errors.assign(1, Arrivals(16, 0.002));
    CHECK(algorithm_for(3, 100) == best); // by less than a margin
    forecast.errors.assign(1, Arrivals(16, 0));
    forecast.errors.back()[15] = -0.1;
    CHECK(!algorithm_for(3, 100));
}

TEST_CASE("where nothing came of it, nothing serves while decisions rest") {
    CostFeedback feedback(1'000'000'000);
    const arrival::Late chain{.algorithm = "chain"};
    CHECK(!feedback.still_best(0.1, 0, 0));
    feedback.priced(CostFeedback::call, 0.1, 0, chain, [&] { return chain; }); // the usual
    CHECK(!feedback.still_best(0.1, 0, 0));
    feedback.priced(CostFeedback::call, 0.1, 0, chain, [] { return arrival::Late(); });
    CHECK(feedback.still_best(0.1, 0, 0) == ""); // the balanced choice, which is not the usual
    feedback.priced(CostFeedback::rule, 0.1, 0, {}, [&] { return chain; });
    CHECK(feedback.still_best(0.1, 0, 0) == ""); // of calls only
}

TEST_CASE("ranks ask the seldomer the more often nothing came of it") {
    AnnouncedArrivals announced;
    CHECK(!announced.listens(0)); // nobody has told anything yet
    announced.asks = true;
    std::uint64_t asked = 0;
    for (std::uint64_t call = 0; call < 1000; ++call)
        if (announced.listens(call)) {
            ++asked;
            announced.refuse(call);
        }
    CHECK(asked < 60);
    CHECK(asked > 1000 / 64);
    announced.refused = 0; // something came of it
    for (std::uint64_t call = announced.deaf_until; call < announced.deaf_until + 2; ++call) {
        CHECK(announced.listens(call));
        announced.refuse(call);
    }
}

TEST_CASE("a rank that cried wolf is not believed") {
    Forecast forecast = at_once(8);
    const Deviations told{{101, 100 * kMs}};
    CHECK(!announced_decision_from(forecast.decide(told, 1024)).algorithm.empty());
    // It came at once each time that it said this, and who was taken for the first came last.
    Arrivals error(8, 0);
    error[1] = -0.1;
    error[0] = 0.1;
    forecast.errors.assign(7, error);
    CHECK(announced_decision_from(forecast.decide(told, 1024)).algorithm.empty());
}

TEST_CASE(
    "what such calls took is learned by the coordinator, and what was flattered serves no more") {
    const Deviations told{{107, 60 * kMs}};
    Forecast forecast = at_once(8);
    forecast.feedback->steady().learn("ring", 1);
    CostSample sample{"", {0, 1, 2, 3, 4, 5, 6, 7}, Arrivals(8, 0), 0};
    sample.came[7] = 0.06;
    std::vector<std::string> served;
    for (int call = 0; call < 12; ++call) {
        sample.algorithm = announced_decision_from(forecast.decide(told, 1024)).algorithm;
        if (sample.algorithm.empty())
            break;
        served.push_back(sample.algorithm.substr(0, sample.algorithm.find('(')));
        sample.elapsed = 1; // a second: what no price says
        forecast.sample = sample;
        forecast.came = sample.came;
        forecast.learn();
    }
    REQUIRE(!served.empty());
    CHECK(sample.algorithm.empty()); // in the end the balanced choice
    // What is not known teaches nothing.
    const arrival::Experience before = forecast.feedback->all(forecast.situation);
    sample.algorithm = "ring";
    sample.elapsed = std::numeric_limits<double>::quiet_NaN();
    forecast.feedback->record(sample);
    CHECK(forecast.feedback->all(forecast.situation).knows("ring") == before.knows("ring"));
}

TEST_CASE("neither its first call nor one that was disturbed says what an algorithm takes") {
    const Forecast forecast = at_once(8);
    const select::Placed ring(forecast.situation, "ring");
    CostSample sample{"ring", {}, Arrivals(8, 0), 0};
    const double price = ring.means(std::vector<Arrivals>{sample.came}).front();
    const auto learn = [&](double factor) {
        sample.elapsed = factor * price;
        forecast.feedback->record(sample);
    };
    learn(4);
    CHECK(!forecast.feedback->all(forecast.situation).knows("ring"));
    for (const double factor : {1.25, 1.25, 3.0})
        learn(factor);
    CHECK(forecast.feedback->all(forecast.situation).factor("ring") == doctest::Approx(1.25));
}

TEST_CASE("what is decided fits, however many deviate; and forced algorithms are made for it") {
    Forecast forecast = at_once(128);
    forecast.synchronous = "pre_reduced_ring";
    forecast.forced = true;
    Deviations told;
    for (int rank = 0; rank < 128; ++rank)
        told[100 + rank] = rank * kMs;
    for (const std::size_t most : {1024u, 2048u})
        CHECK(forecast.decide(told, most).size() <= most);
    forecast = at_once(8);
    forecast.synchronous = "chain";
    forecast.forced = true;
    CHECK(announced_decision_from(forecast.decide({{103, 40 * kMs}}, 1024))
              .algorithm.starts_with("chain("));
}
