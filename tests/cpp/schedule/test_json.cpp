// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "schedule/json.hpp"
#include "schedule/verify.hpp"
#include "support/schedules.hpp"

using namespace stretto::test;
using stretto::Error;

namespace {

bool same(const Schedule &a, const Schedule &b) {
    return a.name == b.name && a.ranks == b.ranks && a.partition == b.partition &&
           a.contract == b.contract && a.token == b.token && a.symmetry == b.symmetry &&
           a.topology == b.topology && programs_of(a) == programs_of(b);
}

std::string reason(const std::string &text) {
    try {
        from_json(text);
    } catch (const Error &error) {
        CHECK(error.status() == stretto::Status::argument);
        return error.what();
    }
    return "accepted";
}

bool refused(const std::string &text, const std::string &part) {
    const std::string why = reason(text);
    INFO(text.substr(0, 400));
    INFO(why);
    const bool found = why.find(part) != std::string::npos;
    CHECK(found);
    return found;
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
    const std::size_t place = text.find(from);
    REQUIRE(place != std::string::npos);
    return text.replace(place, from.size(), to);
}

// A broadcast of one block to position 1.
const std::string kSmall = R"({"format": "stretto-schedule", "version": 1, "name": "small",
 "ranks": 2, "partition": [{"even": 1}], "contract": {"collective": "broadcast", "root": 0},
 "programs": [{"ops": [{"op": "send", "peer": 1, "blocks": [0], "from": 0}]},
              {"ops": [{"op": "recv", "peer": 0, "blocks": [0], "into": 0}]}]})";

} // namespace

TEST_CASE("round trip") {
    Schedule weighted = ring(6);
    weighted.partition = Partition::weighted({1, 0, 5}).refine(2);
    Schedule deep = ring(8);
    deep.partition = Partition::even(2).refine(Partition::equal(2)).refine(2);
    auto windows = programs_of(crossed());
    windows[0].ops[1].after = {0};
    const Schedule custom = assemble(
        "custom \"quoted\" \n",
        Contract::custom(2, 1, {Atom{0, 0}, std::nullopt}, {Goal{0, std::nullopt}, Goal{0, 0}}),
        {{{send(1, {0})}, {}, {}}, {{recv(0, {0})}, {}, {}}});
    Op turned = copy({0, 1}, kWork, 1);
    turned.targets = {1, 0};
    const Schedule copies =
        assemble("copies", {Collective::barrier, 1, 2}, {{{turned}, {}, {}}}, Partition::equal(2));
    for (const Schedule &schedule :
         {linear(5), binomial(1), ring(4), recursive_doubling(8, false), direct(4), one_shot(3),
          alltoall(3, 2), chosen_root(), weighted, deep, with_programs(crossed(), windows), custom,
          copies}) {
        CAPTURE(schedule.name);
        const std::string text = to_json(schedule);
        const Schedule read = from_json(text);
        CHECK(same(schedule, read));
        CHECK(to_json(read) == text);
        CHECK(verify(read).tree == verify(schedule).tree);
    }
}

TEST_CASE("a schedule written by hand") {
    const Schedule schedule = from_json(kSmall);
    CHECK(verify(schedule).failure == "");
    CHECK(schedule.program(1).ops == std::vector<Op>{recv(0, {0})});
    // Well formed and wrong: accepted here, refused by the verifier.
    CHECK_FALSE(verify(from_json(replaced(kSmall, "\"peer\": 1", "\"peer\": 1, \"lane\": 4"))).ok);
}

TEST_CASE("hosts and caches come back") {
    for (const char *hosts : {"3x2", "3,1,2", "cyclic:2x3/2", "map:0,1,1,0,2,0"}) {
        Schedule placed = ring(6);
        placed.topology = Topology::parse(hosts);
        CHECK(same(from_json(to_json(placed)), placed));
        CHECK(to_text(placed).find(std::string(", hosts ") + hosts + "\n") != std::string::npos);
    }
    CHECK(to_json(ring(6)).find("hosts") == std::string::npos);
    const auto with = [](const std::string &lines) {
        return replaced(kSmall, "\"ranks\": 2", "\"ranks\": 2, " + lines);
    };
    CHECK(from_json(with("\"hosts\": [7, 3]")).topology == Topology::parse("2x1"));
    refused(with("\"hosts\": [0]"), "hosts: expected 2 numbers, one for each position");
    refused(with("\"hosts\": [0, -1]"), "hosts[1]");
    refused(with("\"hosts\": 2"), "hosts");
    refused(with("\"hosts\": [0, 0], \"caches\": [0, 0, 1]"), "caches: expected 2 numbers");
    refused(with("\"hosts\": [0, 1], \"caches\": [4, 4]"), "shares a cache with a position of");
    refused(with("\"caches\": [0, 0]"), "caches: caches without hosts");
}

TEST_CASE("a symmetry counts where there is one") {
    CHECK(from_json(to_json(ring(6))).symmetry == Symmetry({6}));
    CHECK(from_json(replaced(kSmall, "\"ranks\": 2", "\"ranks\": 2, \"symmetry\": [2]")).symmetry ==
          std::nullopt);
    // Of one position another peer, lane, number of blocks, window or op too few.
    for (const auto &change : std::vector<std::function<void(Program &)>>{
             [](Program &program) { program.ops[0].peer = 5; },
             [](Program &program) { program.ops[1].lane = 7; },
             [](Program &program) { program.ops[2].blocks = {0, 1}; },
             [](Program &program) { program.open.recv = 1; },
             [](Program &program) { program.ops.pop_back(); }}) {
        auto programs = programs_of(ring(6));
        change(programs[3]);
        const Schedule read = from_json(to_json(with_programs(ring(6), programs)));
        CHECK(read.symmetry == std::nullopt);
        CHECK(programs_of(read) == programs);
    }
}

TEST_CASE("places are named") {
    refused(replaced(kSmall, "\"peer\": 0", "\"peer\": 2"),
            "programs[1].ops[0].peer: expected an integer from 0 to 1");
    refused(replaced(kSmall, "\"even\": 1", "\"even\": 0"), "partition[0].even");
    refused(replaced(kSmall, "[0], \"from\"", "[1], \"from\""), "programs[0].ops[0].blocks[0]");
    refused(replaced(kSmall, "\"recv\"", "\"receive\""),
            "programs[1].ops[0].op: unknown op \"receive\"");
}

TEST_CASE("every index is checked") {
    for (const char *bad : {"-1", "2", "1.5", "\"1\"", "null", "[1]", "4294967297", "1e3", "true",
                            "99999999999999999999999"})
        refused(replaced(kSmall, "\"peer\": 1", std::string("\"peer\": ") + bad), "schedule JSON");
    for (const char *bad : {"[]", "0", "[0,0]", "[-1]", "[1]", "[[0]]"})
        CHECK(reason(replaced(kSmall, "[0], \"into\"", std::string(bad) + ", \"into\"")) !=
              "accepted");
    refused(replaced(kSmall, "\"from\": 0", "\"from\": -1"), "from");
    refused(replaced(kSmall, "\"into\": 0", "\"into\": 0, \"with\": -1"), "with");
    refused(replaced(kSmall, "\"into\": 0", "\"into\": 0, \"after\": [0]"), "earlier");
    refused(replaced(kSmall, "\"into\": 0", "\"into\": 0, \"group\": 0"), "group");
    refused(replaced(kSmall, "\"into\": 0", "\"into\": 0, \"side\": \"up\""), "side");
    refused(replaced(kSmall, "\"into\": 0", "\"into\": 0, \"side\": \"left\""), "a side needs");
    refused(replaced(kSmall, "\"peer\": 0", "\"peer\": 1"), "cannot message itself");
    refused(replaced(kSmall, "\"root\": 0", "\"root\": 2"), "contract.root");
    refused(replaced(kSmall, "broadcast", "broadcats"), "unknown collective");
    refused(replaced(kSmall, "\"ranks\": 2", "\"ranks\": 3"), "expected 3 programs");
    refused(replaced(kSmall, "{\"ops\": [{\"op\": \"s",
                     "{\"open\": {\"recv\": -1}, \"ops\": "
                     "[{\"op\": \"s"),
            "programs[0].open.recv");
    refused(replaced(kSmall, "\"programs\"", "\"token\": {\"values\": 0}, \"programs\""),
            "token.values");
    refused(replaced(kSmall, "\"programs\"",
                     "\"token\": {\"values\": 2, \"arbiter\": 0, \"issued_after\": 2}, "
                     "\"programs\""),
            "its prefix has 1");
    refused(replaced(kSmall, "{\"ops\": [{\"op\": \"s",
                     "{\"suffixes\": [[]], \"ops\": "
                     "[{\"op\": \"s"),
            "1 suffixes");
}

TEST_CASE("unknown, missing and repeated keys are refused") {
    refused(replaced(kSmall, "\"ranks\": 2", "\"ranks\": 2, \"ranks\": 2"), "stands twice");
    refused(replaced(kSmall, "\"from\": 0", "\"from\": 0, \"from\": 0"),
            "key \"from\" stands twice");
    refused(replaced(kSmall, "\"from\": 0", "\"from\": 0, \"into\": 0"), "unknown key \"into\"");
    refused(replaced(kSmall, "\"from\": 0", "\"slot\": 0"), "missing key \"from\"");
    refused(replaced(kSmall, "\"version\": 1, ", ""), "missing key \"version\"");
    refused(replaced(kSmall, "\"version\": 1", "\"version\": 2"), "version");
    refused(replaced(kSmall, "stretto-schedule", "schedule"), "format");
    refused(replaced(kSmall, "\"even\": 1", "\"even\": 1, \"equal\": 1"), "exactly one");
    refused(replaced(kSmall, "\"even\": 1", ""), "exactly one");
    refused(replaced(kSmall, "\"even\": 1", "\"weights\": [0]"), "all weights are 0");
    refused(replaced(kSmall, "\"even\": 1", "\"weights\": [-1]"), "partition[0].weights[0]");
    for (const char *orders : {"[3]", "[2, 2]", "[]", "[1, 2]", "[65536, 65537]", "true"})
        refused(
            replaced(kSmall, "\"ranks\": 2", "\"ranks\": 2, \"symmetry\": " + std::string(orders)),
            "symmetry");
    refused(replaced(kSmall, "\"root\": 0", "\"start\": []"), "unknown key \"start\"");
    refused(replaced(kSmall, "\"collective\": \"broadcast\", \"root\": 0",
                     "\"collective\": \"custom\", \"start\": [[null], [null]], "
                     "\"end\": [[null], [{\"block\": 0, \"from\": 2}]]"),
            "contract.end[1][0].from");
    refused(replaced(kSmall, "\"collective\": \"broadcast\", \"root\": 0",
                     "\"collective\": \"custom\", \"start\": [[null]], \"end\": [[null], [null]]"),
            "contract.start: expected 2 rows");
}

TEST_CASE("hostile sizes are refused before they cost anything") {
    refused(replaced(kSmall, "\"ranks\": 2", "\"ranks\": 4097"), "ranks");
    refused(replaced(kSmall, "\"even\": 1", "\"even\": 1000001"), "even");
    refused(replaced(kSmall, "{\"even\": 1}", "{\"even\": 1000000}, {\"even\": 1000000}"),
            "partition");
    refused(replaced(kSmall, "{\"even\": 1}", "{\"even\": 10000}, {\"even\": 101}"),
            "more than 1000000 blocks");
    refused(replaced(replaced(kSmall, "\"even\": 1", "\"even\": 1000000"), "\"ranks\": 2",
                     "\"ranks\": 11"),
            "11 ranks x 1000000 blocks");
    // A short text cannot name so many blocks.
    refused(replaced(kSmall, "\"even\": 1", "\"even\": 1000000"), "text of this length");
    refused(replaced(replaced(kSmall, "\"even\": 1", "\"even\": 1000"), "\"programs\"",
                     "\"token\": {\"values\": 4096}, \"programs\""),
            "4096 values x 2000");
    refused(std::string(100'000, '['), "deeper than 8");
    std::string nested;
    for (int i = 0; i < 100'000; ++i)
        nested += "{\"a\":";
    refused(nested, "deeper than 8");
}

TEST_CASE("a text that is not JSON is refused") {
    for (const char *text : {"", "null", "[]", "3", "{", "{\"format\"", "\"\\ud800\"", "\xff\xfe"})
        refused(text, "schedule JSON: document");
    // Every prefix of a document is incomplete.
    for (std::size_t size = 0; size < kSmall.size(); size += 7)
        CHECK(reason(kSmall.substr(0, size)) != "accepted");
}

TEST_CASE("damaged documents are refused or well formed, never a crash") {
    std::mt19937 random(11);
    const std::vector<std::string> documents = {kSmall, to_json(chosen_root()), to_json(ring(3)),
                                                to_json(crossed()), to_json(alltoall(2, 2))};
    const std::string alphabet = "0123456789-.,:[]{}\"eatn \\";
    int accepted = 0;
    for (int round = 0; round < 4000; ++round) {
        std::string text = documents[random() % documents.size()];
        for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
            const std::size_t place = random() % text.size();
            switch (random() % 3) {
            case 0: text[place] = alphabet[random() % alphabet.size()]; break;
            case 1: text.erase(place, 1 + random() % 4); break;
            case 2: text.insert(place, text.substr(random() % text.size(), random() % 8)); break;
            }
        }
        try {
            verify(from_json(text));
            ++accepted;
        } catch (const Error &error) {
            CHECK(error.status() == stretto::Status::argument);
        }
    }
    CHECK(accepted > 0);
    CHECK(accepted < 4000);
}
