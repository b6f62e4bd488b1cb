// SPDX-License-Identifier: BSD-3-Clause
// All that a repeated call needs; one look-up finds it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "calls/call_hook.hpp"
#include "calls/request.hpp"
#include "engine/executor.hpp"
#include "engine/plan.hpp"
#include "engine/run.hpp"
#include "reduce/kernels.hpp"

namespace stretto::calls {

struct CallEntry {
    const engine::Plan *plan = nullptr;
    reduce::Pass reduce = nullptr;
    std::uint64_t fingerprint = 0; // that ranks compare
    std::uint64_t packed = 0;      // the call (call_descriptor.hpp)
    engine::Tally tally;
    std::size_t input_first = 0, output_first = 0; // byte of the vector at which the buffer begins
    std::size_t input_bytes = 0, output_bytes = 0; // of the buffers
    InPlace in_place = InPlace::over;
    bool may_be_one_pass = false; // whatever its plan (engine/one_pass.cpp), but for its bits
    std::vector<std::unique_ptr<CallHook>> hooks;    // most entries have none
    std::unique_ptr<const engine::PrePost> pre_post; // null for most entries
    // By the kind of memory of this rank's buffers; null: callers perform the passes.
    std::array<std::unique_ptr<const engine::Execution>, kMemoryKinds> executions;
};

struct CallKey {
    std::uint64_t packed = ~0ull, count = 0;
    std::size_t policy = 0; // number of the policy | number of a user-defined operation << 32
    std::uint32_t shares = 0;
    bool operator==(const CallKey &) const = default;
};

struct CallKeyHash {
    std::size_t operator()(const CallKey &key) const {
        return static_cast<std::size_t>(
            (key.packed ^ (key.count << 7) ^ (key.policy << 24)) * 0x9e3779b97f4a7c15u >> 7);
    }
};

} // namespace stretto::calls
