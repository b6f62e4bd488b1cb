// SPDX-License-Identifier: BSD-3-Clause
// The stall callback: reports waits that are much longer than earlier ones, while the call goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/run.hpp"

namespace stretto::engine {

// The ranks for which a call waits: ranks that have not come or, if all have come, ranks that make
// no progress.
struct Late {
    std::vector<int> ranks;
    bool all_came = false;
};

struct Alert {
    std::string text;       // all of it in a sentence
    std::string collective; // "allreduce(8192 x float32, sum)"
    std::uint64_t call = 0; // its number, as callers count
    Late late;
    bool lowest = false; // this is the lowest rank that waits on this host
    std::uint64_t waited_ns = 0, longest_ns = 0;
};

// Only investigated waits come here, so it costs other calls nothing.
class StallWatch {
public:
    using Raise = std::function<void(const Alert &)>;

    // Reports calls that wait longer than `factor` times the longest wait of earlier similar calls,
    // plus `floor_ns`.  Any thread may call this; null: no reports.
    void set(Raise raise, double factor = 0, std::uint64_t floor_ns = 0);

    // The function to call if this wait is to be reported, and the longest earlier wait.  A call is
    // reported once.
    struct Due {
        Raise raise;
        std::uint64_t longest_ns = 0;
    };
    std::optional<Due> due(std::uint64_t sequence, const CallDescriptor &descriptor,
                           std::uint64_t waited_ns);
    // A wait that is over.
    void learn(const CallDescriptor &descriptor, std::uint64_t waited_ns);

private:
    using Kind = std::pair<std::uint64_t, std::uint64_t>; // as in CallDescriptor
    static constexpr std::size_t kMostKinds = 1024;       // all further kinds count as one

    Kind kind(const CallDescriptor &descriptor) const;

    std::mutex mutex_;
    Raise raise_;
    double factor_ = 0;
    std::uint64_t floor_ns_ = 0;
    std::uint64_t unreported_ = 0; // the first call that has not been reported
    std::map<Kind, std::uint64_t> longest_;
};

} // namespace stretto::engine
