// SPDX-License-Identifier: BSD-3-Clause
// SALaR: proved over shapes of hosts, and what the paper says of it counted.
#include "doctest.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/catalog.hpp"
#include "schedule/accounting.hpp"
#include "schedule/verify.hpp"
#include "support/tier.hpp"

using namespace stretto;
using namespace stretto::schedule;
using algorithms::Choice;

namespace {

Choice salar(int chunks, int segments) {
    return algorithms::parse(Collective::allreduce, "salar(chunks=" + std::to_string(chunks) +
                                                        ",segments=" + std::to_string(segments) +
                                                        ")");
}

Schedule made(const char *hosts, int chunks = 4, int segments = 1) {
    const Topology topology = Topology::parse(hosts);
    return algorithms::make(salar(chunks, segments), topology.ranks(), 0, {}, topology);
}

Schedule prove(const Choice &of, const Topology &topology) {
    const algorithms::Problem problem = problem_of(of, topology.ranks(), 0, {}, topology);
    Schedule schedule = algorithms::make(of, topology.ranks(), 0, {}, topology);
    const Verdict verdict = verify(schedule);
    CAPTURE(schedule.name);
    CAPTURE(topology.text());
    REQUIRE(verdict.failure == "");
    CHECK(verdict.consistent);
    // One host with few chunks may be better than declared.
    CHECK(verdict.order_preserving >= of.algorithm->order_preserving(problem));
    CHECK(verdict.canonical >= of.algorithm->canonical(problem));
    return schedule;
}

bool inside(const Schedule &schedule, Position a, Position b) {
    const std::vector<std::int32_t> &host_of = schedule.topology.host_of();
    return host_of[static_cast<std::size_t>(a)] == host_of[static_cast<std::size_t>(b)];
}

// What an op sends or receives, in elements of a vector of `count`.
std::size_t elements(const Schedule &schedule, const Op &op, std::size_t count) {
    const std::vector<std::size_t> bounds = schedule.partition.bounds(count);
    std::size_t sum = 0;
    for (const Block b : op.blocks)
        sum += bounds[static_cast<std::size_t>(b) + 1] - bounds[static_cast<std::size_t>(b)];
    return sum;
}

constexpr const char *kHosts[] = {"2x2",     "4x4",           "8x2",    "3,1,4", "1x1",
                                  "1x7",     "7x1",           "2,1",    "1,2",   "cyclic:4x3",
                                  "2,5,1,3", "map:0,1,0,2,1", "17,3,9", "13,1"};

} // namespace

TEST_CASE("proved for hosts of all kinds, chunks and segments") {
    for (const char *hosts : kHosts)
        for (int chunks = 1; chunks <= 8; ++chunks)
            for (int segments = 1; segments <= 8; ++segments)
                if (::test::full_tier() || (chunks * 8 + segments) % 5 == 0)
                    prove(salar(chunks, segments), Topology::parse(hosts));
    for (const char *hosts : {"16x4", "8x8", "4x16", "2x32", "32x2", "64x1", "1x64", "33,1,30"})
        for (const auto &[chunks, segments] :
             {std::pair(1, 1), std::pair(3, 2), std::pair(8, 8), std::pair(2, 5)})
            if (::test::full_tier() || chunks * segments < 8)
                prove(salar(chunks, segments), Topology::parse(hosts));
}

TEST_CASE("operands stay in order where the ranks of a host are neighbours") {
    CHECK(verify(made("3,1,4")).order_preserving);
    CHECK(!verify(made("cyclic:4x3")).order_preserving);
    CHECK(verify(made("2x2")).canonical);
    CHECK(!verify(made("4x4")).canonical);
}

TEST_CASE("leaders reduce between hosts alone; the others reduce as much as each other") {
    constexpr std::size_t kCount = 4 * 3 * 4 * 5; // hosts, others, chunks, and more
    const Schedule schedule = made("4x4");
    for (Position p = 0; p < schedule.ranks; ++p) {
        std::size_t operands = 0; // that are folded, in elements
        for (const Op &op : schedule.program(p).ops)
            if (op.kind == OpKind::reduce)
                operands += op.sources.size() * elements(schedule, op, kCount);
        CAPTURE(p);
        CHECK(operands == (p % 4 == 0 ? 4 * kCount / 4 : 4 * kCount / 3));
    }
}

TEST_CASE("shares of hosts with other numbers of ranks are even as well") {
    for (const auto &[hosts, segments] :
         {std::pair("3,1,4", 1), std::pair("17,3,9", 1), std::pair("5,2", 3)}) {
        const Schedule schedule = made(hosts, 2, segments);
        std::map<std::int32_t, std::set<std::size_t>> blocks; // by host, of each rank that reduces
        for (Position p = 0; p < schedule.ranks; ++p) {
            std::size_t own = 0;
            bool leads = p == 0 || !inside(schedule, p - 1, p);
            for (const Op &op : schedule.program(p).ops)
                own += op.kind == OpKind::reduce ? op.blocks.size() : 0;
            if (!leads)
                blocks[schedule.topology.host_of()[static_cast<std::size_t>(p)]].insert(own);
        }
        for (const auto &[host, sizes] : blocks) {
            CAPTURE(std::string(hosts));
            CAPTURE(host);
            CHECK(sizes.size() == 1);
        }
    }
}

TEST_CASE("one leader of each host talks to the others, and sends the least that is possible") {
    constexpr std::size_t kCount = 960;
    for (const char *hosts : {"4x3", "2,5,1", "cyclic:5x2"})
        for (const int segments : {1, 3}) {
            const Schedule schedule = made(hosts, 4, segments);
            const auto n = static_cast<std::size_t>(schedule.topology.hosts());
            std::map<std::int32_t, std::set<Position>> leaders;
            std::map<std::int32_t, std::size_t> sent, received, messages;
            for (Position p = 0; p < schedule.ranks; ++p)
                for (const Op &op : schedule.program(p).ops)
                    if (op.peer >= 0 && !inside(schedule, p, op.peer)) {
                        const std::int32_t host =
                            schedule.topology.host_of()[static_cast<std::size_t>(p)];
                        leaders[host].insert(p);
                        const bool sends = op.kind == OpKind::send;
                        (sends ? sent : received)[host] += elements(schedule, op, kCount);
                        messages[host] += sends ? 1 : 0;
                    }
            CAPTURE(std::string(hosts));
            REQUIRE(leaders.size() == n);
            for (const auto &[host, ranks] : leaders) {
                CHECK(ranks.size() == 1);
                CHECK(sent[host] == 2 * (n - 1) * kCount / n);
                CHECK(received[host] == sent[host]);
                CHECK(messages[host] == 2 * (n - 1) * 4 * static_cast<std::size_t>(segments));
            }
        }
}

TEST_CASE("no two leaders begin with the same host: k visits k + 1, k + 2 ...") {
    const Schedule schedule = made("5x2", 2, 2);
    for (Position host = 0; host < 5; ++host) {
        std::vector<Position> visited;
        for (const Op &op : schedule.program(2 * host).ops)
            if (op.kind == OpKind::send && op.peer % 2 == 0 && op.peer != 2 * host)
                visited.push_back(op.peer / 2);
        REQUIRE(visited.size() == 2 * 4 * 4);
        for (std::size_t i = 0; i < visited.size(); ++i)
            CHECK(visited[i] == (host + 1 + static_cast<Position>(i % 4)) % 5);
    }
}

TEST_CASE("a chunk is reduced before the one before it is exchanged") {
    // Of each rank: the chunks in the order of its ops, by stage.
    const Schedule schedule = made("3x3", 4);
    const Block blocks = schedule.blocks() / 4;
    const std::vector<Op> leader = schedule.program(0).ops, other = schedule.program(1).ops;
    const auto first = [&](const std::vector<Op> &ops, Block chunk, const auto &holds) {
        return std::ranges::find_if(ops, [&](const Op &op) {
            return !op.blocks.empty() && op.blocks[0] / blocks == chunk && holds(op);
        });
    };
    for (Block chunk = 0; chunk < 3; ++chunk) {
        const auto given = [](const Op &op) { return op.kind == OpKind::send && op.peer < 3; };
        const auto exchanged = [](const Op &op) { return op.kind == OpKind::send && op.peer >= 3; };
        const auto reduces = [](const Op &op) { return op.kind == OpKind::reduce; };
        const auto taken = [](const Op &op) {
            return op.kind == OpKind::recv && op.peer == 0 && op.into == kWork;
        };
        CHECK(first(leader, chunk + 1, given) < first(leader, chunk, exchanged));
        CHECK(first(other, chunk + 1, reduces) < first(other, chunk, taken));
    }
    // A chunk waits for none before it.
    CHECK(account(schedule).steps == 5);
    CHECK(account(made("3x1")).steps == 2);
    CHECK(account(made("1x3")).steps == 3);
}
