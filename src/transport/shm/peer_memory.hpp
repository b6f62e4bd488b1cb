// SPDX-License-Identifier: BSD-3-Clause
// Cross-memory attach: a rank copies from the private memory of another rank of its host, by a
// system call (process_vm_readv).  That is one copy, where a cell takes two.
//
// The kernel allows it between processes of one user, unless a container or a security module
// forbids it.  Only a trial tells.  So before a rank joins, it publishes the address and the value
// of a word in its own memory.  When all ranks of the host have joined, each rank reads the words
// of all others, and publishes whether it could.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/shm/segment.hpp"

namespace stretto::transport {

// What a rank knows of reading the memory of the others of its host.
enum class Attach : std::uint32_t { unknown, works, refused };

// Called by a rank before it joins.
void offer_memory(Segment &segment, int rank);
// Called by a rank when all ranks of its host have joined.  If not `wanted`, the rank reads nothing
// and publishes that it cannot.
void try_memory(Segment &segment, int rank, bool wanted);

// Works if every rank of this host can read the memory of every other; refused if one cannot.
Attach attach_on_host(const Segment &segment);

// Copies bytes of another rank's memory.  Throws Error(peer) if its process has ended, and
// Error(system) if the kernel refuses.
void read_memory(const Segment &segment, int rank, std::uint64_t address, void *into,
                 std::size_t bytes);

} // namespace stretto::transport
