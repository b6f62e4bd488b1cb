// SPDX-License-Identifier: BSD-3-Clause
// The messages by which a rank joins its host: its record, and the answers of the node leader.  In
// a job on several hosts the leader forwards the record to rank 0.
//
// Any process of the user can connect to the socket, so a rank checks a message before it believes
// anything in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "bootstrap/cores.hpp"
#include "transport/remote/endpoint.hpp"

namespace stretto::bootstrap {

// Why a rank cannot use a transport, and what to do about it.
struct Lack {
    std::string transport, why;
    friend bool operator==(const Lack &, const Lack &) = default;
};
inline constexpr std::size_t kMostWhyBytes = 240; // of one

// A rank's greeting.
struct RankRecord {
    std::int32_t rank = 0, size = 0;
    CoreSet cores; // that the rank may use

    // What other hosts need to know; empty in a job on one host.
    std::uint32_t cores_here = 0;   // what the cores of its host's ranks so far are worth, together
    std::uint64_t kernel = 0;       // kernel_id() of its host
    std::uint64_t launch = 0;       // a hash of Identity's; 0: there is none
    transport::Endpoints endpoints; // where the rank is reached, by each transport that it can use
    std::vector<Lack> lacks;        // of transports that it cannot
};

std::vector<std::byte> write(const RankRecord &record);
// Nothing, if the bytes are no record of this version, or no rank can be like that.
std::optional<RankRecord> parse_rank_record(std::span<const std::byte> bytes);
// Of what write() makes.
inline constexpr std::size_t kMostRankRecordBytes =
    40 + sizeof(CoreSet) + transport::kMostEndpointsBytes +
    transport::kMostTransports * (2 + transport::kMostNameBytes + kMostWhyBytes);

// From the leader to a member: ok with kWelcome when it has admitted the member; at the end a
// failure, or ok with the leader's rank and the descriptors that it hands out.  From a member to
// the leader: why the member cannot join.
struct Answer {
    Status status = Status::ok;
    std::string message;
};

inline constexpr std::string_view kWelcome = "welcome";
inline constexpr std::size_t kMostMessageBytes = 1024;
inline constexpr std::size_t kAnswerBytes = 8 + kMostMessageBytes;

// A message that is too long is cut.
std::array<std::byte, kAnswerBytes> write(Status status, std::string_view message);
std::optional<Answer> parse_answer(std::span<const std::byte> bytes);

} // namespace stretto::bootstrap
