// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/dependencies.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/inline_vector.hpp"
#include "base/number_map.hpp"
#include "base/status.hpp"
#include "schedule/access.hpp"
#include "schedule/hazards.hpp"

namespace stretto::schedule {

namespace {

using Ops = std::vector<std::int32_t>;
using FewOps = InlineVector<std::int32_t, 2>;

// If many ops read what many ops have written, there is a wait for each pair.
constexpr std::size_t kMostWaits = 1u << 24;
constexpr std::size_t kLooksPerWait = 1024;

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
        const auto wait = [&](std::int32_t earlier) { found.push_back(earlier); };
        each_access(op, [&](const Access &access) {
            Hazards<FewOps> &cell = cells_[cell_key(access.slot, access.block)];
            if (access.writes)
                cell.write(index, op.group, wait);
            else
                cell.read(index, wait);
        });
        if (const std::int32_t earlier = open_.issue(op.kind, index); earlier >= 0)
            found.push_back(earlier);
        sort_unique(found);
        drop_implied(found);
        return found;
    }

    // Drops predecessors that another predecessor waits for directly, as far as they can be found
    // in reasonable time.
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
    OpenOps open_;
    std::vector<Ops> before_;
    NumberMap<Hazards<FewOps>> cells_;
};

} // namespace

std::vector<Ops> dependencies(const std::vector<Op> &ops, Window open) {
    return Builder(ops, open).build();
}

} // namespace stretto::schedule
