// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a job on several hosts tell one another while they join: a rank where it is,
// rank 0 where all are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/cores.hpp"
#include "net/address.hpp"

namespace stretto::comm {

// From each rank, first to the one that speaks for its host.
struct Seat {
    std::int32_t rank = 0, size = 0;
    std::uint16_t port = 0;       // at which it listens for other hosts
    CoreSet cores;                // that it may use
    net::Address address;         // filled in by who speaks for the host
    std::uint32_t cores_here = 0; // what the cores of its host's ranks so far are worth, together
    std::uint64_t launch = 0;     // a hash of Identity's; 0: there is none
};

inline constexpr std::uint32_t kMostSockets = 16;

// From rank 0 to all.
struct Table {
    std::uint64_t ring_bytes = 0, slice_bytes = 0, heap_bytes = 0;
    std::uint64_t key = 0;
    std::uint32_t sockets = 1;           // for data, between two ranks
    bool profile = false;                // SegmentShape's
    std::uint32_t cores = 0;             // as many as a single host would need to be as crowded
    std::vector<std::int32_t> host_of;   // by rank
    std::vector<net::Address> addresses; // by rank, with the port at which it listens
};

std::vector<std::byte> write(const Seat &seat);
std::vector<std::byte> write(const Table &table);
// Nothing, if that is none of this version, or no job can be like that.
std::optional<Seat> parse_seat(std::span<const std::byte> bytes);
std::optional<Table> parse_table(std::span<const std::byte> bytes);

inline constexpr std::size_t kMostSeatBytes = 1280;
constexpr std::size_t most_table_bytes(int ranks) {
    return 64 + 24 * static_cast<std::size_t>(ranks);
}

} // namespace stretto::comm
