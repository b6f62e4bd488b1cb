// SPDX-License-Identifier: BSD-3-Clause
// What a profile holds of measured calls: as JSON, and as trials add to it.
#include "doctest.h"

#include <string>
#include <vector>

#include "base/numbering.hpp"
#include "base/status.hpp"
#include "profiles.hpp"
#include "select/profile_json.hpp"
#include "support/text.hpp"

using namespace stretto;
using schedule::Collective;
using select::Measured;
using select::Profile;
using select::Timing;
using test::changed;
using test::contains;
using test::wrong;

namespace {

Profile one() {
    Profile profile;
    profile.source.clear();
    profile.calls = {
        {Collective::allreduce,
         4,
         2,
         {0, 0, 1, 1},
         {{4096, "ring", 1.0 / 3e4, 0, 21, Timing::By::tune},
          {4096, "ring", 1.7e-4, 0.5, 21, Timing::By::tune},
          {4096, "ring", 2.9e-4, 0, 7, Timing::By::trial},
          {0, "generalized(group=2x2, r=1)", 1e-6, 0, 7, Timing::By::trial}}},
        {Collective::barrier, 3, 3, {}, {{4, "dissemination", 1e-4, 0, 0, Timing::By::trial}}},
        {Collective::allgather, 3, 1, {}, {}},
    };
    return profile;
}

// Of so many kinds of calls with so many times each.
std::string of_many(int kinds, int times) {
    Profile profile;
    for (int kind = 0; kind < kinds; ++kind) {
        Measured &each = profile.calls.emplace_back();
        each.ranks = each.hosts = kind + 1;
        for (int i = 0; i < times; ++i)
            each.times.push_back(
                {static_cast<std::size_t>(i), "ring", 1e-6, 0, 7, Timing::By::tune});
    }
    return select::to_json(profile, "");
}

} // namespace

TEST_CASE("what is written is read as the same, to the last bit") {
    const std::string text = select::to_json(one(), "0.1.0");
    CHECK(select::profile_from_json(text) == one());
    CHECK(select::to_json(select::profile_from_json(text), "0.1.0") == text);
    // A time is a line.
    CHECK(contains(text, "\n        {\"bytes\":4096,\"algorithm\":\"ring\",\"seconds\":"));
    CHECK(contains(text, "\"host_of\": [0,0,1,1]"));
    // Without any it says nothing of calls.
    Profile none = one();
    none.calls.clear();
    CHECK(!contains(select::to_json(none, ""), "calls"));
}

TEST_CASE("a profile may be about calls alone") {
    Profile calls = one();
    calls.of_links = false;
    calls.date = "2026-03-01 12:00:00 UTC";
    const std::string text = select::to_json(calls, "0.1.0");
    CHECK(!contains(text, "links"));
    CHECK(select::profile_from_json(text) == calls);
    CHECK(!calls.measured()); // of the network nothing is known
    calls.calls.clear();
    CHECK(select::profile_from_json(select::to_json(calls, "")) == calls);
    CHECK(contains(wrong(R"({"common": 0, "calls": []})"), "document: unknown key \"common\""));
    CHECK(contains(wrong(R"({"format": 1})"), "document: missing key \"links\""));
}

TEST_CASE("an algorithm is read as prices call it, and some keys need not be there") {
    const std::string text = changed(select::to_json(one(), ""), "generalized(group=2x2, r=1)",
                                     "generalized( r=1,group=2x2)");
    CHECK(select::profile_from_json(text) == one());
    const std::string bare = changed(text, R"(,"skew":0.0,"calls":0,"by":"trial"})", "}");
    CHECK(select::profile_from_json(bare).calls[1].times[0] ==
          Timing{4, "dissemination", 1e-4, 0, 0, Timing::By::tune});
}

TEST_CASE("what is malformed is refused, and the error says where") {
    const std::string good = select::to_json(one(), "0.1.0");
    REQUIRE(wrong(good).empty());
    struct Case {
        const char *from, *to, *place, *what;
    };
    const std::vector<Case> cases{
        {"\"format\": 1", "\"format\": 3", "format", "a later one than 2"},
        {"\"format\": 1", "\"format\": 3", "format", "written by version 0.1.0"},
        {"\"format\": 1", "\"format\": 0", "format", "expected an integer from 1"},
        {"\"format\": 1", "\"format\": \"x\"", "format", "expected an integer"},
        {"\"allreduce\"", "\"allreduces\"", "calls[0].collective", "no such collective"},
        {"\"allreduce\"", "\"custom\"", "calls[0].collective", "no such collective"},
        {"\"allreduce\"", "7", "calls[0].collective", "expected a string"},
        {"\"ranks\": 4", "\"ranks\": 0", "calls[0].ranks", "from 1 to 65536"},
        {"\"ranks\": 4", "\"ranks\": 65537", "calls[0].ranks", "from 1 to 65536"},
        {"\"ranks\": 4", "\"ranks\": 5", "calls[0].host_of", "the host of each of 5 ranks"},
        {"\"hosts\": 2", "\"hosts\": 5", "calls[0].hosts", "from 1 to 4"},
        {"\"hosts\": 2", "\"hosts\": 3", "calls[0].host_of", "expected 3 hosts"},
        {"\"hosts\": 2", "\"hosts\": 4", "calls[0]", "\"host_of\" is only for"},
        {", \"host_of\": [0,0,1,1]", "", "calls[0]", "missing key \"host_of\""},
        {"[0,0,1,1]", "[1,1,0,0]", "calls[0].host_of", "numbered in the order"},
        {"[0,0,1,1]", "[0,0,0,0]", "calls[0].host_of", "expected 2 hosts"},
        {"[0,0,1,1]", "[0,0,1,2]", "calls[0].host_of[3]", "from 0 to 1"},
        {"[0,0,1,1]", "{}", "calls[0].host_of", "expected an array"},
        {"\"times\"", "\"time\"", "calls[0]", "missing key \"times\""},
        {"{\"bytes\":4096,", "{", "calls[0].times[0]", "missing key \"bytes\""},
        {"{\"bytes\":4096,", "{\"bytes\":-1,", "calls[0].times[0].bytes", "from 0 to 2^64"},
        {"{\"bytes\":4096,", "{\"bytes\":1125899906842625,", "calls[0].times[0].bytes", "2^50"},
        {"{\"bytes\":4096,", "{\"byte\":1,\"bytes\":4096,", "calls[0].times[0]", "unknown key"},
        {"\"ring\"", "\"rink\"", "calls[0].times[0].algorithm", "no allreduce algorithm \"rink\""},
        {"\"ring\"", "\"ring(segments=2)\"", "calls[0].times[0].algorithm", "segments"},
        {"group=2x2, r=1", "group=2x2, r=4", "calls[0].times[3].algorithm", "r=4"},
        {"group=2x2, r=1", "group=5", "calls[0].times[3].algorithm", "cannot run with"},
        {"\"seconds\":1e-06", "\"seconds\":0", "calls[0].times[3].seconds", "expected a number"},
        {"\"seconds\":1e-06", "\"seconds\":-1", "calls[0].times[3].seconds", "expected a number"},
        {"\"seconds\":1e-06", "\"seconds\":1e5", "calls[0].times[3].seconds", "expected a number"},
        {"\"seconds\":1e-06", "\"seconds\":null", "calls[0].times[3].seconds", "expected a number"},
        {"\"skew\":0.5", "\"skew\":-0.5", "calls[0].times[1].skew", "expected a number"},
        {"\"skew\":0.5", "\"skew\":0.0", "calls[0].times[1]", "stands twice"},
        {"\"calls\":21", "\"calls\":-1", "calls[0].times[0].calls", "expected an integer"},
        {"\"by\":\"tune\"", "\"by\":\"me\"", "calls[0].times[0].by", "\"trial\" or \"tune\""},
        {"\"by\":\"tune\"", "\"by\":1", "calls[0].times[0].by", "expected a string"},
        {"\"calls\": [", "\"calls\": 7, \"host\": [", "document", "stands twice"},
        {"\"collective\": \"allgather\", \"ranks\": 3, \"hosts\": 1",
         "\"collective\": \"barrier\", \"ranks\": 3, \"hosts\": 3", "calls[2]", "stands twice"},
    };
    for (const Case &each : cases) {
        const std::string text = changed(good, each.from, each.to);
        CAPTURE(text);
        const std::string error = wrong(text);
        CAPTURE(error);
        CHECK(contains(error, each.what));
        CHECK(contains(error, "profile JSON: " + std::string(each.place) + ": "));
    }
}

TEST_CASE("there is a limit to what a profile holds") {
    CHECK(wrong(of_many(64, 64)).empty());
    Profile wide;
    Measured many{Collective::reduce, 4097, 2, std::vector<int>(4097, 0), {}};
    many.host_of.back() = 1;
    select::add(wide.calls, many);
    CHECK(wide.calls.empty());
    wide.calls.push_back(many);
    CHECK(contains(wrong(select::to_json(wide, "")), "calls[0].host_of: more than 4096 ranks"));
    CHECK(contains(wrong(of_many(65, 1)), "calls: 65 elements; at most 64"));
    CHECK(contains(wrong(of_many(1, 4097)), "calls[0].times: 4097 elements; at most 4096"));
    CHECK(contains(wrong(of_many(2, 2049)), "calls: more than 4096 times"));
}

TEST_CASE("what is added takes the place of what it repeats") {
    Profile profile = one();
    const Timing again{4096, "ring", 5e-4, 0.25, 3, Timing::By::tune};
    const Timing other{4096, "circulant", 5e-4, 0, 3, Timing::By::tune};
    select::add(profile.calls, {Collective::allreduce, 4, 2, {0, 0, 1, 1}, {again, other}});
    REQUIRE(profile.calls.size() == 3);
    REQUIRE(profile.calls[0].times.size() == 5);
    CHECK(profile.calls[0].times[1] == again);
    CHECK(profile.calls[0].times[4] == other);
    select::add(profile.calls, {Collective::allreduce, 4, 2, {0, 1, 0, 1}, {again}});
    CHECK(profile.calls.size() == 4);
    // Never more than can be read.
    for (int ranks = 2; ranks < 100; ++ranks)
        for (std::size_t bytes = 0; bytes < 100; ++bytes)
            select::add(profile.calls, {Collective::reduce,
                                        ranks,
                                        1,
                                        {},
                                        {{bytes, "linear", 1, 0, 1, Timing::By::trial}}});
    CHECK(wrong(select::to_json(profile, "")).empty());
    CHECK(profile.calls.size() == 64);
}

TEST_CASE("hosts in the order in which ranks have them") {
    CHECK(numbered_in_order(std::vector<int>{5, 3, 5, 9}) == std::vector<int>{0, 1, 0, 2});
    CHECK(numbered_in_order({}).empty());
}
