// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "schedule/dependencies.hpp"

using namespace stretto::schedule;
using Waits = std::vector<std::vector<std::int32_t>>;

namespace {

Op unordered(Op op, std::int32_t group) {
    op.group = group;
    return op;
}

Op after(Op op, std::vector<std::int32_t> edges) {
    op.after = std::move(edges);
    return op;
}

} // namespace

TEST_CASE("ops wait if they touch the same cell and one writes it") {
    const std::vector<Op> ops = {
        send(1, {0}),                    // 0 reads work[0]
        send(2, {0}),                    // 1 reads work[0]: free
        recv(1, {1}),                    // 2 writes work[1]: free
        recv(1, {0}, 1),                 // 3 writes s1[0]: free
        recv(2, {0}),                    // 4 overwrites what 0 and 1 send
        send(1, {0, 1}),                 // 5 reads what 2 and 4 wrote
        reduce({kWork, 1}, {0}, 2),      // 6 reads work[0], s1[0]
        recv_reduce(1, {0}, Side::left), // 7 updates work[0], which 5 and 6 read
        copy({0}, 2, 1),                 // 8 reads s2[0], overwrites s1[0] that 6 read
    };
    CHECK(dependencies(ops, {}) == Waits{{}, {}, {}, {}, {0, 1}, {2, 4}, {3, 4}, {5, 6}, {6}});
}

TEST_CASE("a three-operand receive does not wait for the send of its operand") {
    const Waits in_place = dependencies({send(1, {0}), recv_reduce(1, {0}, Side::left)}, {});
    CHECK(in_place == Waits{{}, {0}});
    const Waits apart = dependencies({send(1, {0}), recv_reduce(1, {0}, Side::left, kWork, 1)}, {});
    CHECK(apart == Waits{{}, {}});
}

TEST_CASE("receives of an unordered group wait for the same things, not for one another") {
    const Op first = unordered(recv_reduce(1, {0}, Side::right), 1);
    const Op second = unordered(recv_reduce(2, {0}, Side::right), 1);
    const Op other = unordered(recv_reduce(3, {0}, Side::right), 2);
    CHECK(dependencies({send(3, {0}), first, second, send(1, {0})}, {}) ==
          Waits{{}, {0}, {0}, {1, 2}});
    CHECK(dependencies({first, second, other}, {}) == Waits{{}, {}, {0, 1}});
    // A reader between them separates them.
    CHECK(dependencies({first, send(1, {0}), second}, {}) == Waits{{}, {0}, {1}});
}

TEST_CASE("windows count receives and sends over the whole program") {
    const std::vector<Op> ops = {recv(1, {0}), recv(1, {1}), send(1, {2}),
                                 recv(1, {3}), send(1, {4}), recv(1, {5})};
    CHECK(dependencies(ops, {}) == Waits{{}, {}, {}, {}, {}, {}});
    CHECK(dependencies(ops, {1, 0}) == Waits{{}, {0}, {}, {1}, {}, {3}});
    CHECK(dependencies(ops, {2, 1}) == Waits{{}, {}, {}, {0}, {2}, {1}});
}

TEST_CASE("edges, without implied ones") {
    CHECK(dependencies({send(1, {0}), recv(1, {1}), after(recv(2, {2}), {0, 1})}, {}) ==
          Waits{{}, {}, {0, 1}});
    CHECK(dependencies({send(1, {0}), recv(1, {0}), after(send(2, {0}), {0})}, {}) ==
          Waits{{}, {0}, {1}});
}

// The definition itself, closed under transitivity.
TEST_CASE("the order is exactly that of the definition, on random programs") {
    std::mt19937 random(7);
    const auto number = [&](int size) {
        return static_cast<std::int32_t>(random() % unsigned(size));
    };
    for (int round = 0; round < 200; ++round) {
        std::vector<Op> ops;
        for (int i = 0; i < 14; ++i) {
            const Block block = number(3);
            switch (number(5)) {
            case 0: ops.push_back(send(1, {block}, number(2))); break;
            case 1: ops.push_back(recv(1, {block, 3}, number(2))); break;
            case 2: ops.push_back(recv_reduce(1, {block}, Side::left, number(2), number(2))); break;
            case 3: ops.push_back(reduce({0, 1, 2}, {block}, number(3))); break;
            case 4: ops.push_back(copy({block}, number(2), 2)); break;
            }
        }
        const std::size_t size = ops.size();
        const auto touches = [](const Op &op, Slot slot, Block block, bool write) {
            const bool label = std::count(op.blocks.begin(), op.blocks.end(), block) > 0;
            if (write)
                return label && op.into == slot;
            return label &&
                   (op.from == slot || std::count(op.sources.begin(), op.sources.end(), slot) > 0);
        };
        std::vector<std::vector<bool>> wanted(size, std::vector<bool>(size)), found = wanted;
        const Waits before = dependencies(ops, {});
        for (std::size_t i = 0; i < size; ++i) {
            for (std::size_t j = 0; j < i; ++j)
                for (Slot slot = 0; slot < 3; ++slot)
                    for (Block block = 0; block < 4; ++block)
                        if ((touches(ops[i], slot, block, true) &&
                             (touches(ops[j], slot, block, true) ||
                              touches(ops[j], slot, block, false))) ||
                            (touches(ops[i], slot, block, false) &&
                             touches(ops[j], slot, block, true)))
                            wanted[i][j] = true;
            for (const std::int32_t earlier : before[i])
                found[i][static_cast<std::size_t>(earlier)] = true;
            for (std::size_t j = 0; j < i; ++j)
                for (std::size_t k = 0; k < j; ++k) {
                    wanted[i][k] = wanted[i][k] || (wanted[i][j] && wanted[j][k]);
                    found[i][k] = found[i][k] || (found[i][j] && found[j][k]);
                }
        }
        CHECK(wanted == found);
    }
}

TEST_CASE("ops that wait in too many pairs are refused, not counted for ever") {
    // Each of n readers waits for each of n writers of a group.
    constexpr int n = 5000;
    std::vector<Op> ops;
    for (int i = 0; i < n; ++i) {
        Op op = recv_reduce(1, {0}, Side::right);
        op.group = 1;
        ops.push_back(op);
    }
    for (int i = 0; i < n; ++i)
        ops.push_back(send(1, {0}));
    CHECK_THROWS_AS(dependencies(ops, {}), stretto::Error);
}
