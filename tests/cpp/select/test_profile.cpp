// SPDX-License-Identifier: BSD-3-Clause
// Profiles as JSON: what is written is read as the same, and what is malformed is refused with its
// place.
#include "doctest.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "profiles.hpp"
#include "select/profile_json.hpp"
#include "support/folder.hpp"
#include "support/text.hpp"

using namespace stretto;
using select::Profile;
using test::changed;
using test::contains;
using test::wrong;

namespace {

Profile one() {
    Profile profile;
    profile.inside = {1e-7, 2e-7, 3.25e-11, 1.0 / 3e11};
    profile.between = {1.2e-2, 0, 4e-6, 1e-10};
    profile.how_inside = "by hand";
    profile.how_between = "with \"quotes\" and \u00fc";
    profile.host = "node1";
    profile.date = "2026-03-01 12:00:00 UTC";
    profile.source = "";
    return profile;
}

} // namespace

TEST_CASE("what is written is read as the same, to the last bit") {
    CHECK(select::profile_from_json(select::to_json(one(), "0.1.0")) == one());
    Profile assumed;
    assumed.source.clear();
    CHECK(select::profile_from_json(select::to_json(assumed, "")) == assumed);
}

TEST_CASE("the name of a host that is no text is written all the same") {
    Profile profile = one();
    profile.host = "node\xff";
    CHECK(contains(select::profile_from_json(select::to_json(profile, "")).host, "node"));
}

TEST_CASE("only the links are needed") {
    const std::string link = R"({"latency": 0, "overhead": 1e-6, "byte": 1e-9, "reduce": 1e-10})";
    const Profile read = select::profile_from_json(R"({"links": {"inside": )" + link +
                                                   R"(, "between": )" + link + "}}");
    CHECK(read.inside == cost::Link{0, 1e-6, 1e-9, 1e-10});
    CHECK(read.between == read.inside);
    CHECK(read.how_inside.empty());
}

TEST_CASE("what is malformed is refused, and the error says where") {
    const std::string good = select::to_json(one(), "0.1.0");
    REQUIRE(wrong(good).empty());
    struct Case {
        std::string text, place, what;
    };
    std::vector<Case> cases{
        {"", "document", "profile JSON"},
        {"[1, 2", "document", "profile JSON"},
        {"[]", "document", "expected an object"},
        {"{}", "document", "missing key \"links\""},
        {changed(good, "\"0.1.0\"", "1"), "stretto", "expected a string"},
        {changed(good, "\"node1\"", "null"), "host", "expected a string"},
        {changed(good, "\"2026-03-01 12:00:00 UTC\"", "7"), "date", "expected a string"},
        {changed(good, "\"by hand\"", "[]"), "links.inside.how", "expected a string"},
        {changed(good, "\"by hand\"", "\"" + std::string(401, 'x') + "\""), "links.inside.how",
         "401 bytes"},
        {changed(good, "\"between\"", "\"betwen\""), "links", "missing key \"between\""},
        {changed(good, "\"date\"", "\"day\""), "document", "unknown key \"day\""},
        {changed(good, "\"how\"", "\"who\""), "links.inside", "unknown key \"who\""},
    };
    // Every number of both links: missing, no number, absurd.
    for (const char *link : {"inside", "between"})
        for (const char *key : {"latency", "overhead", "byte", "reduce"}) {
            const std::string place = std::string("links.") + link + "." + key;
            const std::size_t at =
                good.find(std::string("\"") + key + "\": ", good.find(std::string("\"") + link));
            const std::size_t value = good.find(':', at) + 2;
            const std::size_t end = good.find(',', value);
            const auto with = [&](const std::string &number) {
                return good.substr(0, value) + number + good.substr(end);
            };
            REQUIRE(wrong(with("1e-9")).empty());
            for (const char *number : {"-1e-9", "1e9", "11", "1e308", "18446744073709551615",
                                       "\"1e-9\"", "null", "true"})
                cases.push_back({with(number), place, "expected a number from "});
            cases.push_back({with("1e999"), "document", "profile JSON"});
            cases.push_back({with("NaN"), "document", "profile JSON"});
            cases.push_back({changed(good.substr(0, at), "", "") + "\"x" + good.substr(at + 1),
                             std::string("links.") + link, "missing key"});
        }
    for (const Case &each : cases) {
        CAPTURE(each.text);
        const std::string error = wrong(each.text);
        CAPTURE(error);
        CHECK(contains(error, each.what));
        CHECK(contains(error, "profile JSON: " + each.place));
    }
    // Faster than any memory.
    CHECK(contains(wrong(changed(good, "4e-06", "0")), "links.between.byte"));
}

TEST_CASE("a file that cannot be read, or is malformed, is named with the remedy") {
    const test::Folder folder;
    const auto error_of = [](const std::string &path) -> std::string {
        try {
            (void)select::load_profile(path);
            return "";
        } catch (const Error &error) {
            CHECK(error.status() == Status::argument);
            return error.what();
        }
    };
    const std::string path = folder.path() + "/profile.json";
    const auto write = [&](const std::string &text) { std::ofstream(path) << text; };
    const std::string missing = error_of(path);
    CHECK(contains(missing, path + " (STRETTO_TUNING_FILE) cannot be read: No such file"));
    CHECK(contains(missing, "unset STRETTO_TUNING_FILE"));
    CHECK(contains(error_of(folder.path()), "cannot be read: Is a directory"));
    write(std::string((4u << 20) + 1, ' '));
    CHECK(contains(error_of(path), "longer than 4 MiB"));
    write("{}");
    CHECK(contains(error_of(path), path + " (STRETTO_TUNING_FILE) is malformed: profile JSON: "));
    write(select::to_json(one(), "0.1.0"));
    CHECK(error_of(path).empty());
    const Profile read = select::load_profile(path);
    CHECK(read.between == one().between);
    CHECK(read.source == path + ", of node1, 2026-03-01 12:00:00 UTC");
}
