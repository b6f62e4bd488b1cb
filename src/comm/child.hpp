// SPDX-License-Identifier: BSD-3-Clause
// A communicator that is made of another, before it is joined.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "bootstrap/join.hpp"
#include "comm/communicator.hpp"

namespace stretto::comm {

// For communicators that are made of others: whether the library chooses where the algorithm of
// STRETTO_ALGORITHM cannot run (else the call is an error).
inline std::atomic<bool> children_fall_back{false};

// All that a rank needs to join it.
struct Child {
    bootstrap::Identity identity;
    bootstrap::ParentContext origin;
    std::vector<int> ranks;   // of the parent, by rank of the child
    bool same_policy = false; // the parent's forced algorithm holds as well
};

// A child of these ranks of the parent, in the order of the child's ranks.  They meet by the name
// `place`: all of them know it, and no other ranks use it at that time.  `name` names the child in
// messages, `call` is the function that makes it.  The caller sets the origin's `watch`.
Child child_of(const Communicator &parent, std::vector<int> ranks, const std::string &name,
               const std::string &place, const std::string &call);

} // namespace stretto::comm
