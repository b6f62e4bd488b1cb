// SPDX-License-Identifier: BSD-3-Clause
#include "engine/synchronize.hpp"

#include <bit>
#include <cstdint>
#include <vector>

namespace stretto::engine {

namespace {

class Synchronization {
public:
    Synchronization(const Lowered &lowered, const Order &order)
        : lowered_(lowered), order_(order), words_((positions(lowered) + 63) / 64),
          known_(lowered.passes.size()) {
        for (std::size_t p = 0; p < known_.size(); ++p)
            known_[p].assign(lowered.passes[p].size(), kUnknown);
    }

    bool complete() {
        for (std::size_t p = 0; p < known_.size(); ++p)
            if (!knows_all(p))
                return false;
        return true;
    }

private:
    using Set = std::uint32_t; // which of entered_
    static constexpr Set kUnknown = ~Set{0};

    static std::size_t positions(const Lowered &lowered) {
        return lowered.symmetry ? static_cast<std::size_t>(lowered.symmetry->size())
                                : lowered.passes.size();
    }
    // The position whose passes are those at this index.
    std::size_t position_of(std::size_t index) const {
        return lowered_.symmetry ? static_cast<std::size_t>(lowered_.representative) : index;
    }

    // Whether a position that has finished its sequence knows that all have entered.
    bool knows_all(std::size_t p) {
        const std::size_t count = positions(lowered_);
        std::vector<std::uint64_t> all(words_, 0);
        std::size_t known = 0;
        const auto add = [&](std::size_t w, std::uint64_t more) {
            known += static_cast<std::size_t>(std::popcount(more & ~all[w]));
            all[w] |= more;
        };
        const std::size_t self = position_of(p);
        add(self / 64, 1ull << (self % 64));
        for (const std::int32_t index : order_.sequence[p]) {
            if (known == count)
                break;
            const auto i = static_cast<std::size_t>(index);
            find(p, i);
            for (std::size_t w = 0; w < words_; ++w)
                add(w, entered_[known_[p][i] * words_ + w]);
        }
        return known == count;
    }

    // Adds to `mine` the positions that must have entered when a pass is complete.  For a pass of
    // another position, `owner`, the set is known as seen from there.
    void join(std::uint64_t *mine, Set set, Position owner) const {
        const std::uint64_t *theirs = entered_.data() + set * words_;
        if (!lowered_.symmetry || owner < 0 || owner == lowered_.representative) {
            for (std::size_t w = 0; w < words_; ++w)
                mine[w] |= theirs[w];
            return;
        }
        for (std::size_t w = 0; w < words_; ++w)
            for (std::uint64_t bits = theirs[w]; bits != 0; bits &= bits - 1) {
                const auto r = static_cast<std::size_t>(lowered_.seen_from(
                    owner, static_cast<Position>(64 * w) + std::countr_zero(bits)));
                mine[r / 64] |= 1ull << (r % 64);
            }
    }

    struct Frame {
        std::size_t p, i;
    };

    // The positions that must have entered before pass i of position p is complete.  Depth first
    // with an explicit stack; the graph has no cycle, since it was played.
    void find(std::size_t p, std::size_t i) {
        if (known_[p][i] != kUnknown)
            return;
        stack_.push_back({p, i});
        while (!stack_.empty()) {
            const Frame frame = stack_.back();
            if (known_[frame.p][frame.i] != kUnknown) { // it was on the stack twice
                stack_.pop_back();
                continue;
            }
            bool ready = true;
            predecessors(frame, [&](std::size_t q, std::size_t j, Position) {
                if (known_[q][j] == kUnknown) {
                    stack_.push_back({q, j});
                    ready = false;
                }
            });
            if (!ready)
                continue;
            stack_.pop_back();
            const auto set = static_cast<Set>(entered_.size() / words_);
            entered_.resize(entered_.size() + words_, 0);
            std::uint64_t *mine = entered_.data() + set * words_;
            const std::size_t self = position_of(frame.p);
            mine[self / 64] |= 1ull << (self % 64);
            predecessors(frame, [&](std::size_t q, std::size_t j, Position owner) {
                join(mine, known_[q][j], owner);
            });
            known_[frame.p][frame.i] = set;
        }
    }

    template<class Visit>
    void predecessors(const Frame &frame, Visit &&visit) const {
        const Pass &pass = lowered_.passes[frame.p][frame.i];
        for (const std::int32_t before : pass.after)
            visit(frame.p, static_cast<std::size_t>(before), Position{-1});
        for (const Operand &operand : pass.operands)
            if (operand.owner >= 0) {
                const std::size_t q = lowered_.index(operand.owner);
                const auto publish = static_cast<std::size_t>(operand.publish);
                visit(q, static_cast<std::size_t>(lowered_.publishes[q][publish].pass),
                      operand.owner);
            }
    }

    const Lowered &lowered_;
    const Order &order_;
    const std::size_t words_;
    std::vector<std::uint64_t> entered_;  // bit sets of positions, of the passes that are known
    std::vector<std::vector<Set>> known_; // by index, pass
    std::vector<Frame> stack_;
};

} // namespace

bool synchronizes(const Lowered &lowered, const Order &order) {
    return Synchronization(lowered, order).complete();
}

} // namespace stretto::engine
