// SPDX-License-Identifier: BSD-3-Clause
// A communicator that is made of another, before it is joined.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "bootstrap/join.hpp"
#include "comm/communicator.hpp"

namespace stretto::comm {

// Whether STRETTO_ALGORITHM holds for communicators that are made of others only where it can.
inline std::atomic<bool> children_fall_back{false};

// All that a rank needs to join it.
struct Child {
    bootstrap::Identity identity;
    bootstrap::ParentContext origin;
    std::vector<int> ranks;   // of the parent, by rank of the child
    bool same_policy = false; // the parent's forced algorithm holds as well
};

// `ranks` of the parent, in the order of the child's, which meet at `place`: all of them know it,
// and nobody else meets there meanwhile.  `name` is the child's in messages, `call` is what makes
// it.  Of the origin, `watch` is left to the caller.
Child child_of(const Communicator &parent, std::vector<int> ranks, const std::string &name,
               const std::string &place, const std::string &call);

} // namespace stretto::comm
