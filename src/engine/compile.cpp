// SPDX-License-Identifier: BSD-3-Clause
// From a schedule to a plan: lowered, ordered, written down.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/mix.hpp"
#include "base/status.hpp"
#include "engine/emit.hpp"
#include "engine/order.hpp"
#include "engine/plan.hpp"
#include "engine/run.hpp"
#include "engine/stream.hpp"
#include "engine/synchronize.hpp"

namespace stretto::engine {

namespace {

// If the inputs and outputs of all ranks together are this large, they leave the shared cache
// before they are used again, so results are better written past it.
constexpr std::size_t kStreamedOutputBytes = 64u << 20;

// An n-ary pass needs a slice from every rank at once.  If the rings cannot hold that, slices must
// be smaller: at most half the normal size, and small enough for a layer of new data to fit into
// half a ring.
constexpr std::size_t kThinnestBytes = 4096;

std::size_t thinner(const Lowered &lowered, std::size_t slice, std::size_t ring_bytes) {
    std::size_t longest = 0, widest = 1; // publish, layer
    std::map<std::int32_t, std::size_t> layers;
    for (std::size_t p = 0; p < lowered.passes.size(); ++p) {
        layers.clear();
        for (const Publish &publish : lowered.publishes[p]) {
            longest = std::max(longest, publish.length);
            const Pass &pass = lowered.passes[p][static_cast<std::size_t>(publish.pass)];
            std::size_t &layer = layers[pass.layer];
            layer += publish.length;
            widest = std::max(widest, layer);
        }
    }
    const double fits =
        std::min(0.5, static_cast<double>(ring_bytes) / 2.0 / static_cast<double>(widest));
    const auto thin =
        static_cast<std::size_t>(static_cast<double>(std::min(slice, longest)) * fits) / 64 * 64;
    constexpr std::size_t kHeaderBytes = 2 * transport::kLineBytes; // plus the largest rounding
    return std::max(kThinnestBytes + kHeaderBytes, thin) - kHeaderBytes;
}

// Steps have 16 bits for these numbers: more than any algorithm of the library needs, but a
// schedule may come from a user.  Checks all positions, so that all ranks refuse the schedule.
void check_numbers(const Lowered &lowered, const std::string &name) {
    constexpr std::size_t kMostInputs = std::numeric_limits<std::uint16_t>::max();
    std::size_t most = 0;
    for (const auto &passes : lowered.passes)
        for (const Pass &pass : passes)
            most = std::max({most, pass.operands.size(), pass.after.size()});
    for (const auto &publishes : lowered.publishes)
        for (const Publish &publish : publishes)
            most = std::max(most, publish.readers.size());
    if (most > kMostInputs)
        throw Error(Status::unsupported, "schedule " + name + " has a step that waits for " +
                                             std::to_string(most) + " others; at most " +
                                             std::to_string(kMostInputs) + " are possible");
}

class Compiler {
public:
    Compiler(const schedule::Schedule &schedule, Position position, const PlanOptions &options)
        : schedule_(schedule), position_(position), options_(options), whole_(blocks({})) {}

    std::size_t memory() {
        constexpr std::size_t kEachBytes = 1024;
        const Blocks tile = blocks(tiling_of(slice()).last());
        return kEachBytes * layer() * (1 + tile.longest() / slice());
    }

    std::unique_ptr<const Plan> compile() {
        Tiling tiling;
        Made made = make(slice(), [&](std::size_t thickness) {
            tiling = tiling_of(thickness);
            return tiling.each();
        });
        if (tiling.count > 1)
            made = tile(std::move(made), tiling);
        check_steps(made.span);
        Plan &plan = *made.plan;
        plan.algorithm = schedule_.name;
        plan.code = algorithm_code(schedule_.name);
        plan.parameters = parameters_in(schedule_.name);
        for (const transport::Extent &total : made.totals)
            plan.most_ring_bytes = std::max({plan.most_ring_bytes, total.cells, total.bulk});
        plan.reports = plan.reports || 2 * plan.most_ring_bytes > options_.ring_bytes;
        plan.identity = identity(made);
        return std::move(made.plan);
    }

private:
    struct Made {
        std::unique_ptr<Plan> plan;
        std::uint64_t span = 0;                // steps of the rank that has the most
        std::vector<transport::Extent> totals; // by rank: of its streams
        std::size_t slice = 0;                 // bytes of a slice
        std::uint64_t how = 0;                 // hash of how it was lowered and ordered
    };

    Blocks blocks(const Piece &piece) const {
        return {schedule_.partition, options_.count, options_.element, piece};
    }
    // A ring must hold a few slices; otherwise ranks would wait for one another after every slice.
    std::size_t slice() const {
        return std::max<std::size_t>(64,
                                     std::min(options_.slice, options_.ring_bytes / 8) / 64 * 64);
    }
    // If one position does not stand for all, this makes the programs of all positions, once.
    std::size_t layer() {
        if (layer_ == 0)
            layer_ = std::max<std::size_t>(
                1, work_of_layer(schedule_, position_,
                                 one_for_all(schedule_, whole_, options_.element)));
        return layer_;
    }
    Tiling tiling_of(std::size_t thickness) {
        return tiling(whole_, options_.element, thickness,
                      [this] { return options_.tile_work / layer(); });
    }

    // The plan of a piece of every block.  Slices have `slice` bytes, or fewer where the rings are
    // too small for that.  `piece_for` gives the piece for the bytes of a slice.
    template<class PieceFor>
    Made make(std::size_t slice, PieceFor &&piece_for) const {
        const auto ranks = static_cast<unsigned>(schedule_.ranks);
        LowerOptions lowering;
        lowering.count = options_.count;
        lowering.element = options_.element;
        lowering.commutes = options_.commutes;
        lowering.output_everywhere = options_.output_everywhere;
        lowering.slice = slice;
        OrderOptions ordering;
        ordering.ring_bytes = options_.ring_bytes;
        // If several ranks share a core, a cell of another rank arrives only after a context
        // switch.
        ordering.latency =
            static_cast<std::int32_t>(2 * ((ranks + options_.cores - 1) / options_.cores));

        Lowered lowered;
        std::optional<Order> sequence;
        const auto attempt = [&] {
            lowering.piece = piece_for(lowering.slice);
            std::optional<Lowered> alike = lower_alike(schedule_, position_, lowering);
            lowered = alike ? std::move(*alike) : lower(schedule_, lowering);
            sequence = order(lowered, ordering);
            if (!sequence && !lowered.symmetry && ordering.publishing == Publishing::by_op) {
                ordering.publishing = Publishing::by_reader;
                sequence = order(lowered, ordering);
                if (!sequence)
                    ordering.publishing = Publishing::by_op;
            }
            return sequence.has_value();
        };
        while (!attempt() && lowering.slice >= 2 * kThinnestBytes)
            lowering.slice = thinner(lowered, lowering.slice, options_.ring_bytes);
        if (!sequence) {
            // Sends messages one by one, each only when its reader is ready.  The schedule was
            // proved this way, so it cannot deadlock.
            lowering.fuse = false;
            ordering.publishing = Publishing::granted;
            attempt();
        }
        if (!sequence)
            throw Error(Status::internal, "schedule " + schedule_.name + " cannot be ordered at " +
                                              std::to_string(ranks) + " ranks; please report");
        check_numbers(lowered, schedule_.name);
        const bool tiled = lowering.piece.length != Piece{}.length || lowering.piece.first != 0;
        Made made;
        made.plan =
            emit(schedule_, lowered, *sequence, position_, options_, blocks(lowering.piece), tiled);
        made.plan->element = static_cast<std::uint32_t>(options_.element);
        made.plan->vector_bytes = options_.count * options_.element;
        made.plan->streams_output = ranks * 2 * made.plan->vector_bytes >= kStreamedOutputBytes;
        if (lowering.piece.first == 0) // not used of a last tile: the first one reports
            made.plan->synchronizing = synchronizes(lowered, *sequence);
        for (const std::vector<std::int32_t> &each : sequence->sequence)
            made.span = std::max<std::uint64_t>(made.span, each.size());
        for (Position rank = 0; rank < schedule_.ranks; ++rank)
            made.totals.push_back(sequence->total[lowered.index(rank)]);
        made.slice = lowering.slice;
        made.how = mix(lowering.slice * 4 + (lowering.fuse ? 2 : 0) + (lowering.commutes ? 1 : 0),
                       static_cast<std::uint64_t>(ordering.publishing));
        return made;
    }

    // All tiles but the last are played by the same plan.
    Made tile(Made each, const Tiling &tiling) const {
        Made last = make(each.slice, [&](std::size_t) { return tiling.last(); });
        const std::uint64_t count = tiling.count - 1;
        Plan &plan = *each.plan;
        auto tiles = std::make_unique<Tiles>();
        tiles->count = static_cast<std::uint32_t>(count);
        tiles->span = static_cast<std::uint32_t>(each.span);
        tiles->stride = tiling.stride;
        tiles->cell_bytes.assign(plan.cell_bytes.begin(), plan.cell_bytes.end());
        tiles->cell_bytes_of_call = tiles->cell_bytes;
        tiles->own = each.totals[static_cast<std::size_t>(position_)];
        const auto add = [&](auto &all, auto of_last) { all = all * count + of_last; };
        for (std::size_t rank = 0; rank < each.totals.size(); ++rank) {
            add(each.totals[rank].cells, last.totals[rank].cells);
            add(each.totals[rank].bulk, last.totals[rank].bulk);
            tiles->cell_bytes_of_call[rank] = each.totals[rank].cells;
        }
        add(plan.messages, last.plan->messages);
        add(plan.bytes_copied, last.plan->bytes_copied);
        add(plan.bytes_reduced, last.plan->bytes_reduced);
        plan.most_operands = std::max(plan.most_operands, last.plan->most_operands);
        plan.most_outputs = std::max(plan.most_outputs, last.plan->most_outputs);
        plan.scratch_bytes = std::max(plan.scratch_bytes, last.plan->scratch_bytes);
        add(each.span, last.span);
        each.how = mix(mix(each.how, last.how), mix(count, tiling.stride));
        last.plan->algorithm = schedule_.name;
        plan.reports = last.plan->reports = true;
        tiles->last = std::move(last.plan);
        plan.cell_bytes = tiles->cell_bytes_of_call;
        plan.bulk_bytes = each.totals[static_cast<std::size_t>(position_)].bulk;
        plan.tiles = std::move(tiles);
        return each;
    }

    // A rank publishes its progress as a number of limited size.
    void check_steps(std::uint64_t steps) const {
        if (steps < kMostSteps)
            return;
        throw Error(Status::unsupported,
                    schedule_.name + " takes " + std::to_string(steps) + " steps for a vector of " +
                        std::to_string(options_.count * options_.element) + " bytes; at most " +
                        std::to_string(kMostSteps - 1) +
                        " are possible: raise STRETTO_SLICE_BYTES and STRETTO_RING_BYTES, or make "
                        "several calls");
    }

    // The data on which both ends of a message must agree.
    std::uint64_t identity(const Made &made) const {
        std::uint64_t all = mix(mix(schedule_.name), options_.count);
        all = mix(all, options_.element);
        if (options_.content != 0)
            all = mix(all, options_.content);
        all = mix(all, made.how);
        for (const transport::Extent &total : made.totals)
            all = mix(mix(all, total.cells), total.bulk);
        return all;
    }

    const schedule::Schedule &schedule_;
    const Position position_;
    const PlanOptions &options_;
    const Blocks whole_;
    std::size_t layer_ = 0; // work of a layer; 0: not asked for
};

} // namespace

std::unique_ptr<const Plan> compile(const schedule::Schedule &schedule, Position position,
                                    const PlanOptions &options, const MemoryCheck &check) {
    Compiler compiler(schedule, position, options);
    if (check)
        check(compiler.memory());
    return compiler.compile();
}

} // namespace stretto::engine
