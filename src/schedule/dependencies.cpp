// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/dependencies.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_map>

#include "base/status.hpp"
#include "schedule/access.hpp"

namespace stretto::schedule {

namespace {

using Ops = std::vector<std::int32_t>;

// Many ops that read what many have written wait in as many pairs as the product of both.
constexpr std::size_t kMostWaits = 1u << 24;
constexpr std::size_t kLooksPerWait = 1024;

// What has happened to one cell so far.
//
//   op 0  send  block 7         readers 0
//   op 1  recv  block 7 group 1 base 0, writers 1
//   op 2  recv  block 7 group 1 base 0, writers 1 2     (does not wait for op 1)
//   op 3  send  block 7         waits for 1 and 2
struct Cell {
    Ops writers;            // the last op that wrote it, or all so far of the last group
    Ops readers;            // since then
    Ops base;               // what each of the writers waited for here
    std::int32_t group = 0; // of the writers
};

void append(Ops &ops, const Ops &more) {
    ops.insert(ops.end(), more.begin(), more.end());
}

void sort_unique(Ops &ops) {
    std::sort(ops.begin(), ops.end());
    ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
}

class Builder {
public:
    Builder(const std::vector<Op> &ops, Window open) : ops_(ops), open_(open) {}

    std::vector<Ops> build() {
        before_.reserve(ops_.size());
        std::size_t edges = 0;
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            before_.push_back(waits(static_cast<std::int32_t>(i)));
            edges += before_.back().size();
            if (edges > kMostWaits)
                throw Error(Status::argument, "the ops of a position wait for one another in more "
                                              "than " +
                                                  std::to_string(kMostWaits) +
                                                  " pairs; an `after` edge to one of many may do");
        }
        return std::move(before_);
    }

private:
    Ops waits(std::int32_t index) {
        const Op &op = ops_[static_cast<std::size_t>(index)];
        Ops found = op.after;
        each_access(op, [&](const Access &access) {
            Cell &cell = cells_[cell_key(access.slot, access.block)];
            if (access.writes)
                write(cell, index, op.group, found);
            else
                read(cell, index, found);
        });
        if (op.kind == OpKind::recv)
            window(recvs_, open_.recv, index, found);
        if (op.kind == OpKind::send)
            window(sends_, open_.send, index, found);
        sort_unique(found);
        drop_implied(found);
        return found;
    }

    static void read(Cell &cell, std::int32_t index, Ops &found) {
        append(found, cell.writers);
        cell.readers.push_back(index);
    }

    static void write(Cell &cell, std::int32_t index, std::int32_t group, Ops &found) {
        const bool joins = group > 0 && group == cell.group && cell.readers.empty();
        if (!joins) {
            // Readers wait for the writers, so to wait for the readers is enough.
            cell.base = std::move(cell.readers.empty() ? cell.writers : cell.readers);
            cell.writers.clear();
            cell.readers.clear();
            cell.group = group;
        }
        append(found, cell.base);
        cell.writers.push_back(index);
    }

    static void window(Ops &issued, std::int32_t size, std::int32_t index, Ops &found) {
        if (size > 0 && issued.size() >= static_cast<std::size_t>(size))
            found.push_back(issued[issued.size() - static_cast<std::size_t>(size)]);
        issued.push_back(index);
    }

    // Without what another of them waits for directly, as far as it can be found in reasonable
    // time.
    void drop_implied(Ops &found) const {
        if (found.size() < 2)
            return;
        Ops implied;
        std::size_t looks = kLooksPerWait * found.size();
        for (const std::int32_t op : found) {
            const Ops &waits_for = before_[static_cast<std::size_t>(op)];
            if (waits_for.size() > looks)
                break;
            looks -= waits_for.size();
            for (const std::int32_t earlier : waits_for)
                if (std::binary_search(found.begin(), found.end(), earlier))
                    implied.push_back(earlier);
        }
        sort_unique(implied);
        Ops kept;
        std::set_difference(found.begin(), found.end(), implied.begin(), implied.end(),
                            std::back_inserter(kept));
        found = std::move(kept);
    }

    const std::vector<Op> &ops_;
    Window open_;
    std::vector<Ops> before_;
    std::unordered_map<std::uint64_t, Cell> cells_;
    Ops recvs_, sends_;
};

} // namespace

std::vector<Ops> dependencies(const std::vector<Op> &ops, Window open) {
    return Builder(ops, open).build();
}

} // namespace stretto::schedule
