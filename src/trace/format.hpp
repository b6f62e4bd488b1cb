// SPDX-License-Identifier: BSD-3-Clause
// The format of a trace while its rank runs (base/rank_file.hpp).
//
//     | header | names, each ended by a zero | records: a ring, of which the oldest are overwritten
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/rank_file.hpp"

namespace stretto::trace {

inline constexpr std::uint64_t kMagic = 0x3145434152545453; // "STTRACE1"
inline constexpr std::size_t kNameBytes = 65536;            // a name is its offset in them
inline constexpr std::size_t kCommunicators = 128;          // with a line of their own

enum class Kind : std::uint8_t {
    call_begins = 1, // a: collective | algorithm << 16, names; then its number, count, bytes, and
                     // dtype | op << 8 | (1 + root) << 32
    call_ends,       // its number
    step,            // a: bytes; then call << 32 | step, sources | readers << 16 | operands << 32,
                     // and the first four of both, 16 bits each
    wait,            // a: 1 + the rank that this one waits for, 0: any rank; then call << 32 | step
    waits,           // the same, for a long wait that is not over
    sent,            // to another host; a: bytes; then the rank, and all bytes so far
    received,        // from another host
    failure,         // a: its message, a name
    queue_converts,  // to another scheme; a: the new one, a name; then the old one, another name,
                     // and the items that wait
};

// Flags of a step, in Record::flags.
inline constexpr std::uint8_t kStores = 1;    // has a result in this rank's memory
inline constexpr std::uint8_t kPublishes = 2; // has a result that other ranks read
// Flags of a call.
inline constexpr std::uint8_t kNonblocking = 1;
inline constexpr std::uint8_t kSynchronizing = 2; // no rank leaves before all ranks have entered
inline constexpr std::uint8_t kByPairs = 4;       // gatherv, scatterv, alltoallv
inline constexpr std::uint8_t kReduces = 8, kHasData = 16;
// Of a queue of messages: the messages in it wait for receives, else receives wait for messages.
inline constexpr std::uint8_t kUnexpected = 1;

// A record as atomic words: a reader may look at any time.
struct Record {
    std::uint64_t begin = 0, end = 0; // nanoseconds of CLOCK_MONOTONIC
    Kind kind{};
    std::uint8_t flags = 0;
    std::uint16_t communicator = 0;
    std::uint32_t a = 0;
    std::uint64_t first = 0, second = 0, third = 0, fourth = 0;
};
inline constexpr std::size_t kWords = sizeof(Record) / 8;

struct Slot {
    std::atomic<std::uint64_t> stamp; // 1 + index of the record; 0: it is being written
    std::array<std::atomic<std::uint64_t>, kWords> words;
};
static_assert(sizeof(Record) == 56 && sizeof(Slot) == 64);

struct CommunicatorLine {
    std::atomic<std::int32_t> rank, size; // size 0: none
    std::atomic<std::uint32_t> name;
};

struct Header {
    RankFileHeader who;
    std::uint64_t records;                 // how many fit, a power of two
    std::atomic<std::uint64_t> head;       // records so far
    std::atomic<std::uint64_t> name_bytes; // so far
    std::atomic<std::uint32_t> communicators;
    // Nanoseconds to add to this rank's clock to get the clock of the job's first rank, once it is
    // measured.
    std::atomic<std::uint32_t> offset_known;
    std::atomic<std::int64_t> offset_ns;
    std::array<CommunicatorLine, kCommunicators> lines;
};
inline constexpr std::size_t kHeaderBytes = 4096;
static_assert(sizeof(Header) <= kHeaderBytes);

} // namespace stretto::trace
