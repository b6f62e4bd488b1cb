// SPDX-License-Identifier: BSD-3-Clause
// What rank 0 of a job on several hosts tells all ranks while they join: where all ranks are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/remote/endpoint.hpp"

namespace stretto::bootstrap {

inline constexpr std::uint32_t kMostSockets = 16;

// From rank 0 to all.
struct AddressTable {
    std::uint64_t ring_bytes = 0, slice_bytes = 0, heap_bytes = 0;
    std::uint64_t key = 0;
    std::uint32_t sockets = 1;                   // for data, between two ranks
    bool profile = false;                        // SegmentShape's
    std::uint32_t cores = 0;                     // as many as a single host would need to be as
                                                 // crowded
    bool one_machine = false;                    // all hosts are containers of one machine
    std::vector<std::int32_t> host_of;           // by rank
    std::vector<transport::Endpoints> endpoints; // by rank
};

std::vector<std::byte> write(const AddressTable &table);
// Nothing, if the bytes are no table of this version, or no job can be like that.
std::optional<AddressTable> parse_table(std::span<const std::byte> bytes);

// Of what write() makes.
constexpr std::size_t most_table_bytes(int ranks) {
    return 64 + (4 + transport::kMostEndpointsBytes) * static_cast<std::size_t>(ranks);
}

} // namespace stretto::bootstrap
