// SPDX-License-Identifier: BSD-3-Clause
// Communicators made of others.  A child is a job of its own, with a segment of its own: it may
// outlive its parent, and what fails in one does not fail in the other.  Its making is a call of
// the parent: a member that has no memory for it ends the parent, which the other members watch.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "comm/child.hpp"

namespace stretto::comm {

// Collectives of the parent: each takes its turn among them.  Ranks of one color are together,
// ordered by key and then by rank in the parent; nothing for a rank of color kNoColor.
inline constexpr int kNoColor = -1;
std::optional<Child> split(Communicator &parent, int color, int key);
Child duplicate(Communicator &parent);

// Only among `ranks`, in this order; several threads may do this at once, for different ranks or
// with different tags.  Throws Error(argument) unless this rank is one of them and no rank is
// there twice.
Child group(Communicator &parent, std::span<const int> ranks, int tag);

} // namespace stretto::comm
