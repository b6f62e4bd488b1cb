// SPDX-License-Identifier: BSD-3-Clause
// The hook of calls that repeat and whose plans are selected by when ranks arrive
// (docs/arrivals.md).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_map>

#include "arrival/arrival_calls.hpp"
#include "arrival/phases.hpp"
#include "arrival/reported_calls.hpp"
#include "arrival/shared_memory_calls.hpp"
#include "arrival/stamped_calls.hpp"
#include "calls/call_hook.hpp"

namespace stretto::arrival {

class ArrivalHooks final : public calls::HookSource {
public:
    // `wanted`: else nothing is selected by arrivals.
    ArrivalHooks(ArrivalParts parts, bool wanted);

    std::unique_ptr<calls::CallHook> hook_for(const calls::Request &request,
                                              calls::Chosen &chosen) override;

    // What the program says of its computation between calls.
    Phases &phases() { return phases_; }

private:
    class Hook;

    bool one_host() const { return parts_.segment.placement().one_host(); }
    bool watches(const calls::Request &request, const calls::Chosen &chosen) const;
    bool made_for_arrivals(const calls::Request &request, const calls::Chosen &chosen) const;
    // How such calls go.
    ArrivalCalls &calls_of(const calls::Request &request);
    // Null: there are too many kinds.
    ArrivalState *state_of(const calls::Request &request);

    const ArrivalParts parts_;
    const bool wanted_;
    Phases phases_;
    std::optional<SharedMemoryCalls> shared_memory_; // if all ranks share memory; else
    std::optional<StampedCalls> stamped_;            // these
    std::optional<ReportedCalls> reported_;
    // They outlive entries: ranks forget entries one by one, and must not forget these.
    static constexpr std::size_t kMostKinds = 64;
    std::unordered_map<calls::CallKey, ArrivalState, calls::CallKeyHash> states_;
};

} // namespace stretto::arrival
