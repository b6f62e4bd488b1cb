// SPDX-License-Identifier: BSD-3-Clause
// Calls of ranks that share memory, to which one comes late: the rank that is missing when all
// others have come gets the last place of late_last (transport/shm/late_rank_detector.hpp,
// arrival/late_rank_choice.hpp).
//
// Nothing is predicted and no rank decides for others: a word that all see says which rank it is,
// and what calls took, which all see too, whether that pays.
#pragma once

#include <cstddef>

#include "arrival/arrival_calls.hpp"
#include "transport/shm/late_rank_detector.hpp"

namespace stretto::arrival {

class SharedMemoryCalls final : public ArrivalCalls {
public:
    explicit SharedMemoryCalls(const ArrivalParts &parts)
        : ArrivalCalls(parts), detector_(parts.segment, parts.rank) {}

    // Of an algorithm that a caller forces.
    static bool made_for_arrivals(const calls::Chosen &chosen);

    void resume(const calls::Request &request, ArrivalState &state, calls::Chosen &chosen) override;
    Then before(calls::HookedCall &call, ArrivalState &state) override;
    void after(calls::HookedCall &call, ArrivalState &state) override;

private:
    calls::Chosen choice(const calls::Request &request, ArrivalState &state) const;

    transport::LateRankDetector detector_;
    ArrivalState *last_ = nullptr; // the kind of its last turn
    std::size_t plan_bytes_ = 0;   // when the call in progress began
};

} // namespace stretto::arrival
