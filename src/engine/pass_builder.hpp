// SPDX-License-Identifier: BSD-3-Clause
// Builds the passes of one position, op by op: decides which ops are fused, and which passes wait
// for which.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/lower.hpp"
#include "engine/ranges.hpp"
#include "engine/slices.hpp"

namespace stretto::engine {

class PassBuilder {
public:
    // `ops` is the path of `program`; passes and publishes are appended to.
    PassBuilder(const std::vector<schedule::Op> &ops, const schedule::Program &program,
                const LowerOptions &options, std::vector<Pass> &passes,
                std::vector<Publish> &publishes);

    // Returns the publish of a send's slice.
    std::int32_t send(std::int32_t op, const Slice &slice);
    // `token` stands for the operand's publish, which the owner of the cell numbers later.
    void recv(std::int32_t op, const Slice &slice, Position peer, std::int32_t token);
    // `local_copy`: copies blocks to the output that end where they began and were never written.
    void local(std::int32_t op, const Slice &slice, bool local_copy = false);
    // Called after the last op.  Returns the bytes of scratch memory that passes still touch.
    std::size_t finish();

private:
    Pass &at(std::int32_t pass) { return passes_[static_cast<std::size_t>(pass)]; }
    PassIndices &of_op(std::int32_t op) { return of_op_[static_cast<std::size_t>(op)]; }
    Ranges &ranges(const Place &place) { return place.scratch ? scratch_ : vector_; }

    std::int32_t add(std::int32_t op, const Slice &slice);
    void depend(std::int32_t pass, std::int32_t op);
    void reads(std::int32_t pass, const Place &place);
    void writes(std::int32_t pass, const Place &place);
    std::int32_t writer_of(const Place &place, bool &unread);
    std::int32_t published(const Place &place);
    std::int32_t publish_of(std::int32_t pass, std::size_t length);
    void forward();
    std::size_t compact();

    const std::vector<schedule::Op> &ops_;
    std::vector<std::int32_t> window_; // by op: the op that has to be complete before it, or -1
    std::vector<Pass> &passes_;
    std::vector<Publish> &publishes_;
    std::vector<PassIndices> of_op_;
    std::vector<PassIndices> readers_;     // of what a pass has written
    std::vector<std::size_t> overwritten_; // by pass: bytes of its result, by later passes
    Ranges vector_, scratch_;
    bool fuse_ = true;
    const bool commutes_;
};

} // namespace stretto::engine
