// SPDX-License-Identifier: BSD-3-Clause
// "concurrency" of profiles: what is written is read as the same, and what is malformed is refused
// with its place.
#include "doctest.h"

#include <string>
#include <vector>

#include "base/status.hpp"
#include "profiles.hpp"
#include "select/profile_json.hpp"
#include "support/text.hpp"

using namespace stretto;
using select::Profile;
using test::changed;
using test::contains;
using test::wrong;

namespace {

Profile one() {
    Profile profile;
    profile.how_inside = profile.how_between = "by hand";
    profile.host = "node1";
    profile.date = "2026-03-01 12:00:00 UTC";
    profile.source = "";
    profile.concurrency.inside = {
        .pairs = {1, 2, 3},
        .rows = {{4, 1.0 / 3 * 1e7, {1, 1.9, 1.0 / 3}}, {4096, 2.5e9, {1, 2, 2.75}}},
        .how = "pairs 0-3, 1-4, 2-5 of node1"};
    profile.concurrency.between = {
        .pairs = {1}, .rows = {{65536, 1.1e8, {1}}}, .how = "\"quoted\" \u00fc"};
    return profile;
}

} // namespace

TEST_CASE("concurrency is read as it is written, to the last bit") {
    Profile profile = one();
    const std::string text = select::to_json(profile, "0.1.0");
    CHECK(select::profile_from_json(text) == profile);
    CHECK(select::to_json(select::profile_from_json(text), "0.1.0") == text);
    CHECK(contains(text, "\n        {\"bytes\":4096,\"throughput\":2500000000.0,\"relative\":["));
    for (const bool inside : {true, false}) {
        profile = one();
        cost::Concurrency &gone = inside ? profile.concurrency.inside : profile.concurrency.between;
        gone = cost::Concurrency{};
        CHECK(select::profile_from_json(select::to_json(profile, "")) == profile);
    }
    // Beside calls.
    profile = one();
    profile.calls = {{.collective = schedule::Collective::allreduce,
                      .ranks = 2,
                      .hosts = 1,
                      .host_of = {},
                      .times = {{4096, "ring", 1e-5, 0, 7, select::Timing::By::tune}}}};
    CHECK(select::profile_from_json(select::to_json(profile, "")) == profile);
}

TEST_CASE("a profile may say nothing but what pairs move") {
    Profile profile = one();
    profile.of_links = false;
    profile.how_inside = profile.how_between = Profile{}.how_inside;
    const std::string text = select::to_json(profile, "");
    CHECK(!contains(text, "links"));
    CHECK(select::profile_from_json(text) == profile);
    CHECK(!profile.measured()); // of the network nothing is known that prices go by
    CHECK(select::profile_from_json(changed(text, ",\n  \"calls\": [\n  ]", "")) == profile);
    CHECK(contains(wrong(R"({"common": 0, "concurrency": {}})"), "unknown key \"common\""));
}

TEST_CASE("only a profile with concurrency is of the format that has it") {
    CHECK(contains(select::to_json(one(), ""), "\"format\": 2"));
    Profile without = one();
    without.concurrency = {};
    CHECK(contains(select::to_json(without, ""), "\"format\": 1"));
    CHECK(!contains(select::to_json(without, ""), "concurrency"));
}

TEST_CASE("concurrency that is malformed is refused, and the error says where") {
    const std::string good = select::to_json(one(), "0.1.0");
    REQUIRE(wrong(good).empty());
    struct Case {
        std::string from, to, place, what;
    };
    const std::string row = "{\"bytes\":4096,", inside = "concurrency.inside.";
    const std::string second = inside + "rows[1]";
    std::string many = "1";
    for (int pairs = 2; pairs <= 65; ++pairs)
        many += "," + std::to_string(pairs);
    const std::vector<Case> cases{
        {"\"format\": 2", "\"format\": 3", "format", "a later one than 2"},
        {"\"between\": {\n      \"how\"", "\"betwen\": {\n      \"how\"", "concurrency",
         "unknown key \"betwen\""},
        {"[1,2,3]", "[]", inside + "pairs", "1 is the first"},
        {"[1,2,3]", "[2,3,4]", inside + "pairs", "1 is the first"},
        {"[1,2,3]", "[1,3,3]", inside + "pairs[2]", "more pairs"},
        {"[1,2,3]", "[1,3,2]", inside + "pairs[2]", "more pairs"},
        {"[1,2,3]", "[1,2,65537]", inside + "pairs[2]", "from 1 to 65536"},
        {"[1,2,3]", "[1,2,2.5]", inside + "pairs[2]", "expected an integer"},
        {"[1,2,3]", "[1,2]", inside + "rows[0].relative", "for each of \"pairs\""},
        {"[1,2,3]", "[" + many + "]", inside + "pairs", "at most 64"},
        {"[1,2,3]", "7", inside + "pairs", "expected an array"},
        {"\"pairs\": [1,2,3]", "\"pair\": [1,2,3]", "concurrency.inside", "missing key \"pairs\""},
        {row, "{\"bytes\":4,", second + ".bytes", "more bytes"},
        {row, "{\"bytes\":0,", second + ".bytes", "from 1 to 2^50"},
        {row, "{\"bytes\":1125899906842625,", second + ".bytes", "from 1 to 2^50"},
        {row, "{\"bytes\":-1,", second + ".bytes", "expected an integer"},
        {row, "{", second, "missing key \"bytes\""},
        {row, "{\"byte\":1,\"bytes\":4096,", second, "unknown key \"byte\""},
        {"2500000000.0", "0", second + ".throughput", "expected a number from"},
        {"2500000000.0", "1e15", second + ".throughput", "expected a number from"},
        {"2500000000.0", "null", second + ".throughput", "expected a number from"},
        {"[1.0,2.0,2.75]", "[1.1,2.0,2.75]", second + ".relative[0]", "expected 1"},
        {"[1.0,2.0,2.75]", "[1.0,0.0,2.75]", second + ".relative[1]", "expected a number from"},
        {"[1.0,2.0,2.75]", "[1.0,2.0,-1]", second + ".relative[2]", "expected a number from"},
        {"[1.0,2.0,2.75]", "[1.0,2.0,1e7]", second + ".relative[2]", "expected a number from"},
        {"[1.0,2.0,2.75]", "[1.0,2.0,\"3\"]", second + ".relative[2]", "expected a number from"},
        {"[1.0,2.0,2.75]", "[1.0,2.0]", second + ".relative", "for each of \"pairs\""},
        {"[1.0,2.0,2.75]", "{}", second + ".relative", "expected an array"},
        {"pairs 0-3, 1-4", std::string(401, 'x'), inside + "how", "bytes; at most 400"},
    };
    for (const Case &each : cases) {
        CAPTURE(each.to);
        const std::string error = wrong(changed(good, each.from, each.to));
        CAPTURE(error);
        CHECK(contains(error, each.what));
        CHECK(contains(error, "profile JSON: " + each.place + ": "));
    }
    const std::string empty =
        R"({"concurrency": {"inside": {"pairs": [1], "rows": []}}, "calls": []})";
    CHECK(contains(wrong(empty), "concurrency.inside.rows: expected at least one row"));
    CHECK(contains(wrong(R"({"concurrency": []})"), "concurrency: expected an object"));
    CHECK(wrong(R"({"concurrency": {}})").empty());
}
