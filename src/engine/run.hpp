// SPDX-License-Identifier: BSD-3-Clause
// One call in flight: the call, and the tile of it that is being played (tiling.hpp); most calls
// have but one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/inline_vector.hpp"
#include "engine/plan.hpp"
#include "reduce/kernels.hpp"
#include "reduce/operation.hpp"

namespace stretto::engine {

// The description of a call that a rank publishes for the other ranks.
struct CallDescriptor {
    std::uint64_t packed = 0; // by the communicator: collective, dtype, op, root
    std::uint64_t count = 0;
    std::uint16_t algorithm = 0; // algorithm_code(); 0: not given
    transport::Letters parameters{};
};

// A short form of an algorithm's name with its parameters: 10 bits of the name, 6 of the rest. Only
// for messages, as different names may have the same code.
std::uint16_t algorithm_code(std::string_view algorithm);
constexpr bool same_name(std::uint16_t a, std::uint16_t b) {
    return (a ^ b) < 1 << 6;
}

// The parameters in an algorithm's name, "segments=4" of "segmented_ring(segments=4)", shortened if
// there is no room; and their text.
transport::Letters parameters_in(std::string_view algorithm);
std::string text_of(const transport::Letters &parameters);

// In an entry the code lies in the high bits of the count.
inline constexpr int kCodeShift = 48;

// Work of a call apart from the passes of a built-in reduction: a user-defined operation, and what
// is done to elements before and after the reduction.
struct PrePost {
    const reduce::Operation *operation = nullptr; // reduces, where Call::reduce is null
    Dtype dtype = Dtype::i8;
    // Maps elements from byte `first` of the vector on: those of the contribution on the way to
    // this rank's memory, those of the result when no rank stores into it any more.
    struct Mapped {
        reduce::Map map = nullptr;
        reduce::Mapping mapping = reduce::Mapping::divide; // what it does
        const void *constant = nullptr;
        std::size_t first = 0, count = 0;
    };
    Mapped pre, post;
    double divisor = 1; // a constant may point to this

    // How an executor maps elements of the result, if `post` maps them.
    reduce::ElementMap map_of_result() const { return {post.mapping, dtype, post.constant}; }
};

// A vector in several pieces of the caller's memory.  A call gathers them before its first step,
// and scatters the result after its last.
struct Batch {
    struct Piece {
        const void *from = nullptr;
        void *to = nullptr;
        std::size_t bytes = 0;
    };
    std::vector<Piece> pieces;
    std::size_t bytes = 0; // of all
};

struct Execution;
class Gate;
class IssuedSteps;
class Leading;

struct Call {
    const Plan *plan = nullptr;
    reduce::Pass reduce = nullptr; // null if no step reduces, or a user-defined operation does
    const void *input = nullptr;   // the address that byte 0 of the vector would have
    void *output = nullptr;
    bool in_place = false;         // input and output are the same memory
    bool one_pass = false;         // Execution::whole gives the same result
    std::uint64_t fingerprint = 0; // equal on all ranks, different for different calls
    // If all of the input (output) is in this rank's heap window: 1 + the offset of vector byte 0
    // in the window, modulo 2^64, since a buffer with a later part of the vector may be at the
    // window's beginning.  Otherwise 0.
    std::uint64_t input_heap = 0, output_heap = 0;
    // The bytes of the vector that the buffers hold; only of calls with an executor.
    struct Part {
        std::size_t first = 0, bytes = 0;
    };
    Part input_part, output_part;
    // Not 0: the output overlaps an input that other ranks still read.  The result, `move_bytes`
    // bytes from byte `move_first` of the vector on, is computed elsewhere and moved to `move_to`
    // at the end.
    std::size_t move_bytes = 0, move_first = 0;
    void *move_to = nullptr;
    const PrePost *pre_post = nullptr;
    const Batch *batch = nullptr;         // in place of input and output, which are the same then
    const Execution *execution = nullptr; // an executor performs the passes; null: this thread
    CallDescriptor descriptor;

    // Work before the first step, or after the last.
    bool has_more_work() const {
        return move_bytes != 0 || pre_post != nullptr || batch != nullptr;
    }
};

// How often a call was made and how long it took.  Reading the clock costs as much as a small call,
// so only every 16th small call is timed.  Waits are always timed, as soon as they are longer than
// reading the clock.
struct TallyCounts {
    std::uint64_t calls = 0;
    std::uint64_t timed_calls = 0, working_ticks = 0; // from entry to exit, without the waiting
    std::uint64_t waiting_ticks = 0;                  // of all calls

    void add(std::optional<std::uint64_t> working, std::uint64_t waiting) {
        ++calls;
        timed_calls += working ? 1u : 0u;
        working_ticks += working.value_or(0);
        waiting_ticks += waiting;
    }
    TallyCounts without(const TallyCounts &some) const {
        return {calls - some.calls, timed_calls - some.timed_calls,
                working_ticks - some.working_ticks, waiting_ticks - some.waiting_ticks};
    }
};
struct Tally : TallyCounts {
    TallyCounts one_pass; // those of them that one process has performed
    static constexpr std::uint64_t kEveryCalls = 16;
    static constexpr std::size_t kLongBytes = 65536; // vectors of this size: every call is timed
};

// The state of one tile on a rank.
struct TileRun {
    const Plan *plan = nullptr;           // of this tile
    std::uintptr_t base[3] = {0, 0, 0};   // of Space::input, output, scratch
    const std::uint64_t *bases = nullptr; // position of every rank's cells at this tile
    std::uint64_t bulk_base = 0;          // and of this rank's bulk
    std::uint32_t next = 0;               // the first step that is not complete
    std::uint32_t ahead = 0;              // complete steps after it
    // Of the step that is ready: the readers' outputs that it stores into, and whether readers read
    // its contribution in place.  What other ranks say may change before it runs.
    int direct_outputs = 0;
    bool reads_in_place = false;
    std::uint32_t cells_in_use = 0;    // cells that others may still read in place
    std::uint32_t settled = 0;         // no rank reads payloads of steps before this one any more
    std::uint32_t tile = 0;            // its number
    std::uint32_t origin = 0;          // steps of earlier tiles, as counted by progress
    std::uint64_t shift = 0;           // bytes between the place in the plan and the tile's own
    InlineVector<const void *, 4> ins; // pointers of one pass
    InlineVector<void *, 4> outs;
    InlineVector<std::uint64_t, 1> done;          // bit set of complete steps after `next`
    InlineVector<std::uint8_t, 8> in_place_cells; // by step: published in place
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

// What becomes of a call that may be one pass over the buffers of all ranks (one_pass.cpp).
enum class OnePass : std::uint8_t {
    no,        // it goes by the steps of its plan
    asked,     // the leader has not answered yet
    under_way, // this rank is the leader and performs it
    done
};

struct Run : TileRun {
    const Call *call = nullptr; // the caller's, or `kept`
    std::uint64_t sequence = 0;
    std::uint64_t signature = 0;  // of this call and all before it
    std::uint32_t tiles_left = 0; // after this one
    bool attached = false;        // others may read this rank's own memory (attaching.cpp)
    // Contributions may go to other hosts straight from the buffer (zero_copy_buffers.cpp).
    bool sends_in_place = false;
    // Of vector byte 0, if others may read the input, or write the output, on the device
    // (device_sharing.cpp): DevicePlaces.  Otherwise 0.
    std::uint64_t input_place = 0, output_place = 0;
    bool steps_share = false; // also in the steps of the plan, not only in one pass
    OnePass one_pass = OnePass::no;
    std::unique_ptr<Leading> leading; // of the leader; null: it has led no call of this run
    Gate *gate = nullptr;             // closed, so the call waits; null: there is none any more
    std::uint64_t started = 0, waited = 0; // ticks; started 0: not timed
    InlineVector<std::uint32_t, 1> left;   // between hosts: cells of Plan::parts not sent yet
    std::vector<std::byte> mapped;         // a contribution, or a result that the CPU maps
    bool maps_there = false;               // the executor maps the result
    std::vector<std::byte> aside;          // results to be moved at the end
    Call kept; // the call itself, if it outlives its caller, and its bases
    std::vector<std::uint64_t> kept_bases;
    // For a call in several tiles: its beginning, and the tile after this one.  The rank runs steps
    // of that tile while this one waits.
    const std::uint64_t *first_bases = nullptr;
    std::uint64_t first_bulk_base = 0;
    std::unique_ptr<Run> following;

    // Whether it is not known yet if the call goes by steps, or one pass is under way.
    bool undecided() const { return one_pass == OnePass::asked || one_pass == OnePass::under_way; }

    Run();
    Run(Run &&other) noexcept;
    Run &operator=(Run &&other) noexcept;
    ~Run();

    // Grows with every step of a run.
    std::uint64_t moves() const {
        return 3 * std::uint64_t{origin} + next + ahead + settled +
               (tiles_left != 0 ? following->ahead : 0);
    }
};

} // namespace stretto::engine
