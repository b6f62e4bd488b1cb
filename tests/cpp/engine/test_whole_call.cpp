// SPDX-License-Identifier: BSD-3-Clause
// The portions of calls that one process performs for all ranks give what the contract demands,
// also in place, for all P up to 64.
#include "doctest.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/whole_call.hpp"

using namespace stretto::engine;
using stretto::schedule::Block;
using stretto::schedule::Collective;
using stretto::schedule::Contract;
using stretto::schedule::Holds;
using stretto::schedule::InPlace;
using stretto::schedule::Layout;

namespace {

using Bounds = std::vector<std::uint64_t>;

// Numbers of which a sum shows each operand, exactly once.
std::uint64_t contribution(int rank, std::uint64_t at) {
    std::uint64_t mixed = (static_cast<std::uint64_t>(rank) << 32 | at) + 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

// A rank's vectors, byte by byte.  In place the output is a part of the input's memory, which
// begins `shift` bytes of the vector before.
struct Vectors {
    std::vector<std::uint64_t> input, output;
    bool in_place = false;
    std::uint64_t shift = 0;

    std::uint64_t &result(std::uint64_t at) {
        return in_place ? input.at(at - shift) : output.at(at);
    }
};

struct Ranks {
    Contract contract;
    Bounds bounds;
    std::vector<Vectors> all = {};

    std::uint64_t begin(Block block) const { return bounds[static_cast<std::size_t>(block)]; }
    Vectors &of(int rank) { return all[static_cast<std::size_t>(rank)]; }

    void fill(bool in_place) {
        const Layout where = layout(contract.collective());
        for (int rank = 0; rank < contract.ranks(); ++rank) {
            Vectors &mine = all.emplace_back();
            for (std::uint64_t at = 0; at < bounds.back(); ++at)
                mine.input.push_back(contribution(rank, at));
            mine.output.assign(bounds.back(), 0);
            mine.in_place = in_place;
            if (where.in_place == InPlace::moved && in_place)
                mine.shift = begin(rank);
        }
    }
    void perform(const WholeCall &call) {
        for (const Portion &portion : call.portions()) {
            CHECK(std::ranges::is_sorted(portion.ins));
            for (std::uint64_t i = 0; i < portion.bytes; ++i) {
                std::uint64_t sum = 0;
                for (const int rank : portion.ins)
                    sum += of(rank).input.at(portion.from + i);
                for (const int rank : portion.outs)
                    of(rank).result(portion.to + i) = sum;
            }
        }
    }
    bool right() {
        for (int rank = 0; rank < contract.ranks(); ++rank)
            for (Block block = 0; block < contract.blocks(); ++block) {
                const auto goal = contract.end(rank, block);
                for (std::uint64_t i = begin(block); goal && i < begin(block + 1); ++i) {
                    const std::uint64_t from = begin(goal->block) + i - begin(block);
                    std::uint64_t sum = 0;
                    for (int each = 0; each < contract.ranks(); ++each)
                        if (goal->from ? each == *goal->from
                                       : contract.start(each, goal->block).has_value())
                            sum += contribution(each, from);
                    if (of(rank).result(i) != sum)
                        return false;
                }
            }
        return true;
    }
};

Bounds bounds_of(int blocks, bool equal) {
    Bounds bounds = {0};
    for (int block = 0; block < blocks; ++block)
        bounds.push_back(bounds.back() + (equal ? 2 : static_cast<std::uint64_t>(block % 4)));
    return bounds;
}

constexpr Collective kAll[] = {
    Collective::allreduce, Collective::reduce, Collective::broadcast, Collective::reduce_scatter,
    Collective::allgather, Collective::gather, Collective::scatter,   Collective::alltoall};

} // namespace

TEST_CASE("portions give what the contract demands, in place as well") {
    for (const Collective collective : kAll)
        for (int ranks = 1; ranks <= 64; ++ranks)
            for (const bool equal : {true, false})
                for (const int root : {0, ranks / 2, ranks - 1}) {
                    const bool parts = in_parts(collective);
                    if ((root != 0 && !rooted(collective)) ||
                        (!equal && collective == Collective::alltoall))
                        continue;
                    const Contract contract(collective, ranks, parts ? ranks : 1, root);
                    const Bounds bounds = parts ? bounds_of(ranks, equal) : Bounds{0, 3};
                    const WholeCall call(contract, bounds, std::nullopt);
                    CAPTURE(name(collective));
                    CAPTURE(ranks);
                    CAPTURE(equal);
                    for (const bool in_place : {false, true}) {
                        if (in_place && !call.may_be_in_place(layout(collective).in_place))
                            continue;
                        Ranks job{contract, bounds};
                        job.fill(in_place);
                        job.perform(call);
                        REQUIRE(job.right());
                    }
                }
}

TEST_CASE("calls of which the portions would overwrite what is still read are known") {
    const auto allows = [](Collective collective, const Bounds &bounds) {
        const auto blocks = static_cast<int>(bounds.size()) - 1;
        return WholeCall(Contract(collective, blocks, blocks), bounds, std::nullopt)
            .may_be_in_place(layout(collective).in_place);
    };
    CHECK(!allows(Collective::alltoall, {0, 2, 4}));
    CHECK(!allows(Collective::reduce_scatter, {0, 1, 11, 12}));
    CHECK(allows(Collective::reduce_scatter, {0, 5, 10, 15}));
    CHECK(allows(Collective::reduce_scatter, {0, 0, 5, 10})); // a rank without a part
    CHECK(allows(Collective::allgather, {0, 1, 11, 12}));
}

TEST_CASE("what is listed of a call") {
    const WholeCall sums(Contract(Collective::reduce_scatter, 3, 3), Bounds{0, 4, 4, 9},
                         stretto::Dtype::f32);
    CHECK(sums.portions().size() == 2); // nothing for the rank without a part
    CHECK(sums.most_buffers() == 4);
    CHECK(sums.ends(1).in.has_value());
    CHECK(!sums.ends(1).out);
    CHECK(sums.ends(2).out == 4);
    REQUIRE(sums.then() != nullptr);
    CHECK(*static_cast<const double *>(sums.then()->constant) == 3);
    const WholeCall copies(Contract(Collective::gather, 3, 3, 1), Bounds{0, 4, 8, 12},
                           std::nullopt);
    CHECK(copies.then() == nullptr);
    CHECK(!copies.ends(0).out);
    CHECK(copies.ends(1).out.has_value());
    CHECK(copies.ends(2).in == 8);
}
