// SPDX-License-Identifier: BSD-3-Clause
// Ranks of a host read one another's private memory in place, by XPMEM: no copy at all, where
// cross-memory attach (peer_memory.hpp) takes one.
//
// As there, only a trial tells.  Before a rank joins, it publishes its memory as a segment.  When
// all ranks of the host have joined, each rank attaches the words of all others (those that
// offer_memory() published), and publishes what it found.  All use the least that any of them
// found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/shm/attachments.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::transport {

// What a rank knows of reading the memory of the others of its host; more is greater.
enum class InPlace : std::uint32_t {
    unknown,
    refused,
    for_a_step, // what it has attached lasts for one step
    kept,       // from call to call
};

// Called by a rank before it joins, if that is wanted.  Returns why it cannot, or "".
std::string offer_in_place(Segment &segment, int rank);
// Called by a rank when all ranks of its host have joined.  If not `wanted`, the rank attaches
// nothing and publishes that it cannot.  Returns why it cannot, if that is this rank's to say.
std::string try_in_place(Segment &segment, int rank, bool wanted);

InPlace in_place_on_host(const Segment &segment);

// Where bytes of another rank's memory can be read in this process, until the end of the step.
// Throws Error(peer) if its process has ended, Error(system) if the kernel refuses, and
// std::bad_alloc.
const std::byte *attach_memory(const Segment &segment, Attachments &attachments, int rank,
                               std::uint64_t address, std::size_t bytes);
// The error if a page of attached memory is there no more.
Error memory_gone(const Segment &segment, int rank);

} // namespace stretto::transport
