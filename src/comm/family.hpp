// SPDX-License-Identifier: BSD-3-Clause
// Communicators made of others.  A child is a job of its own, with a segment of its own: it may
// outlive its parent, and a failure of one is no failure of the other.  Making a child is a call of
// the parent: if a member has no memory for the child, it fails the parent, and the other members
// find that failure while they wait.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "comm/child.hpp"

namespace stretto::comm {

// split() and duplicate() are collectives of the parent.  Ranks of one color form a child, ordered
// by key, then by rank in the parent.  A rank of color kNoColor gets nothing.
inline constexpr int kNoColor = -1;
std::optional<Child> split(Communicator &parent, int color, int key);
Child duplicate(Communicator &parent);

// Only `ranks` call this; the child has them in this order.  Several threads may call it at once,
// for different lists of ranks or with different tags.  Throws Error(argument) if this rank is not
// in the list or a rank is in it twice.
Child group(Communicator &parent, std::span<const int> ranks, int tag);

} // namespace stretto::comm
