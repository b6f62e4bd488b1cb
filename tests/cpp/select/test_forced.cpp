// SPDX-License-Identifier: BSD-3-Clause
// What STRETTO_ALGORITHM says: what it means, that it is written as it is read, and every way in
// which it can make no sense.
#include "doctest.h"

#include <string>
#include <vector>

#include "base/status.hpp"
#include "select/forced.hpp"
#include "situations.hpp"
#include "support/text.hpp"

using namespace stretto;
using schedule::Collective;
using select::ForcedRule;
using select::parse_forced;
using select::Situation;
using test::allreduce;
using test::contains;

namespace {

// What runs a call of so many bytes; "" for the library's choice.
std::string chosen_for(const std::string &text, Collective collective, std::size_t bytes) {
    const std::vector<ForcedRule> rules = parse_forced(text);
    Situation here = allreduce(4, 4, bytes);
    here.collective = collective;
    const ForcedRule *rule = select::rule_for(rules, here);
    return rule == nullptr ? "" : rule->algorithm;
}

// The text is refused with all of these words, and quotes the rule that is wrong.
void refused(const std::string &text, const std::string &rule,
             const std::vector<std::string> &words) {
    CAPTURE(text);
    try {
        parse_forced(text);
        FAIL("no error");
    } catch (const Error &error) {
        CAPTURE(error.what());
        CHECK(error.status() == Status::argument);
        CHECK(contains(error.what(), "'" + rule + "'"));
        for (const std::string &word : words)
            CHECK(contains(error.what(), word));
    }
}

constexpr std::size_t kKiB = 1024;

} // namespace

TEST_CASE("a name is that of all collectives that have it") {
    CHECK(chosen_for("ring", Collective::allreduce, 0) == "ring");
    CHECK(chosen_for("ring", Collective::allgather, 1 << 30) == "ring");
    CHECK(chosen_for("ring", Collective::alltoall, 8) == "");
    CHECK(chosen_for("scatter_allgather", Collective::broadcast, 8) == "scatter_allgather");
    CHECK(chosen_for("scatter_allgather", Collective::allreduce, 8) == "");
    CHECK(chosen_for("segmented_ring(segments=4)", Collective::allreduce, 8) ==
          "segmented_ring(segments=4)");
}

TEST_CASE("none means the library's choice") {
    for (const char *text : {"", "auto", "  ", " auto "})
        CHECK(parse_forced(text).empty());
    CHECK(chosen_for("auto,ring", Collective::allreduce, 8) == "");
    CHECK(chosen_for("ring,auto", Collective::allreduce, 8) == "ring");
    CHECK(chosen_for("ring,auto", Collective::alltoall, 8) == "");
}

TEST_CASE("a rule may be for one collective") {
    const std::string text = "allreduce=direct,alltoall=pairwise";
    CHECK(chosen_for(text, Collective::allreduce, 8) == "direct");
    CHECK(chosen_for(text, Collective::alltoall, 8) == "pairwise");
    CHECK(chosen_for(text, Collective::allgather, 8) == ""); // which has a direct, too
}

TEST_CASE("a rule may be for a range of sizes, both ends included") {
    const std::string text = "allreduce:4K-64K=ring";
    CHECK(chosen_for(text, Collective::allreduce, 4 * kKiB - 1) == "");
    CHECK(chosen_for(text, Collective::allreduce, 4 * kKiB) == "ring");
    CHECK(chosen_for(text, Collective::allreduce, 64 * kKiB) == "ring");
    CHECK(chosen_for(text, Collective::allreduce, 64 * kKiB + 1) == "");
    CHECK(chosen_for(text, Collective::allgather, 4 * kKiB) == "");
    CHECK(chosen_for("allreduce:1M-=ring", Collective::allreduce, (1 << 20) - 1) == "");
    CHECK(chosen_for("allreduce:1M-=ring", Collective::allreduce, std::size_t{1} << 60) == "ring");
    CHECK(chosen_for("allreduce:-100=ring", Collective::allreduce, 0) == "ring");
    CHECK(chosen_for("allreduce:-100=ring", Collective::allreduce, 101) == "");
    CHECK(chosen_for("allreduce:8-8=ring", Collective::allreduce, 8) == "ring");
    CHECK(chosen_for("allreduce : 4 KiB - 1 G = ring", Collective::allreduce, 1 << 30) == "ring");
}

TEST_CASE("the first rule that matches decides") {
    const std::string text =
        "allreduce:-4K=auto, allreduce:4K-64K=segmented_ring(segments=4),ring,direct";
    CHECK(chosen_for(text, Collective::allreduce, 4 * kKiB) == "");
    CHECK(chosen_for(text, Collective::allreduce, 4 * kKiB + 1) == "segmented_ring(segments=4)");
    CHECK(chosen_for(text, Collective::allreduce, 64 * kKiB + 1) == "ring");
    CHECK(chosen_for(text, Collective::reduce_scatter, 8) == "ring");
    CHECK(chosen_for(text, Collective::alltoall, 8) == "direct");
    CHECK(chosen_for(text, Collective::barrier, 0) == "");
}

TEST_CASE("rules are written as they are read") {
    for (const char *text :
         {"ring", "auto", "segmented_ring(segments=4)", "allreduce=auto", "allgather=ring",
          "allreduce:4K-64K=chain(segments=2)", "allreduce:1-=ring", "reduce:-1025=binomial",
          "broadcast:1M-1G=chain", "barrier=linear", "file:/a/b=c(1.json", "allreduce=file:a.json",
          "allreduce:4K-=file:/a (copy).json"}) {
        CAPTURE(text);
        const std::vector<ForcedRule> rules = parse_forced(std::string(text) + ",ring");
        REQUIRE(rules.size() == 2);
        CHECK(to_text(rules[0]) == text);
        CHECK(parse_forced(to_text(rules[0]) + ",ring") == rules);
    }
    CHECK(to_text(parse_forced(" allreduce : 0 - 65536 = ring ")[0]) == "allreduce:-64K=ring");
    CHECK(to_text(parse_forced("allreduce:0-=ring")[0]) == "allreduce=ring");
}

TEST_CASE("what makes no sense is named, with what would") {
    refused("hybird", "hybird", {"no allreduce algorithm", "recursive_doubling"});
    refused("ring,hybird", "hybird", {"recursive_doubling"});
    refused("allgather=hybrid", "allgather=hybrid",
            {"no allgather algorithm \"hybrid\"", "direct, circulant, generalized, bruck, ring"});
    refused("ring(segments=2)", "ring(segments=2)", {"no parameter \"segments\"", "none"});
    refused("allreduce=segmented_ring(segments=0)", "allreduce=segmented_ring(segments=0)",
            {"from 1 to 64"});
    refused("segmented_ring(segments=2,direct", "segmented_ring(segments=2,direct",
            {"closing parenthesis"});
    refused("auto(segments=2)", "auto(segments=2)", {"no allreduce algorithm"});
    refused("allreduce", "allreduce", {"that is a collective", "allreduce=ALGORITHM"});
    refused("allreduc=ring", "allreduc=ring",
            {"no collective 'allreduc'", "allreduce, reduce, broadcast", "alltoall"});
    refused("custom=ring", "custom=ring", {"no collective 'custom'"});
    refused("4K-64K=ring", "4K-64K=ring", {"no collective '4K-64K'"});
    refused("=ring", "=ring", {"no collective ''"});
    refused("allreduce=", "allreduce=", {"no allreduce algorithm \"\""});
    refused("ring,", "", {"names no algorithm"});
    refused(",ring", "", {"names no algorithm"});
    refused("ring,,direct", "", {"names no algorithm"});
    refused("ring, allreduce:4Q-=direct", "allreduce:4Q-=direct", {"'4Q' is no size", "64K"});
    refused("allreduce:4K-5X=ring", "allreduce:4K-5X=ring", {"'5X' is no size"});
    refused("allreduce:4K=ring", "allreduce:4K=ring", {"'4K' are no sizes", "4K-64K, 4K- or -64K"});
    refused("allreduce:-=ring", "allreduce:-=ring", {"'-' are no sizes"});
    refused("allreduce:=ring", "allreduce:=ring", {"'' are no sizes"});
    refused("allreduce:1-2-3=ring", "allreduce:1-2-3=ring", {"'2-3' is no size"});
    refused("allreduce:64K-4K=ring", "allreduce:64K-4K=ring", {"64K is more than 4K"});
    refused("file:", "file:", {"names no file", "file:PATH"});
    refused("ring,allreduce:4K-=file:", "allreduce:4K-=file:", {"names no file"});
    refused("allreduc=file:/a.json", "allreduc=file:/a.json", {"no collective 'allreduc'"});
    refused("barrier:4-=linear", "barrier:4-=linear", {"a barrier has no size"});
}

TEST_CASE("what cannot run on these ranks is refused with what can") {
    const auto refused_for = [](const char *text, int ranks,
                                const std::vector<std::string> &words) {
        CAPTURE(text);
        const std::vector<ForcedRule> rules = parse_forced(text);
        try {
            select::require(rules, ranks);
            FAIL("no error");
        } catch (const Error &error) {
            CAPTURE(error.what());
            CHECK(error.status() == Status::unsupported);
            for (const std::string &word : words)
                CHECK(contains(error.what(), word));
        }
    };
    refused_for("ring,allreduce:4K-=hybrid", 3,
                {"'allreduce:4K-=hybrid'", "cannot run on 3 ranks", "rabenseifner"});
    refused_for("hybrid(doublings=3)", 4, {"cannot run with doublings=3 on 4 ranks"});
    select::require(parse_forced("ring,allreduce:4K-=hybrid,auto"), 4);
}

TEST_CASE("an algorithm that cannot run a call is refused, with those that can") {
    const std::vector<ForcedRule> rules = parse_forced("allreduce=ring");
    Situation here = allreduce(7, 2, 64);
    select::require(rules[0], here, 0, 16);
    here.commutative = false;
    try {
        select::require(rules[0], here, 0, 16);
        FAIL("no error");
    } catch (const Error &error) {
        CHECK(error.status() == Status::unsupported);
        CHECK(contains(error.what(), "'allreduce=ring'"));
        CHECK(contains(error.what(), "does not keep the order of ranks"));
        CHECK(contains(error.what(), "one_shot"));
    }
}
