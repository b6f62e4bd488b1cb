// SPDX-License-Identifier: BSD-3-Clause
// What the rank that performs a call for all (one_pass.cpp) holds for it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/executor.hpp"

namespace stretto::engine {

// A later call of the same run uses its memory again.
class Leading {
public:
    Completion end;          // of all passes
    std::uint64_t began = 0; // for the trace

    // Room for such a call; after that nothing throws.  Throws std::bad_alloc.
    void make_room(const WholeCall &call, int ranks);
    // Where byte 0 of each rank's vectors would lie.
    std::vector<const std::byte *> inputs;
    std::vector<std::byte *> outputs;

    // The passes of the call over these vectors.
    void list_passes(const WholeCall &call, int ranks);
    std::span<const PassList::Pass> passes() const { return passes_; }
    std::span<const void *const> buffers() const { return buffers_; }

private:
    std::vector<PassList::Pass> passes_;
    std::vector<const void *> ins_, buffers_;
    std::vector<void *> outs_;
};

} // namespace stretto::engine
