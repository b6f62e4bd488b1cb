// SPDX-License-Identifier: BSD-3-Clause
#include "engine/synchronize.hpp"

#include <cstdint>
#include <vector>

namespace stretto::engine {

namespace {

class Synchronization {
public:
    Synchronization(const Lowered &lowered, const Order &order)
        : lowered_(lowered), order_(order), words_((lowered.passes.size() + 63) / 64),
          entered_(lowered.passes.size()), known_(lowered.passes.size()) {
        for (std::size_t p = 0; p < known_.size(); ++p) {
            entered_[p].resize(lowered.passes[p].size() * words_);
            known_[p].resize(lowered.passes[p].size());
        }
    }

    bool complete() {
        for (std::size_t p = 0; p < known_.size(); ++p) {
            std::vector<std::uint64_t> all(words_, 0);
            all[p / 64] |= 1ull << (p % 64);
            for (const std::int32_t index : order_.sequence[p]) {
                const auto i = static_cast<std::size_t>(index);
                find(p, i);
                for (std::size_t w = 0; w < words_; ++w)
                    all[w] |= entered_[p][i * words_ + w];
            }
            for (std::size_t q = 0; q < known_.size(); ++q)
                if ((all[q / 64] >> (q % 64) & 1) == 0)
                    return false;
        }
        return true;
    }

private:
    struct Frame {
        std::size_t p, i;
    };

    // Who must have entered before pass i of position p is complete.  Depth first with a stack of
    // our own; the graph has no cycle, since it was played.
    void find(std::size_t p, std::size_t i) {
        if (known_[p][i])
            return;
        stack_.push_back({p, i});
        while (!stack_.empty()) {
            const Frame frame = stack_.back();
            bool ready = true;
            predecessors(frame, [&](std::size_t q, std::size_t j) {
                if (!known_[q][j]) {
                    stack_.push_back({q, j});
                    ready = false;
                }
            });
            if (!ready)
                continue;
            stack_.pop_back();
            std::uint64_t *mine = entered_[frame.p].data() + frame.i * words_;
            mine[frame.p / 64] |= 1ull << (frame.p % 64);
            predecessors(frame, [&](std::size_t q, std::size_t j) {
                for (std::size_t w = 0; w < words_; ++w)
                    mine[w] |= entered_[q][j * words_ + w];
            });
            known_[frame.p][frame.i] = true;
        }
    }

    template<class Visit>
    void predecessors(const Frame &frame, Visit &&visit) const {
        const Pass &pass = lowered_.passes[frame.p][frame.i];
        for (const std::int32_t before : pass.after)
            visit(frame.p, static_cast<std::size_t>(before));
        for (const Operand &operand : pass.operands)
            if (operand.owner >= 0) {
                const auto q = static_cast<std::size_t>(operand.owner);
                const auto publish = static_cast<std::size_t>(operand.publish);
                visit(q, static_cast<std::size_t>(lowered_.publishes[q][publish].pass));
            }
    }

    const Lowered &lowered_;
    const Order &order_;
    const std::size_t words_;
    std::vector<std::vector<std::uint64_t>> entered_; // by position: a bit set for each pass
    std::vector<std::vector<bool>> known_;
    std::vector<Frame> stack_;
};

} // namespace

bool synchronizes(const Lowered &lowered, const Order &order) {
    return Synchronization(lowered, order).complete();
}

} // namespace stretto::engine
