// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <set>
#include <string>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "algorithms/assemble.hpp"
#include "base/status.hpp"
#include "refusal.hpp"
#include "support/text.hpp"

using namespace stretto;
using namespace stretto::algorithms;
using stretto::test::message;
using ::test::contains;

namespace {

std::string refusal(std::string_view text, Collective collective = Collective::allreduce) {
    return message(Status::argument, [&] { (void)parse(collective, text); });
}

} // namespace

TEST_CASE("every entry is complete and has a name of its own") {
    std::set<std::pair<Collective, std::string_view>> names;
    for (const Algorithm &algorithm : all()) {
        CAPTURE(std::string(algorithm.name));
        CHECK(names.emplace(algorithm.collective, algorithm.name).second);
        CHECK(!algorithm.name.empty());
        CHECK(!algorithm.summary.empty());
        CHECK(!algorithm.source.empty());
        CHECK(algorithm.runs(1));
        CHECK(&find(algorithm.collective, algorithm.name) == &algorithm);
        for (const Parameter &parameter : algorithm.parameters) {
            CHECK(!parameter.meaning.empty());
            CHECK(parameter.least <= parameter.fallback);
            CHECK(parameter.fallback <= parameter.most);
        }
    }
}

TEST_CASE("every collective has algorithms for any number of ranks") {
    for (const Collective collective :
         {Collective::allreduce, Collective::reduce, Collective::broadcast,
          Collective::reduce_scatter, Collective::allgather, Collective::barrier,
          Collective::gather, Collective::scatter, Collective::alltoall})
        for (Position ranks = 1; ranks <= 64; ++ranks) {
            int running = 0;
            for (const Algorithm &algorithm : all())
                running += algorithm.collective == collective && algorithm.runs(ranks);
            CAPTURE(std::string(name(collective)));
            CHECK(running >= 2);
        }
}

TEST_CASE("names with parameters") {
    const Choice ring = parse(Collective::allreduce, "segmented_ring(segments=4)");
    CHECK(ring.algorithm->name == "segmented_ring");
    CHECK(ring.parameters == algorithms::Values{{"segments", {4}}});
    CHECK(make(ring, 3).name == "segmented_ring(segments=4)");
    CHECK(make(ring, 3).blocks() == 12);

    const Choice spaced = parse(Collective::allreduce, " segmented_ring ( segments = 4 ) ");
    CHECK(spaced.parameters == ring.parameters);

    // Without parameters the defaults count, and the name does not show them.
    for (const char *text : {"segmented_ring", "segmented_ring()"}) {
        const Choice plain = parse(Collective::allreduce, text);
        CHECK(plain.parameters.empty());
        CHECK(make(plain, 3).name == "segmented_ring");
        CHECK(make(plain, 3).blocks() == 6);
    }
}

TEST_CASE("refusals list the choices") {
    CHECK(contains(refusal("rink"), "\"rink\""));
    CHECK(contains(refusal("rink"), "one_shot, one_shot_canonical, direct,"));
    CHECK(contains(refusal("scatter_allgather"), "no allreduce algorithm"));
    CHECK(!contains(refusal("rink", Collective::allgather), "rabenseifner"));
    CHECK(contains(refusal("ring(segments=2)"), "it has none"));
    CHECK(contains(refusal("chain(pieces=2)"), "it has: segments"));
    for (const char *text :
         {"chain(segments=0)", "chain(segments=-1)", "chain(segments=4097)", "chain(segments=)",
          "chain(segments)", "chain(segments=4x)", "chain(segments=99999999999999999999)"})
        CHECK(contains(refusal(text), "from 1 to 4096"));
    CHECK(contains(refusal("chain(segments=4"), "parenthesis"));
    CHECK(contains(refusal("chain(segments=4)x"), "parenthesis"));
    CHECK(contains(refusal("chain(segments=4, segments=5)"), "twice"));
    CHECK(contains(refusal(""), "no allreduce algorithm \"\""));
}

TEST_CASE("an algorithm that cannot run says so") {
    Algorithm picky = find(Collective::allreduce, "ring");
    picky.runs = power_of_two;
    CHECK(make({&picky, {}}, 4).ranks == 4);
    CHECK(contains(message(Status::unsupported, [&] { (void)make({&picky, {}}, 6); }), "6 ranks"));
    CHECK(contains(message(Status::argument, [&] { (void)make({&picky, {}}, 0); }), "at least 1"));
    // What a parameter may be can depend on the number of ranks; a default fits by itself.
    const Choice hybrid = parse(Collective::allreduce, "hybrid(doublings=3)");
    CHECK(make(hybrid, 8).name == "hybrid(doublings=3)");
    CHECK(contains(message(Status::unsupported, [&] { (void)make(hybrid, 4); }),
                   "cannot run with doublings=3 on 4 ranks, which have 0 to 2"));
    CHECK(contains(message(Status::unsupported, [&] { (void)make(hybrid, 6); }), "6 ranks"));
    CHECK(make(parse(Collective::allreduce, "hybrid"), 1).blocks() == 1);
    // Shares of ranks mean something only where blocks have owners.
    const Choice whole = parse(Collective::allreduce, "ring");
    CHECK(contains(message(Status::unsupported, [&] { (void)make(whole, 2, 0, {1, 2}); }),
                   "unequal shares"));
    const Choice parts = parse(Collective::allgather, "ring");
    CHECK(contains(message(Status::argument, [&] { (void)make(parts, 3, 0, {1, 2}); }),
                   "2 shares for 3 ranks"));
    const Choice rooted = parse(Collective::reduce, "linear");
    CHECK(contains(message(Status::argument, [&] { (void)make(rooted, 4, 4); }), "root 4"));
    // A root means nothing where there is none.
    CHECK(make(parse(Collective::allreduce, "ring"), 4, 9).contract.root() == 0);
}
