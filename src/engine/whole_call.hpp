// SPDX-License-Identifier: BSD-3-Clause
// A call as a process performs it that reaches the buffers of all ranks (one_pass.cpp): portions of
// the vector, each of which is one reduction, or one copy to some ranks.  They follow from the
// contract, whatever the algorithm.
//
//                    portions   operands of   results of
//   allreduce        1          all           all
//   reduce           1          all           root
//   broadcast        1          root          all
//   reduce_scatter   P          all           rank r
//   allgather        P          rank r        all
//   gather           P          rank r        root
//   scatter          P          root          rank r
//   alltoall         P P        rank p        rank q
//
// A copy onto itself, which calls in place and the root of a broadcast have, is nothing to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "reduce/kernels.hpp"
#include "schedule/contract.hpp"
#include "schedule/layout.hpp"

namespace stretto::engine {

// The rank that performs it.
inline constexpr int kLeaderRank = 0;

struct Portion {
    std::uint64_t from, to; // the byte of the vector at which it begins in inputs, and in outputs
    std::uint64_t bytes;    // not 0
    std::vector<int> ins, outs; // ranks; operands in fold order
};

class WholeCall {
public:
    // `bounds`: the bytes at which blocks of the contract begin, and the end of the last one.
    // `averaged`: the type of elements, if results are divided by the number of ranks.
    WholeCall(const schedule::Contract &contract, std::span<const std::uint64_t> bounds,
              std::optional<Dtype> averaged);
    WholeCall(const WholeCall &) = delete;
    WholeCall &operator=(const WholeCall &) = delete;

    // Performed one after another.
    std::span<const Portion> portions() const { return portions_; }
    // What is done to each result; null: nothing.
    const reduce::ElementMap *then() const { return then_ ? &*then_ : nullptr; }
    std::size_t most_buffers() const { return most_buffers_; }     // of a portion
    std::uint64_t bytes_reduced() const { return bytes_reduced_; } // of operands, as in a plan
    // Bytes of the vector that a rank has in its input and output, for the driver to tell where
    // these are; nothing: it has none.
    struct Ends {
        std::optional<std::uint64_t> in, out;
    };
    const Ends &ends(int rank) const { return ends_[static_cast<std::size_t>(rank)]; }
    // Whether no portion overwrites what it, or a later one, reads, if all ranks work in place.
    bool may_be_in_place(schedule::InPlace how) const;

private:
    std::vector<Portion> portions_;
    std::vector<Ends> ends_; // by rank
    const double divisor_;
    std::optional<reduce::ElementMap> then_;
    std::size_t most_buffers_ = 0;
    std::uint64_t bytes_reduced_ = 0;
};

} // namespace stretto::engine
