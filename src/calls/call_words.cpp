// SPDX-License-Identifier: BSD-3-Clause
#include "calls/call_words.hpp"

#include "algorithms/algorithm.hpp"
#include "calls/call_descriptor.hpp"
#include "schedule/contract.hpp"
#include "select/select.hpp"

namespace stretto::calls {

std::string describe(const engine::CallDescriptor &descriptor, const Shares &shares, int rank) {
    if (descriptor.algorithm != 0) {
        const Collective collective = collective_in(descriptor.packed);
        std::string by = "an algorithm from elsewhere";
        for (const algorithms::Algorithm &each : algorithms::all())
            if (each.collective == collective &&
                engine::same_name(descriptor.algorithm, engine::algorithm_code(each.name)))
                by = each.name;
        const std::string parameters = engine::text_of(descriptor.parameters);
        return describe({descriptor.packed, descriptor.count}, shares, rank) + " by " + by +
               (parameters.empty() ? "" : "(" + parameters + ")");
    }
    const auto collective = collective_in(descriptor.packed);
    const auto root = static_cast<std::uint32_t>(descriptor.packed >> kRootShift);
    // A collective without root carries the mark of unequal shares in this field.
    const bool has_shares = root != 0 && !schedule::rooted(collective);
    std::string text((descriptor.packed & kNonblockingFlag) != 0 ? "nonblocking " : "");
    const bool by_pairs = (descriptor.packed & kByPairsFlag) != 0;
    text.append(schedule::name(collective)).append(has_shares || by_pairs ? "v" : "");
    if (collective == Collective::custom)
        return "measuring the network";
    if (collective == Collective::barrier)
        return text;
    if (by_pairs)
        return text + "(" + stretto::words(dtype_in(descriptor.packed)) +
               (schedule::rooted(collective) ? ", root " + std::to_string(root) : "") + ")";
    text += "(" + std::to_string(descriptor.count) + " x " +
            stretto::words(dtype_in(descriptor.packed));
    if (schedule::reduces(collective))
        text += ", " + std::string(stretto::name(op_in(descriptor.packed)));
    if (schedule::rooted(collective))
        text += ", root " + std::to_string(root);
    if (has_shares) {
        const std::string counts = shares.words(root);
        text += counts.empty() ? ", counts that differ from those of rank " + std::to_string(rank)
                               : ", counts " + counts;
    }
    if (const auto mode =
            static_cast<select::Reproducible>(descriptor.packed >> kReproducibleShift & 3);
        mode != select::Reproducible::off)
        text += ", reproducible " + std::string(select::name(mode));
    if ((descriptor.packed & kOfFileFlag) != 0)
        text += ", by a schedule from a file";
    if ((descriptor.packed & kAsRanksArriveFlag) != 0)
        text += ", as ranks arrive";
    if ((descriptor.packed & kRefusedFlag) != 0)
        text += ", refused";
    return text + ")";
}

trace::CallWords trace_words(std::uint64_t what) {
    const auto collective = collective_in(what);
    trace::CallWords words;
    words.collective = schedule::name(collective);
    words.dtype = dtype_in(what);
    words.op = op_in(what);
    words.has_data = collective != Collective::barrier;
    words.nonblocking = (what & kNonblockingFlag) != 0;
    words.by_pairs = (what & kByPairsFlag) != 0;
    words.reduces = words.has_data && !words.by_pairs && schedule::reduces(collective);
    if (schedule::rooted(collective))
        words.root = static_cast<int>(what >> kRootShift);
    return words;
}

} // namespace stretto::calls
