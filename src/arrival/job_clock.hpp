// SPDX-License-Identifier: BSD-3-Clause
// A rank's clock and the job's, which the ranks of a job on several hosts compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "arrival/decision_service.hpp"
#include "arrival/history.hpp"

namespace stretto::arrival {

class JobClock {
public:
    // `service` outlives this; null: the job is on one host.  `rank` of the job.
    JobClock(const DecisionService *service, int rank) : service_(service), rank_(rank) {}

    bool compared() const { return service_ != nullptr; }
    // Nanoseconds that make others read this clock as theirs, if known and not shared.  It drifts.
    std::optional<std::int64_t> offset() const {
        if (service_ == nullptr)
            return std::nullopt;
        const auto clocks = service_->clocks();
        const auto rank = static_cast<std::size_t>(rank_);
        if (!clocks || rank >= clocks->of_rank.size())
            return std::nullopt;
        return clocks->of_rank[rank];
    }
    // A time of this rank on the clock of the reference; kUnknown if the clocks were not compared.
    std::int64_t common(std::uint64_t time) const {
        const std::optional<std::int64_t> offset = this->offset();
        return offset ? static_cast<std::int64_t>(time) + *offset : kUnknown;
    }

private:
    const DecisionService *const service_;
    const int rank_;
};

} // namespace stretto::arrival
