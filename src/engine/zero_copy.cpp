// SPDX-License-Identifier: BSD-3-Clause
#include "engine/zero_copy.hpp"

#include <algorithm>

namespace stretto::engine {

namespace {

bool publishes_input(const Pass &pass) {
    return pass.publish >= 0 && !pass.result && pass.operands.size() == 1 &&
           pass.operands[0].range.space == Space::input;
}

bool takes(const Pass &pass, Position owner, std::int32_t publish) {
    return std::any_of(pass.operands.begin(), pass.operands.end(), [&](const Operand &operand) {
        return operand.owner == owner && operand.publish == publish;
    });
}

} // namespace

ZeroCopyRules::ZeroCopyRules(const Lowered &lowered, Position position)
    : lowered_(lowered), position_(position), p_(lowered.index(position)),
      followers_(lowered.passes[p_].size()) {
    for (std::size_t later = 0; later < followers_.size(); ++later)
        if (const Pass &pass = lowered.passes[p_][later]; !pass.gone)
            for (const std::int32_t before : pass.after)
                followers_[static_cast<std::size_t>(before)].push_back(
                    static_cast<std::int32_t>(later));
}

// In place, a contribution is overwritten later.  The overwriting pass must not have to wait for a
// reader that itself waits for this position, or two ranks that exchange would wait for each other.
// It need not wait if it writes the result that the only reader has made from the contribution.
ZeroCopy ZeroCopyRules::readable_in_place(std::int32_t index) const {
    const Pass &pass = lowered_.passes[p_][static_cast<std::size_t>(index)];
    if (!publishes_input(pass) || pass.length < kLeastZeroCopyBytes)
        return ZeroCopy::never;
    const Readers &readers = lowered_.publishes[p_][static_cast<std::size_t>(pass.publish)].readers;
    if (readers.size() != 1)
        return ZeroCopy::unless_in_place;
    const Pass &reader = pass_of(readers[0]);
    for (const std::int32_t follower : followers_[static_cast<std::size_t>(index)])
        if (reader.publish < 0 || !takes(lowered_.passes[p_][static_cast<std::size_t>(follower)],
                                         readers[0].position, reader.publish))
            return ZeroCopy::unless_in_place;
    return ZeroCopy::always;
}

// The reader must only copy the cell there, and no pass of its own may still need the old contents.
// In place these are its contribution, which only the publishing pass itself may still be reading.
ZeroCopy ZeroCopyRules::writable(std::int32_t publisher, const Reader &reader) const {
    const std::size_t q = lowered_.index(reader.position);
    const std::vector<Pass> &passes = lowered_.passes[q];
    const Pass &copy = pass_of(reader);
    if (copy.operands.size() != 1 || copy.publish >= 0 || !copy.result ||
        copy.result->space != Space::output || copy.length < kLeastZeroCopyBytes)
        return ZeroCopy::never;
    ZeroCopy write = ZeroCopy::always;
    for (const std::int32_t index : copy.after) {
        const Pass &before = passes[static_cast<std::size_t>(index)];
        if (!publishes_input(before))
            return ZeroCopy::never;
        for (const Reader &other :
             lowered_.publishes[q][static_cast<std::size_t>(before.publish)].readers)
            if (lowered_.seen_from(reader.position, other.position) != position_ ||
                other.pass != publisher)
                write = ZeroCopy::unless_in_place;
    }
    return write;
}

} // namespace stretto::engine
