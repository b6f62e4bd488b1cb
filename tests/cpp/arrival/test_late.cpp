// SPDX-License-Identifier: BSD-3-Clause
// Prices of ranks that come at different times, and what is chosen for them.
#include "doctest.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "arrival/detection.hpp"
#include "arrival/late.hpp"
#include "base/status.hpp"
#include "schedule/bind.hpp"
#include "select/candidates.hpp"
#include "select/situations.hpp"

using namespace stretto;
using namespace stretto::select;
using namespace stretto::arrival;
using schedule::Collective;

namespace {

constexpr std::size_t kMiB = 1u << 20;

// A host each, 1 Gbit/s.
Situation across(int ranks, std::size_t bytes) {
    Situation situation = test::allreduce(ranks, 1, bytes);
    situation.hosts = ranks;
    return situation;
}

Arrivals one_late(int ranks, int rank, double seconds) {
    Arrivals arrivals(static_cast<std::size_t>(ranks), 0);
    arrivals[static_cast<std::size_t>(rank)] = seconds;
    return arrivals;
}

std::vector<Arrivals> always(const Arrivals &arrivals) {
    return std::vector<Arrivals>(7, arrivals);
}

schedule::Schedule made(const std::string &name, int ranks) {
    return algorithms::make(algorithms::parse(Collective::allreduce, name), ranks);
}

double beta_m(const Situation &s) {
    return s.profile.between.byte * static_cast<double>(s.bytes);
}

} // namespace

TEST_CASE("if all come at once, the last to finish is what a price says") {
    for (const int ranks : {2, 3, 5, 8, 13})
        for (const char *name : {"ring", "chain", "circulant", "rabenseifner"})
            for (const std::size_t bytes : {std::size_t{65536}, 4 * kMiB}) {
                CAPTURE(ranks);
                CAPTURE(name);
                CAPTURE(bytes);
                const Situation s = across(ranks, bytes);
                const std::vector<Arrivals> at_once = {Arrivals(static_cast<std::size_t>(ranks))};
                const cost::Elapsed found = elapsed_of(made(name, ranks), s, at_once).front();
                // A symmetric one is priced by one position, whose pieces of one message may
                // overtake others.
                CHECK(found.last ==
                      doctest::Approx(price_of(made(name, ranks), s).seconds).epsilon(0.05));
                CHECK(found.mean <= found.last * (1 + 1e-12));
            }
}

TEST_CASE("everybody waits for the last of a ring, who waits for nobody") {
    const int ranks = 6;
    const Situation s = across(ranks, 4 * kMiB);
    const double late = 0.5; // more than the whole ring takes
    const std::vector<Arrivals> cases = {Arrivals(6, 0), one_late(ranks, 2, late)};
    const std::vector<cost::Elapsed> found = elapsed_of(made("ring", ranks), s, cases);
    CHECK(found[1].last - late <= found[0].last + 1e-9);
    CHECK(found[1].last - late >= beta_m(s));
    // All but rank 2 wait that long besides.
    CHECK(found[1].mean >= late * (ranks - 1) / ranks + 0.8 * beta_m(s));
    CHECK(found[1].mean <= late * (ranks - 1) / ranks + found[0].last + 1e-9);
}

TEST_CASE("once the last is there, little more than one vector is to be moved") {
    for (const int ranks : {4, 8, 16, 48}) {
        CAPTURE(ranks);
        Situation s = across(ranks, 4 * kMiB);
        s.ring = 8 * kMiB; // holds all that a rank sends
        const Arrivals late = one_late(ranks, ranks - 1, 1);
        const auto names = made_for(s, late, 0);
        const std::vector<Arrivals> cases = {late};
        const auto after_it = [&](std::string_view start) {
            const auto found = std::ranges::find_if(
                names, [&](const std::string &name) { return name.starts_with(start); });
            REQUIRE(found != names.end());
            return elapsed_of(made(*found, ranks), s, cases).front().last - 1;
        };
        // A ring moves near two.
        const double chain = after_it("chain("), after = after_it("late_rooted(");
        CHECK(chain >= beta_m(s));
        CHECK(chain <= 1.45 * beta_m(s));
        CHECK(after >= beta_m(s));
        // By rounds (n + ceil(log2(P - 1)) + 1) (alpha + beta m / n), 1.17 to 1.26; pieces that
        // come at a port together are served as they come, not round by round, which costs more the
        // more ranks there are.
        CHECK(after <= (ranks < 48 ? 1.6 : 2.1) * beta_m(s));
    }
}

// By measurements on four hosts with 1 Gbit/s and rings of 8 and of 32 MiB.
TEST_CASE("of long vectors the choice is one that rings have room for") {
    const Arrivals late = one_late(4, 3, 0.5);
    const auto chosen = [&](std::size_t bytes, std::size_t ring) {
        Situation s = across(4, bytes);
        s.ring = ring;
        return choose_late(s, "ring", late, always(late)).algorithm;
    };
    CHECK(chosen(16 * kMiB, 8 * kMiB) == "chain(segments=128)"); // one slice each
    CHECK(chosen(16 * kMiB, 32 * kMiB).starts_with("chain("));
    CHECK(chosen(25 * kMiB, 32 * kMiB).starts_with("chain("));
    // Early ranks would do an eighth of it before the late one comes, and then more than a ring.
    CHECK(chosen(64 * kMiB, 8 * kMiB).empty());
    CHECK(!chosen(64 * kMiB, 32 * kMiB).empty());
}

TEST_CASE("results that wait for a late rank keep their places in rings") {
    // 4 ranks send 16 MiB through rings of 8 MiB.
    Situation s = across(4, 16 * kMiB);
    s.ring = 8 * kMiB;
    const std::vector<Arrivals> cases = {one_late(4, 3, 1)};
    const auto after = [&](int segments) {
        const std::string name = "chain(segments=" + std::to_string(segments) + ")";
        return elapsed_of(made(name, 4), s, cases).front().last - 1;
    };
    // Segments of two slices: a ring of first slices, then their results, then second slices, which
    // the first ranks have still to send beside all results.
    CHECK(after(126) >= 1.45 * beta_m(s));
    // One slice: all partial sums come before the results.
    CHECK(after(130) <= 1.1 * beta_m(s));
    s.ring = 32 * kMiB;
    CHECK(after(126) <= 1.1 * beta_m(s));
}

TEST_CASE("what is not as long as there are positions is refused") {
    const std::vector<Arrivals> cases = {Arrivals(3, 0)};
    CHECK_THROWS_AS(elapsed_of(made("ring", 4), across(4, kMiB), cases), Error);
}

TEST_CASE("for one late rank what is chosen is made for it, whichever it is") {
    for (const int ranks : {4, 8, 16})
        for (const int rank : {0, 1, ranks - 1}) {
            CAPTURE(ranks);
            CAPTURE(rank);
            const Situation s = across(ranks, 4 * kMiB);
            const std::string synchronous = choose(s).algorithm;
            const Arrivals late = one_late(ranks, rank, 0.2);
            const Late found = choose_late(s, synchronous, late, always(late));
            REQUIRE(!found.algorithm.empty());
            CHECK(found.order.back() == rank);
            CHECK(found.mean_elapsed < found.synchronous_elapsed);
            // It plays: proved for any order elsewhere.
            CHECK_NOTHROW(schedule::bind(made(found.algorithm, ranks),
                                         {found.order.begin(), found.order.end()}));
            // It goes on, though plans for other numbers would serve as well.
            const Late again = choose_late(s, synchronous, one_late(ranks, rank, 0.201),
                                           always(one_late(ranks, rank, 0.201)), found);
            CHECK(again.algorithm == found.algorithm);
            CHECK(again.order == found.order);
        }
}

TEST_CASE("ranks of a host stay together, the host of the last rank behind the others") {
    const std::vector<int> host_of = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
    const Arrivals arrivals = {1, 9, 2, 0, 3, 3, 3, 0, 4, 0, 0, 4};
    CHECK(hosts_by_arrival(arrivals, 0, host_of) ==
          std::vector{7, 4, 5, 6, 9, 10, 8, 11, 3, 0, 2, 1});
    // Arrivals that round to the same count as equal, hosts as well as ranks.
    CHECK(hosts_by_arrival(arrivals, 10, host_of) ==
          std::vector{4, 5, 6, 7, 8, 9, 10, 11, 0, 2, 3, 1});
    CHECK(sorted_by_arrival(arrivals, 10) == std::vector{0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1});
    // Hosts by turns of ranks.
    CHECK(hosts_by_arrival({2, 1, 0, 1, 3, 0}, 0, std::vector{0, 1, 0, 1, 0, 1}) ==
          std::vector{5, 1, 3, 2, 0, 4});
}

TEST_CASE("only a chain keeps the ranks of a host together: others have the late ranks last") {
    Situation s = across(8, kMiB);
    s.hosts = 2;
    s.host_of = {0, 0, 0, 0, 1, 1, 1, 1};
    Arrivals two_late(8, 0);
    two_late[1] = two_late[5] = 0.1;
    CHECK(placed_by_arrival(s, "stragglar(late=2)", two_late, 0.01) ==
          std::vector{0, 2, 3, 4, 6, 7, 1, 5});
    CHECK(placed_by_arrival(s, "chain(segments=8)", two_late, 0.01) ==
          std::vector{0, 2, 3, 1, 4, 6, 7, 5});
    s.collective = Collective::reduce;
    s.root = 4; // comes last, whenever it arrives
    CHECK(placed_by_arrival(s, "chain", two_late, 0.01) == std::vector{0, 2, 3, 1, 6, 7, 5, 4});
}

TEST_CASE(
    "where hosts have several ranks, a late one is seen though the others come in any order") {
    Situation s = across(16, 4 * kMiB);
    s.hosts = 4;
    for (int rank = 0; rank < s.ranks; ++rank)
        s.host_of.push_back(rank / 4);
    s.profile.date = "today";
    Arrivals late(16, 0);
    for (std::size_t rank = 0; rank < 16; ++rank)
        late[rank] = 0.001 * static_cast<double>(rank * 7 % 16); // no two alike
    late[1] = 0.1;
    const Late found = choose_late(s, choose(s).algorithm, late, always(late));
    CHECK(algorithms::name_in(found.algorithm) == "chain");
    REQUIRE(found.order.size() == 16);
    CHECK(found.order.back() == 1);
    for (std::size_t position = 0; position < 16; ++position)
        CHECK(s.host_of[static_cast<std::size_t>(found.order[position])] ==
              s.host_of[static_cast<std::size_t>(found.order[position / 4 * 4])]);
}

TEST_CASE("of untried ones with close prices the one is chosen that a wrong estimate costs least") {
    int others = 0;
    for (const int ranks : {4, 8, 12, 16})
        for (const auto &[bytes, late] :
             {std::pair{kMiB, 0.02}, {4 * kMiB, 0.05}, {4 * kMiB, 0.2}, {16 * kMiB, 0.2}}) {
            CAPTURE(ranks);
            CAPTURE(bytes);
            CAPTURE(late);
            Situation s = across(ranks, bytes);
            s.ring = 64 * kMiB; // shorter ones tell the prices of long vectors further apart
            const std::string synchronous = choose(s).algorithm;
            const Arrivals expected = one_late(ranks, 1, late);
            const auto chosen = [&](const Experience &experience, const LateRule &rule) {
                return choose_late(s, synchronous, expected, always(expected), {}, experience,
                                   rule);
            };
            const LateRule doubtful = {.doubt = 0.5};
            const Late cheapest = chosen({}, {.doubt = 0}), found = chosen({}, doubtful);
            if (cheapest.algorithm.empty())
                continue;
            REQUIRE(!found.algorithm.empty());
            // What it takes if the rank that is expected first is the last.
            const std::vector<Arrivals> wrong = {one_late(ranks, found.order.front(), late)};
            const auto wrongly = [&](const Late &choice) {
                return elapsed_of(schedule::bind(made(choice.algorithm, ranks),
                                                 {choice.order.begin(), choice.order.end()}),
                                  s, wrong)
                    .front()
                    .mean;
            };
            const auto with_doubt = [&](const Late &choice) {
                return std::lerp(choice.mean_elapsed, wrongly(choice), doubtful.doubt);
            };
            CHECK(with_doubt(found) <= with_doubt(cheapest) + 1e-12);
            CHECK(wrongly(found) <= wrongly(cheapest) + 1e-12);
            others += found.algorithm != cheapest.algorithm;
            // Prices alone count of those that have run.
            Experience experience;
            for (const std::string &name : made_for(s, expected, 0))
                experience.learn(name, 1);
            CHECK(chosen(experience, doubtful).algorithm == cheapest.algorithm);
        }
    CHECK(others > 0);
}

TEST_CASE("if ranks come together nothing is chosen for late ones") {
    for (const int ranks : {3, 8, 16}) {
        const Situation s = across(ranks, 4 * kMiB);
        const Arrivals at_once(static_cast<std::size_t>(ranks), 0);
        const std::string synchronous = choose(s).algorithm;
        CHECK(choose_late(s, synchronous, at_once, always(at_once)).algorithm.empty());
        const Arrivals hardly = one_late(ranks, 1, 1e-4);
        CHECK(choose_late(s, synchronous, hardly, always(hardly)).algorithm.empty());
    }
}

TEST_CASE("an estimate that is mostly wrong changes nothing") {
    const int ranks = 16;
    const Situation s = across(ranks, 4 * kMiB);
    std::vector<Arrivals> recent;
    for (int call = 0; call < 7; ++call)
        recent.push_back(one_late(ranks, (5 * call + 1) % ranks, 0.03));
    const auto chosen = [&](const LateRule &rule) {
        return choose_late(s, choose(s).algorithm, one_late(ranks, 1, 0.03), recent, {}, {}, rule);
    };
    CHECK(chosen({.detection = false}).algorithm.empty());
    CHECK(chosen({}).order.empty()); // who is late, the call may show
}

TEST_CASE("no wrong estimate costs more than was allowed") {
    std::mt19937 random(3);
    for (const int ranks : {4, 8, 12, 16})
        for (const std::size_t bytes : {kMiB, 4 * kMiB, 16 * kMiB}) {
            const Situation s = across(ranks, bytes);
            const std::string synchronous = choose(s).algorithm;
            std::uniform_real_distribution<double> up_to(0, 3 * beta_m(s));
            Arrivals expected(static_cast<std::size_t>(ranks));
            for (double &each : expected)
                each = up_to(random);
            expected[static_cast<std::size_t>(ranks) / 2] = 5 * beta_m(s);
            *std::ranges::min_element(expected) = 0;
            const Late found = choose_late(s, synchronous, expected, always(expected));
            if (found.algorithm.empty())
                continue;
            const std::vector<Arrivals> truth = {Arrivals(static_cast<std::size_t>(ranks), 0)};
            const double with = elapsed_of(made(found.algorithm, ranks), s, truth).front().mean;
            const double without = elapsed_of(made(synchronous, ranks), s, truth).front().mean;
            CAPTURE(ranks);
            CAPTURE(bytes);
            CAPTURE(found.algorithm);
            CHECK(with <= (ranks < 12 ? 1.5 : 1.3) * without * (1 + 1e-9));
        }
}

TEST_CASE("an algorithm that was asked for is made for the arrivals") {
    const Situation s = across(5, 4 * kMiB);
    const Arrivals late = one_late(5, 3, 0.1);
    for (const char *name :
         {"chain", "pre_reduced_ring", "late_rooted", "stragglar", "early_direct"}) {
        const Late found = forced_late(s, name, late, always(late));
        CHECK(found.algorithm.starts_with(std::string(name) + "("));
        CHECK(found.order == std::vector<int>{0, 1, 2, 4, 3});
    }
    CHECK(forced_late(s, "ring", late, always(late)).algorithm.empty());
    // If all come at once as a rule there is nothing to make, but what ranks tell of single calls
    // still counts, in margins.
    const Arrivals at_once(5, 0);
    const Late usual = forced_late(s, "pre_reduced_ring", at_once, always(at_once));
    CHECK(usual.algorithm.empty());
    CHECK(usual.margin == forced_late(s, "pre_reduced_ring", late, always(late)).margin);
    CHECK(usual.margin > 0);
}

TEST_CASE("what is best for one late rank depends on the vector, and on what rings hold") {
    struct Case {
        int ranks;
        std::size_t bytes, ring;
        const char *best;
    };
    for (const Case &each :
         {Case{32, kMiB / 2, 4 * kMiB, "stragglar"}, Case{16, 4 * kMiB, 8 * kMiB, "chain"},
          Case{16, 16 * kMiB, 8 * kMiB, "chain"}, Case{16, 16 * kMiB, 64 * kMiB, "early_direct"}}) {
        CAPTURE(each.best);
        CAPTURE(each.ring);
        Situation s = across(each.ranks, each.bytes);
        s.ring = each.ring;
        const Arrivals late = one_late(each.ranks, each.ranks - 1, 0.1);
        const std::vector<Arrivals> cases = {late};
        std::string best;
        double least = 1e9;
        for (const std::string &name : made_for(s, late, 0))
            if (const double mean = elapsed_of(made(name, each.ranks), s, cases).front().mean;
                mean < least) {
                least = mean;
                best = name;
            }
        CHECK(best.starts_with(std::string(each.best) + "("));
    }
}

TEST_CASE("where one rank is late, and it is never the same, it is named in the call") {
    for (const int ranks : {4, 8, 16}) {
        CAPTURE(ranks);
        const Situation s = across(ranks, 4 * kMiB);
        const std::string synchronous = choose(s).algorithm;
        std::vector<Arrivals> recent;
        for (int call = 0; call < 7; ++call)
            recent.push_back(one_late(ranks, (3 * call + 1) % ranks, 0.1));
        const Arrivals expected(static_cast<std::size_t>(ranks), 0); // by the medians
        const Late found = choose_late(s, synchronous, expected, recent);
        REQUIRE(!found.algorithm.empty());
        CHECK(found.latecomers == 1);
        CHECK(found.order.empty());
        CHECK(found.mean_elapsed < found.synchronous_elapsed - 3 * found.margin);
        CHECK(found.why.find("one rank is expected 100") != std::string::npos);
        // It goes on, and gives way when the same rank is always late.
        CHECK(choose_late(s, synchronous, expected, recent, found).same_as(found));
        const Arrivals same = one_late(ranks, 2, 0.1);
        const Late fixed = choose_late(s, synchronous, same, always(same), found);
        REQUIRE(fixed.latecomers == 0);
        REQUIRE(!fixed.order.empty());
        CHECK(fixed.order.back() == 2);
        // Nothing is waited for where it must not be, nor where all come together.
        CHECK(choose_late(s, synchronous, expected, recent, {}, {}, {.detection = false})
                  .algorithm.empty());
        CHECK(choose_late(s, synchronous, expected, always(expected), found).algorithm.empty());
    }
}

TEST_CASE("who is known to be late need not be elected, whoever else was late once") {
    std::mt19937 random(7);
    std::uniform_int_distribution<> microseconds(0, 2000);
    for (const int ranks : {8, 16})
        for (int other = 2; other < ranks; ++other) {
            CAPTURE(ranks);
            CAPTURE(other);
            const Situation s = across(ranks, 4 * kMiB);
            std::vector<Arrivals> recent(3, one_late(ranks, 1, 0.1));
            for (Arrivals &each : recent)
                for (double &arrival : each)
                    arrival += 1e-6 * microseconds(random);
            const Arrivals expected = recent.back();
            recent.front()[static_cast<std::size_t>(other)] = 0.03;
            const Late found = choose_late(s, choose(s).algorithm, expected, recent);
            REQUIRE(!found.algorithm.empty());
            REQUIRE(found.latecomers == 0);
            CHECK(found.order.back() == 1);
        }
}

TEST_CASE("who takes turns with others is not known, though it came last of late") {
    const Situation s = across(8, 4 * kMiB);
    const std::string synchronous = choose(s).algorithm;
    const Arrivals late = one_late(8, 2, 0.1);
    const auto chosen = [&](LateRule rule) {
        return choose_late(s, synchronous, late, always(late), {}, {}, rule);
    };
    const Late known = chosen({});
    CHECK(known.order.back() == 2);
    CHECK(chosen({.missed = 1. / 7}).order.back() == 2);
    CHECK(chosen({.missed = 0.5}).latecomers == 1);
    CHECK(chosen({.missed = 1}).latecomers == 1);
    // Where nobody may wait to see, it is worth less the more often it was wrong.
    const Late seldom = chosen({.detection = false, .missed = 0.1});
    CHECK(seldom.order.back() == 2);
    CHECK(seldom.mean_elapsed > known.mean_elapsed);
    CHECK(chosen({.detection = false, .missed = 1}).algorithm.empty());

    CHECK(missed(late, one_late(8, 3, 0.1), 0.01));
    CHECK(!missed(late, one_late(8, 2, 0.05), 0.01));
    CHECK(!missed(late, one_late(8, 3, 0.009), 0.01)); // nobody is late
}

TEST_CASE("what is chosen does not depend on who comes first by a hair") {
    const Situation s = across(16, 4 * kMiB);
    for (const double late : {0.02, 0.05, 0.2}) {
        std::vector<std::string> chosen;
        for (int first = 0; first < 15; ++first) {
            Arrivals expected(16, 1e-4);
            expected[15] = late;
            expected[static_cast<std::size_t>(first)] = 0;
            chosen.push_back(choose_late(s, "ring", expected, always(expected)).algorithm);
        }
        CAPTURE(late);
        CHECK(std::ranges::count(chosen, chosen.front()) == 15);
    }
}

TEST_CASE("who is late to a call is known when the others have come, and some time after it") {
    const Detection detection{2, 0.01};
    const Detected call = detected({0.5, 0.1, 0.102, 0.7, 0.3}, detection);
    CHECK(call.late);
    const double known = 0.3 + 0.01 + kDetectionSeconds;
    const Arrivals begin = {0, 0, 0, 0.5 - known, 0.7 - known};
    for (std::size_t position = 0; position < begin.size(); ++position)
        CHECK(call.begin[position] == doctest::Approx(begin[position]));
    CHECK(call.waited == doctest::Approx((3 * known - 0.1 - 0.102 - 0.3) / 5));
    // All soon after one another: the synchronous choice serves, when all are there.
    const Detected together = detected({0.004, 0, 0.009, 0.001, 0.002}, detection);
    CHECK(!together.late);
    CHECK(together.begin == Arrivals(5, 0));
    CHECK(together.waited == doctest::Approx(0.009 + kDetectionSeconds - 0.016 / 5));
}

TEST_CASE("those who are late are told by a gap, and never more than half of all") {
    CHECK(detection_for({0, 0, 0.001, 0.1}, 0.01)->late == 1);
    CHECK(detection_for({0, 0, 0.09, 0.1}, 0.01)->late == 2);
    CHECK(!detection_for({0, 0.09, 0.095, 0.1}, 0.01));
    CHECK(!detection_for({0, 0.005, 0.01, 0.015}, 0.01));
    CHECK(shape_of(std::vector<Arrivals>{{3, 1, 2}, {7, 7, 9}, {0, 8, 4}}) == Arrivals{0, 1, 2});
    const std::vector<int> late = {1, 4};
    CHECK(late_last(6, late) == std::vector<int>{0, 2, 3, 5, 1, 4});
    CHECK(late_last(3, {}) == std::vector<int>{0, 1, 2});
}

TEST_CASE("an allgather whose late rank is known, or shows in the call") {
    const int ranks = 8;
    Situation s = across(ranks, 4 * kMiB);
    s.collective = Collective::allgather;
    const std::string synchronous = choose(s).algorithm;
    const Arrivals late = one_late(ranks, 2, 0.1);
    const Late known = choose_late(s, synchronous, late, always(late));
    CHECK(known.algorithm.starts_with("late_last("));
    CHECK(known.order.back() == 2);
    std::vector<Arrivals> recent;
    for (int call = 0; call < 7; ++call)
        recent.push_back(one_late(ranks, (3 * call + 1) % ranks, 0.1));
    const Late shown = choose_late(s, synchronous, Arrivals(8, 0), recent);
    CHECK(shown.algorithm.starts_with("late_last("));
    CHECK(shown.latecomers == 1);
}
