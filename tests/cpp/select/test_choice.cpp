// SPDX-License-Identifier: BSD-3-Clause
// Which algorithms may run, which one is chosen, and what is said about the others.
#include "doctest.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "schedule/accounting.hpp"
#include "schedule/verify.hpp"
#include "select/candidates.hpp"
#include "select/rules.hpp"
#include "select/select.hpp"
#include "situations.hpp"
#include "support/text.hpp"
#include "support/tier.hpp"

using namespace stretto;
using algorithms::Algorithm;
using schedule::Collective;
using select::Reproducible;
using select::Situation;
using test::allreduce;
using test::contains;

namespace {

const Algorithm &named(const char *name) {
    return algorithms::find(Collective::allreduce, name);
}

algorithms::Choice choice_of(const char *name) {
    return {&named(name), {}};
}

// As measured: 2 ranks in each of 8 containers of a machine with two cores.
Situation in_containers(std::size_t bytes) {
    Situation s = allreduce(16, 2, bytes);
    s.hosts = 8;
    for (int rank = 0; rank < 16; ++rank)
        s.host_of.push_back(rank / 2);
    s.one_machine = true;
    s.profile.date = "today";
    s.profile.inside = {.latency = 9e-7, .overhead = 4e-7, .byte = 6.9e-10, .reduce = 3.6e-11};
    s.profile.between = {.latency = 5e-5, .overhead = 9e-6, .byte = 8.2e-9, .reduce = 3.6e-11};
    s.profile.common = 3e-5;
    return s;
}

} // namespace

TEST_CASE("the measured rule for allreduce") {
    struct Row {
        int ranks;
        unsigned cores;
        std::size_t last_in_one_phase;
    };
    for (const auto &[ranks, cores, last] :
         {Row{2, 2, 24 << 10}, Row{2, 1, 24 << 10}, Row{3, 4, 12 << 10}, Row{4, 4, 12 << 10},
          Row{5, 8, 3276}, Row{8, 8, 2 << 10}, Row{16, 16, 1 << 10}, Row{64, 64, 256},
          Row{4, 2, 48 << 10}, Row{8, 2, 12 << 10}, Row{16, 2, 3 << 10}}) {
        CAPTURE(ranks);
        CAPTURE(cores);
        CHECK(select::choose(allreduce(ranks, cores, 0)).algorithm == "one_shot");
        CHECK(select::choose(allreduce(ranks, cores, last)).algorithm == "one_shot");
        CHECK(select::choose(allreduce(ranks, cores, last + 1)).algorithm == "direct");
        CHECK(contains(select::choose(allreduce(ranks, cores, last)).why, "measured rule"));
    }
}

TEST_CASE("the measured rules between hosts") {
    struct Row {
        Collective collective;
        std::size_t bytes;
        const char *name;
    };
    constexpr std::size_t kKiB = 1024, kMany = std::size_t{64} << 20;
    for (const auto &[collective, bytes, name] :
         {Row{Collective::allreduce, 16 * kKiB, "recursive_doubling"},
          Row{Collective::allreduce, 16 * kKiB + 4, "rabenseifner_32"},
          Row{Collective::allreduce, 32 * kKiB + 4, "circulant"},
          Row{Collective::allreduce, 6 * 64 * kKiB, "circulant"},
          Row{Collective::allreduce, 6 * 65 * kKiB, "ring"},
          Row{Collective::allreduce, kMany, "ring"},
          Row{Collective::reduce, 16 * kKiB, "linear"},
          Row{Collective::reduce, 48 * kKiB, "binomial"},
          Row{Collective::reduce, kMany, "chain"},
          Row{Collective::broadcast, 16 * kKiB, "linear"},
          Row{Collective::broadcast, 48 * kKiB, "binomial"},
          Row{Collective::broadcast, kMany, "chain"},
          Row{Collective::reduce_scatter, 256 * kKiB, "circulant"},
          Row{Collective::reduce_scatter, kMany, "ring"},
          Row{Collective::allgather, 256 * kKiB, "circulant"},
          Row{Collective::allgather, kMany, "ring"},
          Row{Collective::gather, 4 * kKiB, "binomial"},
          Row{Collective::gather, kMany, "linear"},
          Row{Collective::scatter, 4 * kKiB, "binomial"},
          Row{Collective::scatter, kMany, "linear"},
          Row{Collective::alltoall, 256 * kKiB, "pairwise"},
          Row{Collective::alltoall, kMany, "direct"},
          Row{Collective::barrier, 4, "recursive_doubling"}}) {
        Situation s = allreduce(6, 6, bytes);
        s.collective = collective;
        s.hosts = 3;
        CAPTURE(bytes);
        CHECK(select::rule(s).names[0] == name);
        CHECK(contains(select::rule(s).why, "between hosts"));
    }
}

TEST_CASE("between hosts the cheapest is chosen, and of equals the one that was measured") {
    Situation s = allreduce(8, 2, 64 << 20);
    s.hosts = 8;
    s.profile.date = "today";
    // Ring, direct and what halves all cost the bytes that they must.
    CHECK(select::choose(s).algorithm == "ring");
    CHECK(contains(select::choose(s).why, "measured rule between hosts"));
    CHECK(contains(select::choose(s).why, "1 Gbit/s"));
    // Where P is no power of two, short vectors need not be folded.
    s = allreduce(6, 2, 64);
    s.hosts = 6;
    s.consistent = true;
    CHECK(select::choose(s).algorithm == "recursive_doubling"); // as the table says
    s.profile.date = "today";
    CHECK(select::choose(s).algorithm == "generalized(group=2x3, r=3)");
    CHECK(contains(select::choose(s).why, "cheapest of"));
    // Where something that all share makes every message count, a tree has the fewest.
    s.profile.between = {.latency = 1e-5, .overhead = 5e-6, .byte = 1e-9, .reduce = 0};
    s.profile.common = 2e-5;
    CHECK(select::choose(s).algorithm == "binomial");
    // Where latency outweighs everything, one step is best, however many bytes it takes.
    s.profile = {};
    s.profile.date = "today";
    s.profile.between.latency = 1;
    s.bytes = 1 << 20;
    const auto choice = algorithms::parse(s.collective, select::choose(s).algorithm);
    CHECK(schedule::account(make(choice, 6)).steps == 1);
}

// 14 messages between hosts in a tree, 24 in recursive doubling: 1.0 and 1.3 ms.
TEST_CASE("where hosts share cores, an algorithm of few messages is chosen") {
    Situation s = in_containers(8 << 10);
    CHECK(select::choose(s).algorithm == "binomial");
    s.cores = 16; // one for each rank
    CHECK(select::choose(s).algorithm == "hierarchical(inter=recursive_doubling, leaders=1)");
    s.cores = 2;
    s.one_machine = false;
    CHECK(select::choose(s).algorithm == "hierarchical(inter=recursive_doubling, leaders=1)");
}

// For 512 KiB rabenseifner, hybrid and six more have one price, and a composition over a ring,
// which sends more messages, takes a fifth less.
TEST_CASE("trials take algorithms that differ in more than their names") {
    Situation s = in_containers(8 << 20);
    CHECK(select::tuning_candidates(s).size() == 1);
    s = in_containers(512 << 10);
    const std::vector<std::string> names = select::tuning_candidates(s);
    CHECK(names.size() == 4); // bytes are not all that counts
    std::set<std::pair<std::int64_t, std::int64_t>> counts;
    bool composed = false;
    for (const select::Priced &each : select::priced(s))
        if (std::ranges::find(names, each.name) != names.end()) {
            counts.emplace(each.price.steps, each.price.messages);
            composed = composed || contains(each.name, "hierarchical(inter=ring");
        }
    CHECK(counts.size() == names.size());
    CHECK(composed);
}

TEST_CASE("what the rule names first is chosen if no price is better, its own the best or not") {
    int chosen = 0;
    for (const int ranks : {3, 8, 16})
        for (const std::size_t bytes : {64, 48 << 10, 1 << 20, 4 << 20})
            for (const double byte : {1e-9, 8.5e-9, 8.5e-8}) { // from 10 Gbit/s to 100 Mbit/s
                Situation s = allreduce(ranks, 2, bytes);
                s.hosts = ranks;
                s.profile.date = "today";
                s.profile.between = {
                    .latency = 3e-6, .overhead = 5e-6, .byte = byte, .reduce = 2e-11};
                s.profile.common = 8e-6;
                const std::string_view first = select::rule(s).names[0];
                double least = 1e9, own = 1e9;
                for (const select::Priced &each : select::priced(s))
                    if (each.excluded.empty()) {
                        least = std::min(least, each.price.seconds);
                        own = each.name == first ? each.price.seconds : own;
                    }
                if (own > 1.02 * least)
                    continue;
                CAPTURE(ranks);
                CAPTURE(bytes);
                CAPTURE(byte);
                CHECK(select::choose(s).algorithm == first);
                chosen += own == least ? 1 : 100;
            }
    CHECK(chosen % 100 > 0); // its own price was the best
    CHECK(chosen / 100 > 0); // another was, by a little
}

TEST_CASE("among many hosts prices alone decide, but for long vectors they cannot tell apart") {
    Situation s = allreduce(100, 2, 1 << 20);
    s.hosts = 100;
    s.profile.date = "today";
    s.profile.between = {.latency = 3.25e-5, .overhead = 8e-7, .byte = 1.09e-8, .reduce = 1e-13};
    s.profile.common = 9.86e-8;
    CHECK(select::choose(s).algorithm == "segmented_ring");
    CHECK(contains(select::choose(s).why, "measured rule between many hosts"));
    // Pairs wait for each other.
    s.ranks = s.hosts = 128;
    CHECK(contains(select::choose(s).why, "cheapest of"));
    s.ranks = s.hosts = 100;
    // The rule for half as many bytes, circulant, was not measured on as many hosts.
    s.bytes = 512 << 10;
    CHECK(contains(select::choose(s).why, "cheapest of"));
    // Where messages cost more than a ring's steps can hide, it is dearer and does not serve.
    s.bytes = 1 << 20;
    s.profile.between.overhead = 3e-4;
    CHECK(contains(select::choose(s).why, "cheapest of"));
}

TEST_CASE("however many ranks, a choice takes little work and is close to the best") {
    const auto choose = [](int ranks, int hosts, bool dealt, std::size_t bytes) {
        CAPTURE(ranks);
        CAPTURE(hosts);
        CAPTURE(dealt);
        CAPTURE(bytes);
        Situation s = test::allreduce(ranks, 1, bytes);
        s.consistent = true;
        s.hosts = hosts;
        s.profile.date = "today";
        for (int rank = 0; rank < ranks && hosts < ranks; ++rank)
            s.host_of.push_back(dealt ? rank % hosts : rank / (ranks / hosts));
        std::size_t work = 0;
        for (const select::Priced &each : select::priced(s, select::kQuick))
            work += each.price.work;
        CHECK(work <= select::kQuick.work);
        const auto [own, least] = test::costs(s, {.within = 3, .work = 1u << 23});
        CHECK(own > 0);
        CHECK(own <= 1.25 * least);
    };
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{9216}, std::size_t{4} << 20}) {
        const bool all = bytes == 9216 || test::full_tier();
        if (test::sampled() && !all)
            continue;
        choose(1000, 1000, false, bytes);
        choose(1024, 128, true, bytes);
        if (!all)
            continue;
        choose(1024, 1024, false, bytes);
        choose(1024, 128, false, bytes);
        choose(1000, 8, false, bytes);
    }
}

TEST_CASE("no candidate is priced twice") {
    for (const auto &[ranks, hosts] : {std::pair{4, 2}, {6, 2}, {6, 3}, {9, 3}, {8, 2}, {5, 5}}) {
        Situation s = allreduce(ranks, 2, 4096);
        s.hosts = hosts;
        for (int rank = 0; rank < ranks && hosts < ranks; ++rank)
            s.host_of.push_back(rank % hosts);
        std::vector<std::string> names;
        for (const select::Priced &each : select::priced(s))
            names.push_back(each.name);
        std::ranges::sort(names);
        CHECK(std::ranges::adjacent_find(names) == names.end());
    }
}

TEST_CASE("ranks with a core each reduce for the root") {
    Situation s = allreduce(4, 4, 64 << 10);
    s.collective = Collective::reduce;
    CHECK(select::choose(s).algorithm == "direct");
    s.reproducible = Reproducible::full;
    CHECK(select::choose(s).algorithm == "direct_canonical");
    s = allreduce(4, 3, 1 << 20); // not here
    s.collective = Collective::reduce;
    CHECK(select::choose(s).algorithm == "linear");
    s = allreduce(4, 4, 4096);
    s.collective = Collective::reduce;
    CHECK(select::choose(s).algorithm == "linear");
}

TEST_CASE("parts of different sizes exclude what needs equal ones") {
    Situation s = allreduce(5, 2, 1000);
    s.equal_shares = false;
    CHECK(contains(select::obstacle(choice_of("ring"), s), "unequal shares"));
    s.collective = Collective::allgather;
    for (const Algorithm &each : algorithms::all())
        if (each.collective == s.collective)
            CHECK((select::obstacle({&each, {}}, s) == "") == each.unequal_shares);
}

TEST_CASE("whatever the call needs, what is chosen has it") {
    for (const Algorithm &some : algorithms::all())
        for (const int ranks : {1, 2, 3, 5, 7, 8, 13, 16})
            for (const std::size_t bytes : {0, 4, 5000, 1 << 20})
                for (const bool commutative : {true, false})
                    for (const Reproducible mode :
                         {Reproducible::off, Reproducible::run, Reproducible::full}) {
                        Situation s = allreduce(ranks, 2, bytes);
                        s.collective = some.collective;
                        s.commutative = commutative;
                        s.consistent = true;
                        s.reproducible = mode;
                        for (s.hosts = 1; s.hosts <= std::min(ranks, 2); ++s.hosts) {
                            const std::string name = select::choose(s).algorithm;
                            CAPTURE(name);
                            CHECK(select::obstacle({&algorithms::find(s.collective, name), {}},
                                                   s) == "");
                        }
                    }
}

TEST_CASE("an excluded algorithm has its reason") {
    Situation s = allreduce(7, 2, 1 << 20);
    CHECK(select::obstacle(choice_of("ring"), s) == "");
    s.commutative = false;
    CHECK(contains(select::obstacle(choice_of("ring"), s), "order of ranks"));
    CHECK(select::obstacle(choice_of("direct"), s) == "");
    s.reproducible = Reproducible::run;
    CHECK(select::obstacle(choice_of("direct"), s) == "");
    s.reproducible = Reproducible::full;
    CHECK(contains(select::obstacle(choice_of("direct"), s), "canonical tree at 7 ranks"));
    CHECK(select::obstacle(choice_of("direct_canonical"), s) == "");
    CHECK(select::choose(s).algorithm == "direct_canonical");

    Algorithm picky = named("direct_canonical");
    picky.runs = [](schedule::Position ranks) { return ranks == 8; };
    CHECK(select::obstacle({&picky, {}}, s) == "cannot run on 7 ranks");
    Algorithm hasty = named("direct_canonical");
    hasty.by_arrival = true;
    CHECK(contains(select::obstacle({&hasty, {}}, s), "the order of arrival"));
    s.reproducible = Reproducible::off;
    CHECK(select::obstacle({&hasty, {}}, s) == "");
    Algorithm loose = named("direct_canonical");
    loose.consistent = +[](schedule::Position) { return false; };
    CHECK(select::obstacle({&loose, {}}, s) == "");
    s.consistent = true;
    CHECK(contains(select::obstacle({&loose, {}}, s), "same bits"));
}

TEST_CASE("what gives ranks different bits is for those who ask for it by name") {
    Situation s = allreduce(7, 2, 64);
    s.consistent = true;
    CHECK(contains(select::obstacle(choice_of("dissemination"), s), "same bits"));
    s.consistent = false;
    CHECK(select::obstacle(choice_of("dissemination"), s) == "");
}

TEST_CASE("what is made for an order of arrival is for those who ask for it by name") {
    for (const int hosts : {1, 7}) {
        Situation s = allreduce(7, 2, 4 << 20);
        s.hosts = hosts;
        int sorted = 0;
        for (const select::Priced &each : select::priced(s)) {
            if (!each.choice.algorithm->sorted_by_arrival)
                continue;
            ++sorted;
            CHECK(contains(each.excluded, "whose arrival is known"));
            CHECK(contains(select::unoffered(each.choice, s), "whose arrival is known"));
            CHECK(select::obstacle(each.choice, s) == "");
            CHECK(std::ranges::count(select::able(s), each.choice.algorithm->name) == 0);
        }
        CHECK(sorted > 0);
        CHECK(select::unoffered(choice_of("chain"), s) == "");
    }
}

TEST_CASE(
    "compositions are candidates where hosts have several ranks, on the hosts that there are") {
    Situation s = allreduce(6, 2, 4 << 20);
    s.hosts = 3;
    s.host_of = {0, 1, 2, 0, 1, 2};
    const auto composed = algorithms::parse(Collective::allreduce, "hierarchical");
    CHECK(select::obstacle(composed, s) == "");
    CHECK(select::unoffered(composed, s) == "");
    std::vector<std::string> forms;
    for (const select::Priced &each : select::priced(s))
        if (each.choice.algorithm->name == "hierarchical") {
            forms.push_back(each.name);
            CHECK(each.excluded == "");
            CHECK(each.price.seconds > 0);
        }
    for (const char *inter :
         {"ring", "circulant", "recursive_doubling", "rabenseifner_32", "segmented_ring"})
        for (const char *leaders : {"", ", leaders=1"})
            CHECK(std::ranges::count(forms, std::string("hierarchical(inter=") + inter + leaders +
                                                ")") == 1);
    CHECK(forms.size() == 10);
    // Where hosts have 3, 1 and 4 ranks nothing else sends as little between them.
    Situation ragged = allreduce(8, 2, 4 << 20);
    ragged.hosts = 3;
    ragged.host_of = {0, 0, 0, 1, 2, 2, 2, 2};
    const std::string chosen = select::choose(ragged).algorithm;
    CHECK((chosen.starts_with("hierarchical") || chosen.starts_with("salar")));
    for (const std::vector<int> &each : {std::vector<int>{}, std::vector<int>(6, 0)}) {
        Situation flat = s;
        flat.host_of = each;
        flat.hosts = each.empty() ? 6 : 1;
        CHECK(contains(select::unoffered(composed, flat), "composes nothing"));
        CHECK(!select::choose(flat).algorithm.starts_with("hierarchical"));
        CHECK(std::ranges::count(select::able(flat), "hierarchical") == 0);
    }
    CHECK(select::make(composed, s).symmetry == schedule::Symmetry({2, 3}));
    const auto with = [](const char *parameters) {
        return algorithms::parse(Collective::allreduce,
                                 std::string("hierarchical(") + parameters + ")");
    };
    CHECK(contains(select::obstacle(with("inter=hybrid"), s), "cannot run on 3 ranks"));
    // Ranks that are dealt out are in no order; neighbours are.
    s.commutative = false;
    CHECK(contains(select::obstacle(with("inter=direct"), s), "order of ranks"));
    s.host_of = {4, 4, 2, 2, 9, 9};
    CHECK(select::obstacle(with("inter=direct"), s) == "");
    CHECK(contains(select::obstacle(with("inter=ring"), s), "order of ranks"));
    s.hosts = 6;
    s.host_of.clear(); // each has a host of its own
    CHECK(equivalent(select::make(with("inter=direct"), s),
                     algorithms::make(algorithms::parse(Collective::allreduce, "direct"), 6)));
    s.hosts = 1;
    CHECK(select::obstacle(with("inter=ring"), s) == ""); // of one host it does nothing
    // Ranks of one host that are bound to caches.
    s.cache_of = {5, 5, 5, 1, 1, 1};
    CHECK(select::topology_of(s) == schedule::Topology::parse("1x6/3"));
    CHECK(select::make(with("level=cache"), s).symmetry == schedule::Symmetry({2, 3}));
    CHECK(contains(select::obstacle(with("inter=ring,intra=ring,level=cache"), s), "order"));
}

TEST_CASE("as many leaders as pairs of ranks move more together") {
    Situation s = allreduce(32, 2, 256 << 10);
    s.hosts = 4;
    for (int rank = 0; rank < 32; ++rank)
        s.host_of.push_back(rank / 8);
    const auto price = [&](const std::string &leaders) {
        const std::string name = "hierarchical(inter=recursive_doubling" + leaders + ")";
        const algorithms::Choice choice = algorithms::parse(Collective::allreduce, name);
        return select::price_of(
                   algorithms::make(choice, s.ranks, 0, {}, schedule::Topology(s.host_of)), s)
            .seconds;
    };
    const auto measured = [](std::vector<double> relative) {
        return cost::Concurrency{
            .pairs = {1, 2, 4, 8}, .rows = {{1, 1e8, std::move(relative)}}, .how = ""};
    };
    s.profile.concurrency.between = measured({1, 1, 1, 1});
    const double one = price(", leaders=1"), all = price("");
    s.profile.concurrency.between = measured({1, 2, 4, 8});
    CHECK(price(", leaders=1") == one); // it is alone on its port
    CHECK(price(", leaders=4") < price(", leaders=2"));
    CHECK(price(", leaders=2") < one);
    CHECK(price("") < all / 3);
    CHECK(select::choose(s).algorithm.find("leaders=1)") == std::string::npos);
}

TEST_CASE("asking for an algorithm that cannot run lists those that can") {
    Situation s = allreduce(7, 2, 64);
    s.reproducible = Reproducible::full;
    select::require(choice_of("binomial"), s);
    try {
        select::require(choice_of("ring"), s);
        FAIL("no error");
    } catch (const Error &error) {
        CHECK(error.status() == Status::unsupported);
        CHECK(contains(error.what(), "ring is not the canonical tree"));
        CHECK(contains(error.what(), "one_shot_canonical, direct_canonical, binomial"));
    }
    CHECK(select::reproducible_named("full") == Reproducible::full);
    CHECK_THROWS_AS(select::reproducible_named("Full"), Error);
}

TEST_CASE("nothing goes by arrival unless it says so") {
    for (const Algorithm &each : algorithms::all())
        for (const int ranks : {3, 5, 8}) { // of two there is no other order
            if (!each.runs(ranks))
                continue;
            CAPTURE(std::string(each.name));
            const schedule::Schedule made = algorithms::make({&each, {}}, ranks);
            bool by_arrival = made.token.has_value();
            for (schedule::Position p = 0; p < ranks; ++p)
                for (const schedule::Op &op : schedule::path(made.program(p)))
                    by_arrival = by_arrival || op.group > 0;
            CHECK(by_arrival == each.by_arrival);
        }
}

TEST_CASE("between hosts there are eight classes of sizes an octave, each with one choice") {
    for (std::size_t bytes = 0; bytes <= 16; ++bytes)
        CHECK(select::size_class(bytes) == bytes);
    CHECK(select::size_class(17) == 18);
    CHECK(select::size_class(31) == 32);
    CHECK(select::size_class(33) == 36);
    CHECK(select::size_class(4096) == 4096);
    CHECK(select::size_class(4097) == 4608);
    CHECK(select::size_class((std::size_t{15} << 40) + 1) == std::size_t{16} << 40);
    for (std::size_t bytes = 1; bytes < 5000; ++bytes) {
        const std::size_t of = select::size_class(bytes);
        CHECK(bytes <= of);
        CHECK(8 * of <= 9 * bytes + 8);
        CHECK(select::size_class(of) == of);
    }

    Situation s = allreduce(6, 6, 4608);
    s.hosts = 6;
    s.consistent = true;
    s.profile.date = "today";
    const select::Choice of_class = select::choose(s);
    const std::vector<std::string> candidates = select::tuning_candidates(s);
    for (const std::size_t bytes : {4100, 4352, 4604}) {
        s.bytes = bytes;
        CHECK(select::choose(s).algorithm == of_class.algorithm);
        CHECK(contains(select::choose(s).why, " for 4608 bytes"));
        CHECK(select::tuning_candidates(s) == candidates);
    }
    CHECK(!contains(of_class.why, " for "));
    // An element that no class is a multiple of.
    s.element = 5;
    s.bytes = 8195;
    CHECK(contains(select::choose(s).why, " for 9220 bytes"));
}
