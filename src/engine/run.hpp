// SPDX-License-Identifier: BSD-3-Clause
// One call in flight: the call, and the tile of it that is being played (tiling.hpp); most calls
// have but one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/inline_vector.hpp"
#include "engine/plan.hpp"
#include "reduce/kernels.hpp"
#include "reduce/operation.hpp"

namespace stretto::engine {

// What a rank says of its call to the others.
struct Said {
    std::uint64_t what = 0; // packed by the communicator: collective, dtype, op, root
    std::uint64_t count = 0;
    std::uint16_t by = 0; // algorithm_code(); 0: not told
    transport::Letters parameters{};
    std::uint64_t unlike = 0; // not 0: what another rank said in its place, for an error to compare
};

// A short form of an algorithm's name with its parameters: 10 bits of the name, 6 of the rest. Only
// for messages: other names may have the same.
std::uint16_t algorithm_code(std::string_view algorithm);
constexpr bool same_name(std::uint16_t a, std::uint16_t b) {
    return (a ^ b) < 1 << 6;
}

// The parameters in an algorithm's name, "segments=4" of "segmented_ring(segments=4)", shortened
// where there is no room; and as text.
transport::Letters parameters_in(std::string_view algorithm);
std::string text_of(const transport::Letters &parameters);

// In an entry the code lies in the high bits of the count.
inline constexpr int kCodeShift = 48;

// What a call does beside the passes of a built-in reduction.
struct Extra {
    const reduce::Operation *operation = nullptr; // reduces, where Call::reduce is null
    Dtype dtype = Dtype::i8;
    // Elements from byte `first` of the vector on, mapped: of the contribution, on the way to
    // memory of our own; of the result, when nobody stores into it any more.
    struct Mapped {
        reduce::Map map = nullptr;
        const void *constant = nullptr;
        std::size_t first = 0, count = 0;
    };
    Mapped before, after;
    double divisor = 1; // what a constant may point to
};

struct Execution;
class IssuedSteps;

struct Call {
    const Plan *plan = nullptr;
    reduce::Pass reduce = nullptr; // null if no step reduces, or a user-defined operation does
    const void *input = nullptr;   // where byte 0 of the vector would lie
    void *output = nullptr;
    bool in_place = false;         // input and output are the same memory
    bool overlaps = false;         // later calls may begin before this one is complete: on any rank
    std::uint64_t fingerprint = 0; // equal on all ranks, different for different calls
    // 1 + offset of vector byte 0 in our heap window, modulo 2^64 (a buffer that holds a later part
    // of the vector may begin the window), if all of the input (output) lies there; else 0.
    std::uint64_t input_heap = 0, output_heap = 0;
    // Not 0: the output overlaps an input that others still read.  The result, `move_bytes` from
    // byte `move_first` of the vector on, is made elsewhere and moved to `move_to` at the end.
    std::size_t move_bytes = 0, move_first = 0;
    void *move_to = nullptr;
    const Extra *extra = nullptr;
    const Execution *elsewhere = nullptr; // an executor performs the passes; null: this thread
    Said said;
};

// How often a call was made and how long it took.  Reading the clock costs as much as a small call
// itself, so of those only every 16th is timed; waits are, always, as soon as they are longer than
// a look at the clock.
struct Tally {
    std::uint64_t calls = 0;
    std::uint64_t timed_calls = 0, working_ticks = 0; // from entry to exit, less the waiting
    std::uint64_t waiting_ticks = 0;                  // of all calls
    static constexpr std::uint64_t kEveryCalls = 16;
    static constexpr std::size_t kLongBytes = 65536; // bytes of vectors whose every call is timed
};

// What a rank has done of one tile.
struct TileRun {
    const Plan *plan = nullptr;           // of this tile
    std::uintptr_t base[3] = {0, 0, 0};   // of Space::input, output, scratch
    const std::uint64_t *bases = nullptr; // position of every rank's cells at this tile
    std::uint64_t bulk_base = 0;          // and of our bulk
    std::uint32_t next = 0;               // the first step that is not complete
    std::uint32_t ahead = 0;              // complete steps after it
    int pushed = 0;                       // outputs that the step found ready stores into
    std::uint32_t lent = 0;               // cells that others may still read in our own memory
    std::uint32_t settled = 0;            // steps before this one have nothing lent any more
    std::uint32_t tile = 0;               // its number
    std::uint32_t origin = 0;             // steps of earlier tiles, as progress counts them
    std::uint64_t shift = 0;              // bytes by which it lies further on than its plan says
    InlineVector<const void *, 4> ins;    // pointers of one pass
    InlineVector<void *, 4> outs;
    InlineVector<std::uint64_t, 1> done; // bit set of complete steps after `next`
    InlineVector<std::uint8_t, 8> lends; // by step: published in place
    std::vector<std::byte> scratch;
    std::vector<std::uint64_t> own_bases; // but of the first tile

    std::unique_ptr<IssuedSteps> issued; // null: no call of this run had an executor

    TileRun();
    TileRun(TileRun &&other) noexcept;
    TileRun &operator=(TileRun &&other) noexcept;
    ~TileRun();

    // Room for each tile of a call.  Throws std::bad_alloc.
    void make_room(const Plan &whole);

    bool is_done(std::uint32_t step) const { return (done[step / 64] >> (step % 64) & 1) != 0; }
};

struct Run : TileRun {
    const Call *call = nullptr; // the caller's, or `kept`
    std::uint64_t sequence = 0;
    std::uint64_t signature = 0;           // of this call and all before it
    std::uint32_t tiles_left = 0;          // after this one
    std::uint64_t started = 0, waited = 0; // ticks; started 0: not timed
    InlineVector<std::uint32_t, 1> left;   // between hosts: cells of Plan::parts not shipped yet
    std::vector<std::byte> mapped;         // contribution
    std::vector<std::byte> aside;          // results to be moved at the end
    Call kept;                             // of calls that outlive their caller, and their bases
    std::vector<std::uint64_t> kept_bases;
    // Of a call in several tiles: where it began, and the tile after this one.  The rank goes on
    // with that while this one waits.
    const std::uint64_t *first_bases = nullptr;
    std::uint64_t first_bulk_base = 0;
    std::unique_ptr<Run> following;

    // Grows with everything that a run gets done.
    std::uint64_t moves() const {
        return 3 * std::uint64_t{origin} + next + ahead + settled +
               (tiles_left != 0 ? following->ahead : 0);
    }
};

} // namespace stretto::engine
