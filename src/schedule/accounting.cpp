// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/accounting.hpp"

#include <algorithm>

#include "base/number_map.hpp"
#include "schedule/access.hpp"
#include "schedule/dataflow.hpp"

namespace stretto::schedule {

namespace {

// The sizes of blocks in bytes.  Empty blocks cost nothing.
using Sizes = std::vector<std::size_t>;

struct Extent {
    std::int64_t blocks = 0;
    std::size_t bytes = 0;
};

Extent extent(const std::vector<Block> &blocks, const Sizes &sizes) {
    Extent sum;
    for (const Block block : blocks) {
        const std::size_t bytes = sizes[static_cast<std::size_t>(block)];
        sum.blocks += bytes > 0 ? 1 : 0;
        sum.bytes += bytes;
    }
    return sum;
}

// All fields of Cost, so that no sum or maximum omits one.
template<class Fold>
void fold(Cost &into, const Cost &cost, Fold &&apply) {
    apply(into.sends, cost.sends);
    apply(into.recvs, cost.recvs);
    apply(into.blocks_sent, cost.blocks_sent);
    apply(into.blocks_received, cost.blocks_received);
    apply(into.reductions, cost.reductions);
    apply(into.copies, cost.copies);
    apply(into.scratch_blocks, cost.scratch_blocks);
    apply(into.bytes_sent, cost.bytes_sent);
    apply(into.bytes_received, cost.bytes_received);
    apply(into.bytes_reduced, cost.bytes_reduced);
    apply(into.scratch_bytes, cost.scratch_bytes);
}

void count_op(const Op &op, const Sizes &sizes, bool sends_empty, Cost &cost) {
    const auto [blocks, bytes] = extent(op.blocks, sizes);
    const std::int64_t messages = bytes > 0 || sends_empty ? 1 : 0;
    switch (op.kind) {
    case OpKind::send:
        cost.sends += messages;
        cost.blocks_sent += blocks;
        cost.bytes_sent += bytes;
        break;
    case OpKind::recv:
        cost.recvs += messages;
        cost.blocks_received += blocks;
        cost.bytes_received += bytes;
        if (op.from != kNoSlot) {
            cost.reductions += blocks;
            cost.bytes_reduced += bytes;
        }
        break;
    case OpKind::reduce: {
        const std::size_t passes = op.sources.size() - 1;
        cost.reductions += blocks * static_cast<std::int64_t>(passes);
        cost.bytes_reduced += bytes * passes;
        break;
    }
    case OpKind::copy: cost.copies += blocks; break;
    }
}

// The most scratch that is live at once, in program order.  A value is live from the op that
// writes it to the last op that reads it; a block updated in place stays live.
//
//   op 0  recv   s1[0]                 live s1[0]            1
//   op 1  reduce work[0] s1[0]         its last reader       1
//   op 2  recv   s1[0]                 a new value           1
//   op 3  recv   s2[0] = s1[0] + in    both                  2
class Scratch {
public:
    explicit Scratch(const Sizes &sizes) : sizes_(sizes) {}

    void count(const std::vector<Op> &path, Cost &cost) {
        std::vector<std::vector<std::uint64_t>> opens(path.size()), closes(path.size());
        struct Life {
            std::size_t first, last;
        };
        NumberMap<Life> lives;
        const auto end = [&](std::uint64_t cell, Life life) {
            opens[life.first].push_back(cell);
            closes[life.last].push_back(cell);
        };
        for (std::size_t i = 0; i < path.size(); ++i)
            each_access(path[i], [&](const Access &access) {
                if (access.slot == kWork)
                    return;
                const std::uint64_t cell = cell_key(access.slot, access.block);
                const auto [life, fresh] = lives.try_emplace(cell, Life{i, i});
                if (!fresh && access.writes && !access.reads && life.last < i) {
                    end(cell, life);
                    life.first = i;
                }
                life.last = i;
            });
        for (const auto &[cell, life] : lives.entries())
            end(cell, life);

        Extent live;
        for (std::size_t i = 0; i < path.size(); ++i) {
            for (const std::uint64_t cell : opens[i])
                add(live, cell, 1);
            cost.scratch_blocks = std::max(cost.scratch_blocks, live.blocks);
            cost.scratch_bytes = std::max(cost.scratch_bytes, live.bytes);
            for (const std::uint64_t cell : closes[i])
                add(live, cell, -1);
        }
    }

private:
    void add(Extent &live, std::uint64_t cell, int sign) const {
        const std::size_t bytes = sizes_[cell & 0xffffffffU];
        live.blocks += bytes > 0 ? sign : 0;
        live.bytes = sign > 0 ? live.bytes + bytes : live.bytes - bytes;
    }

    const Sizes &sizes_;
};

struct Steps : Dataflow::Observer {
    Steps(const Sizes &block_sizes, bool empty_too) : sizes(block_sizes), sends_empty(empty_too) {}
    bool travels(const Op &send) const override {
        return sends_empty || extent(send.blocks, sizes).bytes > 0;
    }
    const Sizes &sizes;
    bool sends_empty;
};

Accounting tally(const Schedule &schedule, const Sizes &sizes, std::int32_t token_value) {
    const Dataflow flow(schedule, token_value);
    // Any message may be the one that carries the token.
    const bool sends_empty = schedule.token && schedule.token->arbiter >= 0;
    Steps steps(sizes, sends_empty);
    Accounting result;
    result.steps = flow.play(steps);
    for (const std::vector<Op> &path : flow.paths()) {
        Cost cost;
        for (const Op &op : path)
            count_op(op, sizes, sends_empty, cost);
        Scratch(sizes).count(path, cost);
        fold(result.total, cost, [](auto &sum, auto value) { sum += value; });
        fold(result.most, cost, [](auto &most, auto value) { most = std::max(most, value); });
        result.positions.push_back(cost);
    }
    return result;
}

} // namespace

Accounting account(const Schedule &schedule, std::size_t count, std::size_t element,
                   std::int32_t token_value) {
    const std::vector<std::size_t> bounds = schedule.partition.bounds(count);
    Sizes sizes(bounds.size() - 1);
    for (std::size_t b = 0; b < sizes.size(); ++b)
        sizes[b] = (bounds[b + 1] - bounds[b]) * element;
    return tally(schedule, sizes, token_value);
}

Accounting account(const Schedule &schedule, std::int32_t token_value) {
    return tally(schedule, Sizes(static_cast<std::size_t>(schedule.blocks()), 1), token_value);
}

} // namespace stretto::schedule
