// SPDX-License-Identifier: BSD-3-Clause
// Waits that last longer than those before explain: somebody hears of them while the call goes on.
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

// Ranks for which a call waits: that have not come or, if all have, get nothing done.
struct Late {
    std::vector<int> ranks;
    bool all_came = false;
};

struct Alert {
    std::string text;       // all of it in a sentence
    std::string collective; // "allreduce(8192 x float32, sum)"
    std::uint64_t call = 0; // its number for callers
    Late late;
    bool lowest = false; // of the ranks that wait on this host
    std::uint64_t waited_ns = 0, longest_ns = 0;
};

// Only waits that are looked into come here, so it costs other calls nothing.
class StallWatch {
public:
    using Raise = std::function<void(const Alert &)>;

    // Calls of one kind that wait for more than `factor` times what they ever did, and `floor_ns`.
    // Any thread; null: nothing is told.
    void set(Raise raise, double factor = 0, std::uint64_t floor_ns = 0);

    // What to call if this wait is to be told of, and the longest before; each call has one.
    struct Due {
        Raise raise;
        std::uint64_t longest_ns = 0;
    };
    std::optional<Due> due(std::uint64_t sequence, const Said &said, std::uint64_t waited_ns);
    // A wait that is over.
    void learn(const Said &said, std::uint64_t waited_ns);

private:
    using Kind = std::pair<std::uint64_t, std::uint64_t>; // as of Said
    static constexpr std::size_t kMostKinds = 1024;       // all others are one

    Kind kind(const Said &said) const;

    std::mutex mutex_;
    Raise raise_;
    double factor_ = 0;
    std::uint64_t floor_ns_ = 0;
    std::uint64_t untold_ = 0; // the first call that has not been told of
    std::map<Kind, std::uint64_t> longest_;
};

} // namespace stretto::engine
