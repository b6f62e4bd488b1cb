// SPDX-License-Identifier: BSD-3-Clause
#include "engine/leading.hpp"

namespace stretto::engine {

void Leading::make_room(const WholeCall &call, int ranks) {
    const auto all = static_cast<std::size_t>(ranks);
    inputs.resize(all);
    outputs.resize(all);
    buffers_.reserve(2 * all);
    passes_.reserve(call.portions().size());
    std::size_t operands = 0, results = 0;
    for (const Portion &portion : call.portions()) {
        operands += portion.ins.size();
        results += portion.outs.size();
    }
    ins_.reserve(operands); // passes refer to places in these
    outs_.reserve(results);
}

void Leading::list_passes(const WholeCall &call, int ranks) {
    passes_.clear();
    ins_.clear();
    outs_.clear();
    buffers_.clear();
    for (const Portion &portion : call.portions()) {
        const std::size_t in = ins_.size(), out = outs_.size();
        for (const int rank : portion.ins)
            ins_.push_back(inputs[static_cast<std::size_t>(rank)] + portion.from);
        for (const int rank : portion.outs) {
            std::byte *const result = outputs[static_cast<std::size_t>(rank)] + portion.to;
            if (portion.ins.size() != 1 || result != ins_[in])
                outs_.push_back(result);
        }
        if (outs_.size() != out)
            passes_.push_back(
                {std::span(outs_).subspan(out), std::span(ins_).subspan(in), portion.bytes});
    }
    for (int rank = 0; rank < ranks; ++rank) {
        const auto k = static_cast<std::size_t>(rank);
        const WholeCall::Ends &ends = call.ends(rank);
        const void *const in = ends.in ? inputs[k] + *ends.in : nullptr;
        const void *const out = ends.out ? outputs[k] + *ends.out : nullptr;
        if (in != nullptr)
            buffers_.push_back(in);
        if (out != nullptr && out != in)
            buffers_.push_back(out);
    }
}

} // namespace stretto::engine
