// SPDX-License-Identifier: BSD-3-Clause
// A plan: a schedule compiled for one position, a count, an element size and the machine.  Flat,
// position-independent in time (stream offsets are relative to the call) and immutable: a repeated
// call pays no generation and no allocation.
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
#include "transport/cell.hpp"
#include "transport/entry.hpp"

namespace stretto::engine {

struct StepOperand {
    std::uint64_t offset; // in its space; a cell's in the stream of `rank`, relative to the call
    std::int32_t rank;    // cell: who publishes it
    Space space;
};

// Whether the payload of a cell can be left out where buffers lie in the shared heap.  Short ones
// never are: through a cell they are faster.
inline constexpr std::size_t kLeastDirectBytes = 8192;
enum class Direct : std::uint8_t { never, unless_in_place, always };

struct Step {
    std::uint64_t result_offset; // in its space
    transport::Extent place;     // in the own streams, relative to the call
    std::uint32_t first_operand; // in Plan::operands
    std::uint32_t first_reader;  // in Plan::readers
    std::uint32_t first_before;  // in Plan::before
    std::uint32_t length;        // bytes
    std::uint32_t stored;        // bytes that it takes in a stream: one element more, maybe
    std::uint16_t operands;
    std::uint16_t readers;
    std::uint16_t befores; // own steps that must be complete before
    Space result_space;
    Direct lend; // readers may take a contribution where it lies
    Direct push; // a result may be stored right into the outputs of its readers
    bool has_result;
    bool publishes;
    bool fill; // input to output; nothing to do in place
};

struct StepReader {
    std::int32_t rank;
    std::uint32_t step;          // of that rank, which takes the cell
    std::uint64_t result_offset; // where that rank wants it in its output, if pushed
    std::uint32_t message;       // 1 + index in Plan::parts; 0: the cell is a message by itself
    std::uint32_t mark; // not 0: between hosts, it tells unasked when it has taken the cell
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
    std::uint64_t content =
        0; // of a schedule from a file: its hash, as both ends must have the same
    std::size_t tile_work = kTileOpBlocks;
};

// The lists of a plan while it is made.
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

// Of a vector in tiles (tiling.hpp) a plan covers one.  It is played `count` times, each time
// `stride` bytes of the vector further on; the last tile has a plan of its own.
struct Tiles {
    std::uint32_t count = 0;
    std::uint32_t span = 0; // steps of a tile at the rank that has the most: how progress counts
    std::uint64_t stride = 0;
    std::vector<std::uint64_t> cell_bytes; // that a tile takes of every rank's stream
    transport::Extent own;                 // and of the own streams
    std::vector<std::uint64_t> cell_bytes_of_call;
    std::unique_ptr<const Plan> last;
};

// A short call costs as much as the cache lines that it touches, so what every call reads comes
// first, and the lists lie side by side.
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
    std::uint32_t leading = 0;   // steps before the first that needs another rank
    bool synchronizing = false;  // nobody leaves before all have entered
    bool streams_output = false; // results are too large for the caches
    bool reports = false;        // tells its progress step by step, not only at the end

    std::uint32_t most_operands = 1, most_outputs = 2;
    std::size_t scratch_bytes = 0;
    std::size_t vector_bytes = 0;
    std::size_t most_ring_bytes = 0; // of either ring, of whichever rank publishes the most
    std::uint64_t identity = 0;      // hash of what both ends of a message must agree on
    std::string algorithm;           // with parameters
    std::uint16_t code = 0;          // algorithm_code() of it
    transport::Letters parameters{}; // parameters_in() it
    // Of the whole call.
    std::uint64_t messages = 0, bytes_copied = 0, bytes_reduced = 0;

    std::size_t footprint() const; // bytes of memory that the plan takes
    // Own steps of the whole call.
    std::uint64_t all_steps() const {
        return tiles ? tiles->count * steps.size() + tiles->last->steps.size() : steps.size();
    }

private:
    struct alignas(64) Line {
        std::byte bytes[64];
    };
    std::vector<Line> memory_; // of the lists
};

// Is told how many bytes of memory compile() takes for a moment, about and most often less, before
// it takes them.  What it throws ends compile().
using MemoryCheck = std::function<void(std::size_t)>;

// Positions are ranks.  Throws Error(unsupported) if the schedule cannot be played here.
std::unique_ptr<const Plan> compile(const schedule::Schedule &schedule, Position position,
                                    const PlanOptions &options, const MemoryCheck &check = {});

} // namespace stretto::engine
