// SPDX-License-Identifier: BSD-3-Clause
// The formulas in the heads of the algorithms' files, counted.
#include "doctest.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/assemble.hpp"
#include "algorithms/tree.hpp"
#include "cases.hpp"
#include "schedule/accounting.hpp"

using namespace stretto;
using namespace stretto::schedule;
using test::Choice;

namespace {

using Count = std::int64_t;

struct Expected {
    Count steps;
    Count messages;      // of all
    Count most_sends;    // of one position
    Count most_blocks;   // sent by one position
    Count scratch = 0;   // blocks of one position
    Count copies = 0;    // blocks, of all
    bool bounds = false; // steps, most_sends and most_blocks are upper bounds
};

// The numbers that formulas are made of.
struct Terms {
    Count P, S, root;
    Count k, c;                           // floor and ceil of log2 P
    Count cube, surplus, folded, triples; // 2^k, P - 2^k; with 3-2 elimination: folded, triples
    Count extra;                          // 1 if there is a surplus
    Count early; // 1 if, in a log-step, the last message holds nothing of the one before

    Terms(Position ranks, Count segments, Position root_)
        : P(ranks), S(segments), root(root_), k(algorithms::log2_floor(ranks)),
          c(algorithms::log2_ceil(ranks)), cube(Count{1} << k), surplus(P - cube),
          folded(std::max<Count>(0, 3 * surplus - P)), triples(surplus - folded),
          extra(surplus > 0 ? 1 : 0), early(surplus > 0 && 2 * surplus <= cube ? 1 : 0) {}
};

// The ones among the binary digits of 1 ... P - 1.
Count digits_below(Count P) {
    Count ones = 0;
    for (Count j = 1; j < P; ++j)
        ones += std::popcount(static_cast<std::uint64_t>(j));
    return ones;
}

using Formula = std::function<Expected(const Terms &)>;

const std::map<std::pair<Collective, std::string>, Formula> &formulas() {
    const auto one_shot = [](const Terms &t) {
        return Expected{1, t.P * (t.P - 1), t.P - 1, t.P - 1, t.P - 1};
    };
    const auto direct = [](const Terms &t) {
        return Expected{2, 2 * t.P * (t.P - 1), 2 * (t.P - 1), 2 * (t.P - 1), t.P - 1};
    };
    const auto half_direct = [](const Terms &t) {
        return Expected{1, t.P * (t.P - 1), t.P - 1, t.P - 1, t.P - 1};
    };
    const auto linear = [](const Terms &t) {
        return Expected{t.P, 2 * (t.P - 1), t.P - 1, t.P - 1};
    };
    const auto binomial = [](const Terms &t) {
        return Expected{t.c + t.k, 2 * (t.P - 1), t.c, t.c};
    };
    const auto doubling = [](const Terms &t) {
        return Expected{t.k + 2 * t.extra, t.cube * t.k + 2 * t.surplus, t.k + t.extra,
                        t.k + t.extra, 1};
    };
    const auto ring = [](const Terms &t) {
        const Count each = 2 * (t.P - 1) * t.S;
        return Expected{2 * (t.P - 1), t.P * each, each, each};
    };
    const auto log_scatter = [](const Terms &t) { return Expected{t.c, t.P * t.c, t.c, t.P - 1}; };
    const auto log_gather = [](const Terms &t) {
        return Expected{t.c - t.early, t.P * t.c, t.c, t.P - 1};
    };
    const auto dissemination = [](const Terms &t) {
        const Count behind = t.extra; // kept, and begun by a copy
        return Expected{t.c, t.P * t.c, t.c, t.c, 1 + behind, t.P * behind};
    };
    const auto reduce_direct = [](const Terms &t) {
        return Expected{2, (t.P + 1) * (t.P - 1), t.P, t.P, t.P - 1};
    };
    const auto alltoall_direct = [](Count steps, const Terms &t) {
        return Expected{steps, t.P * (t.P - 1), t.P - 1, t.P - 1, t.P - 1, t.P * (t.P - 1)};
    };
    using enum Collective;
    static const std::map<std::pair<Collective, std::string>, Formula> table = {
        {{allreduce, "one_shot"}, one_shot},
        {{allreduce, "one_shot_canonical"}, one_shot},
        {{allreduce, "direct"}, direct},
        {{allreduce, "direct_canonical"}, direct},
        {{allreduce, "linear"}, linear},
        {{allreduce, "binomial"}, binomial},
        {{allreduce, "chain"},
         [](const Terms &t) {
             const Count each = (t.P == 2 ? 1 : 2) * t.S;
             return Expected{2 * (t.P - 1), 2 * (t.P - 1) * t.S, each, each};
         }},
        {{allreduce, "recursive_doubling"}, doubling},
        {{allreduce, "ring"}, ring},
        {{allreduce, "segmented_ring"}, ring},
        {{allreduce, "pre_reduced_ring"}, ring}, // and test_arrival.cpp
        {{allreduce, "rabenseifner"},
         [](const Terms &t) {
             return Expected{2 * t.k + 2 * t.extra, t.cube * 2 * t.k + 2 * t.surplus,
                             2 * t.k + t.extra, 2 * (t.cube - 1) + t.extra * t.cube};
         }},
        {{allreduce, "rabenseifner_32"},
         [](const Terms &t) {
             const Count more = t.folded > 0 ? t.cube : t.triples > 0 ? t.cube / 2 : 0;
             return Expected{2 * t.k + 2 * t.extra, t.cube * 2 * t.k + 4 * t.triples + 2 * t.folded,
                             2 * t.k + t.extra, 2 * (t.cube - 1) + more};
         }},

        {{allreduce, "hybrid"},
         [](const Terms &t) { // S: doublings
             const Count steps = 2 * t.k - t.S;
             return Expected{steps, t.P * steps, steps, 2 * ((t.P >> t.S) - 1) + t.S,
                             t.S > 0 ? 1 : 0};
         }},
        {{allreduce, "circulant"},
         [](const Terms &t) {
             return Expected{2 * t.c - t.early, t.P * 2 * t.c, 2 * t.c, 2 * (t.P - 1)};
         }},
        {{allreduce, "bruck"},
         [](const Terms &t) {
             return Expected{2 * t.c - t.early, t.P * 2 * t.c, 2 * t.c,
                             2 * (t.P - 1),     t.P,           2 * t.P * t.P};
         }},
        {{allreduce, "dissemination"}, dissemination},

        {{reduce, "linear"}, [](const Terms &t) { return Expected{t.P - 1, t.P - 1, 1, 1}; }},
        {{reduce, "binomial"}, [](const Terms &t) { return Expected{t.c, t.P - 1, 1, 1}; }},
        {{reduce, "chain"},
         [](const Terms &t) {
             const Count right = t.P - 1 - t.root;
             const bool end = t.root == 0 || right == 0;
             return Expected{end ? t.P - 1 : std::max(t.root + 1, right), (t.P - 1) * t.S, t.S,
                             t.S};
         }},

        {{reduce, "direct"}, reduce_direct},
        {{reduce, "direct_canonical"}, reduce_direct},

        {{broadcast, "linear"},
         [](const Terms &t) { return Expected{1, t.P - 1, t.P - 1, t.P - 1}; }},
        {{broadcast, "binomial"},
         [](const Terms &t) {
             return Expected{t.root == 0 ? t.k : t.c, t.P - 1, t.c, t.c, 0, 0, t.root != 0};
         }},
        {{broadcast, "chain"},
         [](const Terms &t) { return Expected{t.P - 1, (t.P - 1) * t.S, t.S, t.S}; }},

        {{reduce_scatter, "direct"}, half_direct},
        {{reduce_scatter, "direct_canonical"}, half_direct},
        {{reduce_scatter, "ring"},
         [](const Terms &t) { return Expected{t.P - 1, t.P * (t.P - 1), t.P - 1, t.P - 1}; }},
        {{reduce_scatter, "recursive_halving"},
         [](const Terms &t) {
             return Expected{t.k + 2 * t.extra, t.cube * t.k + 2 * t.surplus, t.k + t.extra,
                             t.P - 1 + t.extra};
         }},

        {{reduce_scatter, "circulant"}, log_scatter},
        {{reduce_scatter, "bruck"}, log_scatter},

        {{allgather, "direct"},
         [](const Terms &t) { return Expected{1, t.P * (t.P - 1), t.P - 1, t.P - 1}; }},
        {{allgather, "bruck"}, log_gather},
        {{allgather, "circulant"}, log_gather},
        {{allgather, "ring"},
         [](const Terms &t) { return Expected{t.P - 1, t.P * (t.P - 1), t.P - 1, t.P - 1}; }},

        {{gather, "linear"}, [](const Terms &t) { return Expected{1, t.P - 1, 1, 1}; }},
        {{gather, "binomial"},
         [](const Terms &t) {
             const bool exact = t.root == 0 && t.extra == 0;
             return Expected{
                 t.root == 0 ? t.k : t.c, t.P - 1, 1, exact ? t.P / 2 : t.P - 1, 0, 0, !exact};
         }},
        {{scatter, "linear"},
         [](const Terms &t) { return Expected{1, t.P - 1, t.P - 1, t.P - 1}; }},
        {{scatter, "binomial"},
         [](const Terms &t) {
             return Expected{t.root == 0 ? t.k : t.c, t.P - 1, t.c, t.P - 1, 0, 0, t.root != 0};
         }},
        {{alltoall, "direct"}, [=](const Terms &t) { return alltoall_direct(1, t); }},
        {{alltoall, "pairwise"}, [=](const Terms &t) { return alltoall_direct(t.P - 1, t); }},
        {{alltoall, "bruck"},
         [](const Terms &t) {
             const Count blocks = digits_below(t.P);
             return Expected{t.c - t.early, t.P * t.c,         t.c,
                             blocks,        t.P - 1 + t.P / 2, t.P * (2 * (t.P - 1) + blocks)};
         }},

        {{barrier, "one_shot"}, one_shot},
        {{barrier, "dissemination"}, dissemination},
        {{barrier, "linear"}, linear},
        {{barrier, "binomial"}, binomial},
        {{barrier, "recursive_doubling"}, doubling},
    };
    return table;
}

Terms terms(const Choice &choice, Position ranks, Position root) {
    Count segments = 1;
    for (const algorithms::Parameter &parameter : choice.algorithm->parameters) {
        if (parameter.list)
            continue;
        const auto given = choice.parameters.find(std::string(parameter.name));
        segments = given == choice.parameters.end()
                       ? std::min(parameter.fallback, parameter.most_for(ranks))
                       : given->second.front();
    }
    return {ranks, segments, root};
}

// The bytes that all positions send together, for a vector of m bytes, in units of m where that is
// exact: halves and chunks of a vector add up to the vector however ragged they are.
std::size_t vectors_sent(const Choice &choice, const Terms &t) {
    const std::string_view name = choice.algorithm->name;
    const Collective collective = choice.algorithm->collective;
    if (collective == Collective::gather || collective == Collective::scatter)
        return 0; // single blocks, see below
    if (name == "dissemination")
        return static_cast<std::size_t>(t.P * t.c);
    if (name == "hybrid") // every chunk goes both ways, and is exchanged by all members of a cube
        return static_cast<std::size_t>(2 * (t.P - (Count{1} << t.S)) + t.S * (Count{1} << t.S));
    if (collective == Collective::alltoall && name == "bruck")
        return static_cast<std::size_t>(digits_below(t.P));
    const bool both_ways = choice.algorithm->collective == Collective::allreduce ||
                           choice.algorithm->collective == Collective::barrier;
    if (both_ways && name.starts_with("one_shot"))
        return static_cast<std::size_t>(t.P * (t.P - 1));
    if (name == "recursive_doubling")
        return static_cast<std::size_t>(t.cube * t.k + 2 * t.surplus);
    if (name == "recursive_halving")
        return static_cast<std::size_t>(t.P - 1); // and the unfolded blocks
    return static_cast<std::size_t>((both_ways ? 2 : 1) * (t.P - 1));
}

// And what is sent of single blocks, in elements.
std::size_t elements_of_blocks(const Choice &choice, Position ranks, Position root,
                               const std::vector<std::size_t> &bounds) {
    const std::string_view name = choice.algorithm->name;
    const Collective collective = choice.algorithm->collective;
    const auto size = [&](Position first, Position blocks) {
        return bounds[static_cast<std::size_t>(first + blocks)] -
               bounds[static_cast<std::size_t>(first)];
    };
    std::size_t elements = 0;
    if (name == "recursive_halving") // the unfolded blocks
        for (Position b = 1; b < 2 * (ranks - (Position{1} << algorithms::log2_floor(ranks)));
             b += 2)
            elements += size(b, 1);
    const bool trees = collective == Collective::gather || collective == Collective::scatter;
    if (trees && name == "binomial") // the blocks of every subtree
        for (Position p = 0; p < ranks; ++p)
            for (const algorithms::Edge &edge : algorithms::edges(p, ranks, root))
                if (edge.child == p)
                    elements += size(edge.below.first, edge.below.size);
    if (trees && name == "linear")
        elements = size(0, ranks) - size(root, 1);
    if (collective == Collective::reduce && name.starts_with("direct")) // collected by the root
        elements = size(0, ranks) - size(root, 1);
    if (name == "hierarchical") { // all ranks share a host: what leaders reduce for the others
        const auto given = choice.parameters.find("leaders");
        const Position leaders =
            given == choice.parameters.end()
                ? ranks
                : std::min(ranks, static_cast<Position>(given->second.front()));
        if (collective == Collective::reduce)
            elements = size(0, leaders) - (root < leaders ? size(root, 1) : 0);
        if (collective == Collective::reduce_scatter)
            elements = size(leaders, ranks - leaders);
    }
    if (name == "salar" && ranks > 1) // all ranks share a host: what the leader collects
        elements = bounds.back();
    return elements;
}

// Every case with P > 1.
void each_case(const std::function<void(const Choice &, Position, Position)> &visit) {
    for (const algorithms::Algorithm &algorithm : algorithms::all())
        for (Position ranks = 2; ranks <= 33; ++ranks) {
            if (!algorithm.runs(ranks) || algorithm.name == "generalized")
                continue; // test_generalized.cpp
            for (const Choice &choice : test::choices(algorithm, ranks))
                for (const Position root : test::roots(algorithm, ranks))
                    visit(choice, ranks, root);
        }
}

} // namespace

TEST_CASE("steps, messages, blocks and scratch are as the files say") {
    each_case([](const Choice &choice, Position ranks, Position root) {
        CAPTURE(test::label(choice, ranks, root));
        const std::string name(choice.algorithm->name);
        if (name == "scatter_allgather" || name == "late_rooted" || name == "stragglar" ||
            name == "early_direct" || name == "late_last" || name == "hierarchical" ||
            name == "salar")
            return; // have tests of their own
        const Expected expected =
            formulas().at({choice.algorithm->collective, name})(terms(choice, ranks, root));
        const Accounting counted = account(make(choice, ranks, root));
        CHECK(counted.total.sends == expected.messages);
        CHECK(counted.total.recvs == expected.messages);
        CHECK(counted.most.scratch_blocks == expected.scratch);
        CHECK(counted.total.copies == expected.copies);
        if (expected.bounds) {
            CHECK(counted.steps <= expected.steps);
            CHECK(counted.most.sends <= expected.most_sends);
            CHECK(counted.most.blocks_sent <= expected.most_blocks);
        } else {
            CHECK(counted.steps == expected.steps);
            CHECK(counted.most.sends == expected.most_sends);
            CHECK(counted.most.blocks_sent == expected.most_blocks);
        }
    });
}

TEST_CASE("bytes at ragged counts") {
    each_case([](const Choice &choice, Position ranks, Position root) {
        if (ranks > 17 || (!choice.parameters.empty() && ranks > 3))
            return; // more of the same would only take time
        CAPTURE(test::label(choice, ranks, root));
        const Schedule schedule = make(choice, ranks, root);
        const auto P = static_cast<std::size_t>(ranks);
        const std::size_t vectors = vectors_sent(choice, terms(choice, ranks, root));
        for (std::size_t count : {std::size_t{0}, std::size_t{1}, P - 1, P, P + 1,
                                  std::size_t{1009}, std::size_t{1} << 33 | 3}) {
            count = schedule.partition.fitting(count);
            CAPTURE(count);
            const std::vector<std::size_t> bounds = schedule.partition.bounds(count);
            const std::size_t m = 4 * count;
            const Accounting counted = account(schedule, count, 4);
            CHECK(counted.total.bytes_sent ==
                  vectors * m + 4 * elements_of_blocks(choice, ranks, root, bounds));
            CHECK(counted.total.bytes_received == counted.total.bytes_sent);
            if (count == 0)
                CHECK(counted.total.sends == 0);
        }
    });
}

TEST_CASE("every contribution is reduced once") {
    // P - 1 reductions of a block suffice; one_shot and what doubles pay more for fewer steps.
    each_case([](const Choice &choice, Position ranks, Position root) {
        const std::string_view name = choice.algorithm->name;
        if (name.starts_with("one_shot") || name == "recursive_doubling" || name == "hybrid" ||
            name == "dissemination")
            return;
        CAPTURE(test::label(choice, ranks, root));
        const Schedule schedule = make(choice, ranks, root);
        using enum Collective;
        const Collective collective = choice.algorithm->collective;
        const bool reduces = collective == allreduce || collective == reduce ||
                             collective == reduce_scatter || collective == barrier;
        CHECK(account(schedule).total.reductions ==
              (reduces ? Count{ranks - 1} * schedule.blocks() : 0));
    });
}

TEST_CASE("scatter and allgather: each rank receives every block once") {
    const Choice choice = algorithms::parse(Collective::broadcast, "scatter_allgather");
    for (Position ranks = 2; ranks <= 33; ++ranks)
        for (Position root = 0; root < ranks; ++root) {
            CAPTURE(test::label(choice, ranks, root));
            const Accounting counted = account(make(choice, ranks, root));
            for (Position p = 0; p < ranks; ++p)
                CHECK(counted.positions[static_cast<std::size_t>(p)].blocks_received ==
                      (p == root ? 0 : ranks));
            CHECK(counted.most.blocks_sent <= 2 * (ranks - 1));
            CHECK(counted.steps <= algorithms::log2_ceil(ranks) + ranks - 1);
        }
}

TEST_CASE("at two ranks the ring has the traffic of direct") {
    const auto cost = [](const char *name) {
        return account(make(algorithms::parse(Collective::allreduce, name), 2), 1009, 8);
    };
    const Accounting ring = cost("ring"), direct = cost("direct");
    CHECK(ring.steps == direct.steps);
    for (std::size_t p = 0; p < 2; ++p) {
        CHECK(ring.positions[p].sends == direct.positions[p].sends);
        CHECK(ring.positions[p].bytes_sent == direct.positions[p].bytes_sent);
        CHECK(ring.positions[p].bytes_reduced == direct.positions[p].bytes_reduced);
    }
}
