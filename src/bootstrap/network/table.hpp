// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a job on several hosts tell one another while they join: a rank where it is,
// rank 0 where all are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bootstrap/cores.hpp"
#include "transport/remote/endpoint.hpp"

namespace stretto::bootstrap {

// Why a rank cannot use a transport, and what to do about it.
struct Lack {
    std::string transport, why;
    friend bool operator==(const Lack &, const Lack &) = default;
};
inline constexpr std::size_t kMostWhyBytes = 240; // of one

// From each rank, first to the one that speaks for its host.
struct RankRecord {
    std::int32_t rank = 0, size = 0;
    CoreSet cores;                  // that it may use
    std::uint32_t cores_here = 0;   // what the cores of its host's ranks so far are worth, together
    std::uint64_t launch = 0;       // a hash of Identity's; 0: there is none
    transport::Endpoints endpoints; // where the rank is reached, by each transport that it can use
    std::vector<Lack> lacks;        // of transports that it cannot
};

inline constexpr std::uint32_t kMostSockets = 16;

// From rank 0 to all.
struct AddressTable {
    std::uint64_t ring_bytes = 0, slice_bytes = 0, heap_bytes = 0;
    std::uint64_t key = 0;
    std::uint32_t sockets = 1;                   // for data, between two ranks
    bool profile = false;                        // SegmentShape's
    std::uint32_t cores = 0;                     // as many as a single host would need to be as
                                                 // crowded
    std::vector<std::int32_t> host_of;           // by rank
    std::vector<transport::Endpoints> endpoints; // by rank
};

std::vector<std::byte> write(const RankRecord &record);
std::vector<std::byte> write(const AddressTable &table);
// Nothing, if that is none of this version, or no job can be like that.
std::optional<RankRecord> parse_rank_record(std::span<const std::byte> bytes);
std::optional<AddressTable> parse_table(std::span<const std::byte> bytes);

// Of what write() makes.
inline constexpr std::size_t kMostRankRecordBytes =
    32 + sizeof(CoreSet) + transport::kMostEndpointsBytes +
    transport::kMostTransports * (2 + transport::kMostNameBytes + kMostWhyBytes);
constexpr std::size_t most_table_bytes(int ranks) {
    return 64 + (4 + transport::kMostEndpointsBytes) * static_cast<std::size_t>(ranks);
}

} // namespace stretto::bootstrap
