// SPDX-License-Identifier: BSD-3-Clause
// A plan: a schedule compiled for one position, a count, an element size and the machine.  It is
// flat and immutable, and its stream offsets are relative to the call, so a repeated call needs no
// generation and no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/lower.hpp"
#include "engine/tiling.hpp"
#include "schedule/schedule.hpp"
#include "transport/shm/cell.hpp"
#include "transport/shm/entry.hpp"

namespace stretto::engine {

struct StepOperand {
    std::uint64_t offset; // in its space; of a cell: in the stream of `rank`, relative to the call
    std::int32_t rank;    // cell: the rank that publishes it
    Space space;
};

// Whether the payload of a cell can be left out if buffers are in the shared heap.  Short payloads
// are always stored: through a cell they are faster.
inline constexpr std::size_t kLeastZeroCopyBytes = 8192;
// The least slice, and the least vector, that a reader copies from a rank's own memory by a system
// call.  Shorter vectors fit the caches, from which two copies are faster.
inline constexpr std::size_t kLeastAttachBytes = 98304;
inline constexpr std::size_t kLeastAttachVectorBytes = std::size_t{2} << 20;
// The least vector of which contributions in a rank's own memory stay attached by XPMEM.  Then they
// are read as those in the shared heap are, in slices from kLeastZeroCopyBytes on.  But the first
// read of a page maps it, which takes about as long as to copy it.
inline constexpr std::size_t kLeastKeptVectorBytes = std::size_t{128} << 10;
enum class ZeroCopy : std::uint8_t { never, unless_in_place, always };

struct Step {
    std::uint64_t result_offset; // in its space
    transport::Extent place;     // in this rank's streams, relative to the call
    std::uint32_t first_operand; // in Plan::operands
    std::uint32_t first_reader;  // in Plan::readers
    std::uint32_t first_before;  // in Plan::before
    std::uint32_t length;        // bytes
    std::uint32_t stored;        // bytes in a stream, possibly one element more
    std::uint16_t operands;
    std::uint16_t readers;
    std::uint16_t predecessors; // own steps that must complete before this one
    Space result_space;
    ZeroCopy zero_copy_read;  // readers may read a contribution in place
    ZeroCopy zero_copy_write; // a result may be stored into its readers' outputs
    bool has_result;
    bool publishes;
    bool local_copy; // input to output; nothing to do in place
};

struct StepReader {
    std::int32_t rank;
    std::uint32_t step;          // the step of that rank that takes the cell
    std::uint64_t result_offset; // offset in that rank's output, for a zero-copy write
    std::uint32_t message;       // 1 + index in Plan::parts; 0: the cell is a message by itself
    std::uint32_t mark; // not 0: between hosts, it reports unasked when it has taken the cell
};

struct PublishedCell {     // in the order of the stream
    transport::Extent end; // relative to the call
    std::uint32_t step;
};

struct PlanOptions {
    std::size_t count = 0;
    std::size_t element = 4;
    std::size_t slice = 65536;
    std::size_t ring_bytes = 1 << 21;
    unsigned cores = 1;
    bool commutes = false; // the operation
    bool output_everywhere = true;
    std::uint64_t content = 0; // hash of a schedule from a file, which both ends must share
    std::size_t tile_work = kTileOpBlocks;
};

// The lists of a plan while it is being made.
struct PlanLists {
    std::vector<Step> steps;
    std::vector<StepOperand> operands;
    std::vector<StepReader> readers;
    std::vector<std::uint64_t> cell_bytes; // of every rank's stream
    std::vector<PublishedCell> cells;
    std::vector<std::uint32_t> before;
    std::vector<std::uint32_t> parts;
};

class Plan;

// If a vector is cut into tiles (tiling.hpp), the plan covers one.  It is played `count` times,
// each time `stride` bytes of the vector further on; the last tile has a plan of its own.
struct Tiles {
    std::uint32_t count = 0;
    std::uint32_t span = 0; // the most steps of a tile at any rank, by which progress counts
    std::uint64_t stride = 0;
    std::vector<std::uint64_t> cell_bytes; // bytes of a tile in every rank's stream
    transport::Extent own;                 // and in this rank's streams
    std::vector<std::uint64_t> cell_bytes_of_call;
    std::unique_ptr<const Plan> last;
};

// The cost of a short call is the number of cache lines that it touches, so members that every call
// reads come first, and the lists are side by side.
class Plan {
public:
    explicit Plan(const PlanLists &lists);
    Plan(const Plan &) = delete;
    Plan &operator=(const Plan &) = delete;

    std::span<const Step> steps;
    std::span<const StepOperand> operands;
    std::span<const StepReader> readers;
    std::span<const std::uint64_t> cell_bytes; // of every rank's stream, by the whole call
    std::span<const PublishedCell> cells;
    std::span<const std::uint32_t> before;
    std::span<const std::uint32_t> parts; // cells of each message that has several and is short
    std::unique_ptr<const Tiles> tiles;   // null: the plan covers the vector
    std::uint64_t bulk_bytes = 0;         // of the own stream, by the whole call
    std::uint32_t element = 4;
    std::uint32_t ready_prefix = 0; // steps before the first that needs another rank
    bool synchronizing = false;     // no rank leaves before all ranks have entered
    bool streams_output = false;    // results are too large for the caches
    bool reports = false;           // reports its progress after each step, not only at the end

    std::uint32_t most_operands = 1, most_outputs = 2;
    std::size_t scratch_bytes = 0;
    std::size_t vector_bytes = 0;
    std::size_t most_ring_bytes = 0; // of either ring, at the rank that publishes the most
    std::uint64_t identity = 0;      // hash of the data on which both ends of a message must agree
    std::string algorithm;           // with parameters
    std::uint16_t code = 0;          // algorithm_code() of it
    transport::Letters parameters{}; // parameters_in() it
    // For the whole call.
    std::uint64_t messages = 0, bytes_copied = 0, bytes_reduced = 0;

    std::size_t footprint() const; // bytes of memory that the plan takes
    // This rank's steps in the whole call.
    std::uint64_t all_steps() const {
        return tiles ? tiles->count * steps.size() + tiles->last->steps.size() : steps.size();
    }

private:
    struct alignas(64) Line {
        std::byte bytes[64];
    };
    std::vector<Line> memory_; // of the lists
};

// Called before compile() takes memory, with an estimate, usually too high, of the bytes that it
// takes for a moment.  An exception ends compile().
using MemoryCheck = std::function<void(std::size_t)>;

// Positions are ranks.  Throws Error(unsupported) if the schedule cannot be played here.
std::unique_ptr<const Plan> compile(const schedule::Schedule &schedule, Position position,
                                    const PlanOptions &options, const MemoryCheck &check = {});

} // namespace stretto::engine
