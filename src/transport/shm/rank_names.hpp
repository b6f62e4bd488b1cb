// SPDX-License-Identifier: BSD-3-Clause
// The name of a rank of a communicator in messages.
#pragma once

#include <string>
#include <vector>

namespace stretto::transport {

// Users know ranks by their numbers in the job, which their launcher assigned.  If a communicator
// numbers its ranks differently, messages give both numbers.
class RankNames {
public:
    RankNames() = default; // its ranks are numbered as the job's
    // `in_job`: ranks in the job, by rank of the communicator.
    explicit RankNames(std::vector<int> in_job);

    // "rank 3", or "rank 3 of the job (rank 0 of this communicator)".
    std::string of(int rank) const;
    // "ranks 3, 5"; "ranks 3, 2 of the job (ranks 0, 1 of this communicator)"; "ranks 0, 1, ...,
    // and 48 more".
    std::string of(const std::vector<int> &ranks) const;
    int in_job(int rank) const {
        return in_job_.empty() ? rank : in_job_[static_cast<std::size_t>(rank)];
    }

private:
    std::vector<int> in_job_; // empty: the same
};

} // namespace stretto::transport
