// SPDX-License-Identifier: BSD-3-Clause
// From a schedule to a plan: lowered, ordered, written down.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/mix.hpp"
#include "base/status.hpp"
#include "engine/destinations.hpp"
#include "engine/direct.hpp"
#include "engine/order.hpp"
#include "engine/plan.hpp"
#include "engine/run.hpp"
#include "engine/synchronize.hpp"

namespace stretto::engine {

namespace {

// Inputs and outputs of all ranks this large are gone from the shared cache before they are used
// again: results are better written past it.
constexpr std::size_t kStreamedOutput = 64u << 20;

// Small calls are over before anybody could use the news that a step is done; but a call that needs
// its ring more than once must tell.
constexpr std::size_t kLeastReport = 2048;

// An n-ary pass needs a slice from every rank at once: where the rings cannot hold that, slices
// must be thinner.  As thin as lets a layer of new data into half a ring, and half as thick at
// most.
constexpr std::size_t kThinnest = 4096;

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
    constexpr std::size_t kHeader = 2 * transport::kLine; // and what rounding up may add
    return std::max(kThinnest + kHeader, thin) - kHeader;
}

// Steps have 16 bits for these numbers, more than any algorithm needs; but a schedule may be
// anybody's.  Looks at all positions, so that all refuse alike.
void check_numbers(const Lowered &lowered, const std::string &name) {
    constexpr std::size_t kMost = std::numeric_limits<std::uint16_t>::max();
    std::size_t most = 0;
    for (const auto &passes : lowered.passes)
        for (const Pass &pass : passes)
            most = std::max({most, pass.operands.size(), pass.after.size()});
    for (const auto &publishes : lowered.publishes)
        for (const Publish &publish : publishes)
            most = std::max(most, publish.readers.size());
    if (most > kMost)
        throw Error(Status::unsupported, "schedule " + name + " has a step that waits for " +
                                             std::to_string(most) + " others; at most " +
                                             std::to_string(kMost) + " are possible");
}

class Emitter {
public:
    Emitter(const schedule::Schedule &schedule, const Lowered &lowered, const Order &order,
            Position position, const PlanOptions &options)
        : lowered_(lowered), order_(order), ranks_(schedule.ranks), p_(lowered.index(position)),
          direct_(lowered, position), destinations_(schedule, lowered, options),
          vector_bytes_(options.count * options.element), ring_bytes_(options.ring_bytes) {}

    std::unique_ptr<Plan> emit() {
        number_messages();
        for (const std::int32_t index : order_.sequence[p_])
            emit(lowered_.passes[p_][static_cast<std::size_t>(index)], index);
        mark();
        std::sort(lists_.cells.begin(), lists_.cells.end(),
                  [](const PublishedCell &a, const PublishedCell &b) {
                      return a.end.cells < b.end.cells;
                  });
        for (Position rank = 0; rank < ranks_; ++rank)
            lists_.cell_bytes.push_back(order_.total[lowered_.index(rank)].cells);
        auto plan = std::make_unique<Plan>(lists_);
        plan->bulk_bytes = order_.total[p_].bulk;
        plan->scratch_bytes = lowered_.scratch_bytes[p_];
        for (const Step &step : plan->steps)
            count(step, *plan);
        const auto reads_cell = [](const StepOperand &operand) {
            return operand.space == Space::cell;
        };
        const auto first = std::find_if(plan->operands.begin(), plan->operands.end(), reads_cell);
        const auto operand = static_cast<std::uint32_t>(first - plan->operands.begin());
        while (plan->leading < plan->steps.size() &&
               plan->steps[plan->leading].first_operand + plan->steps[plan->leading].operands <=
                   operand)
            ++plan->leading;
        return plan;
    }

private:
    void emit(const Pass &pass, std::int32_t index) {
        Step step{};
        step.length = static_cast<std::uint32_t>(pass.result ? pass.result->length
                                                             : pass.operands[0].range.length);
        step.stored = static_cast<std::uint32_t>(pass.length);
        step.first_operand = static_cast<std::uint32_t>(lists_.operands.size());
        step.operands = static_cast<std::uint16_t>(pass.operands.size());
        for (const Operand &operand : pass.operands) {
            const bool cell = operand.owner >= 0;
            lists_.operands.push_back({cell ? order_
                                                  .place[lowered_.index(operand.owner)]
                                                        [static_cast<std::size_t>(operand.publish)]
                                                  .cells
                                            : operand.range.offset,
                                       operand.owner, cell ? Space::cell : operand.range.space});
        }
        step.has_result = pass.result.has_value();
        if (pass.result) {
            step.result_space = pass.result->space;
            step.result_offset = pass.result->offset;
        }
        step.fill = pass.fill;
        step.first_before = static_cast<std::uint32_t>(lists_.before.size());
        step.befores = static_cast<std::uint16_t>(pass.after.size());
        for (const std::int32_t before : pass.after)
            lists_.before.push_back(
                static_cast<std::uint32_t>(order_.rank_of[p_][static_cast<std::size_t>(before)]));
        if (pass.publish >= 0)
            publish(pass, index, step);
        lists_.steps.push_back(step);
    }

    void publish(const Pass &pass, std::int32_t index, Step &step) {
        const auto id = static_cast<std::size_t>(pass.publish);
        const Publish &what = lowered_.publishes[p_][id];
        step.publishes = true;
        step.place = order_.place[p_][id];
        step.first_reader = static_cast<std::uint32_t>(lists_.readers.size());
        step.readers = static_cast<std::uint16_t>(what.readers.size());
        step.push = Direct::always;
        step.lend = direct_.lendable(index);
        // Cells leave for other hosts in the order of the sends.  By rank, all who send to all
        // would send to the first rank at once, while nobody sends to the last.
        Readers readers = what.readers;
        std::sort(readers.begin(), readers.end(), [](const Reader &a, const Reader &b) {
            return std::pair(a.send, a.pass) < std::pair(b.send, b.pass);
        });
        for (const Reader &reader : readers) {
            const std::size_t q = lowered_.index(reader.position);
            const auto j = static_cast<std::size_t>(reader.pass);
            const Direct push = direct_.pushable(index, reader);
            step.push = std::min(step.push, push);
            lists_.readers.push_back(
                {reader.position, static_cast<std::uint32_t>(order_.rank_of[q][j]),
                 push == Direct::never ? 0 : destinations_.offset(reader), message_of(reader), 0});
        }
        lists_.cells.push_back({step.place + transport::extent(what.length),
                                static_cast<std::uint32_t>(lists_.steps.size())});
    }

    // Between hosts the cells of a short message go together.
    void number_messages() {
        constexpr std::size_t kShort = 65536; // bytes of the vector
        if (vector_bytes_ > kShort)
            return;
        std::map<std::int32_t, std::uint32_t> cells;
        for (const Publish &publish : lowered_.publishes[p_])
            for (const Reader &reader : publish.readers)
                ++cells[reader.message];
        for (const auto &[message, count] : cells)
            if (count > 1) {
                lists_.parts.push_back(count);
                messages_[message] = static_cast<std::uint32_t>(lists_.parts.size());
            }
    }
    std::uint32_t message_of(const Reader &reader) const {
        const auto found = messages_.find(reader.message);
        return found == messages_.end() ? 0 : found->second;
    }

    // Where the stream of this rank goes round its ring while the call lasts, whoever reads it
    // tells how far it is before that is asked: of each of its cells at the latest when one that
    // lies an eighth of the ring further on is taken, and of its last.
    void mark() {
        constexpr std::uint64_t kParts = 8;
        const transport::Extent &total = order_.total[p_];
        if (2 * std::max(total.cells, total.bulk) <= ring_bytes_)
            return;
        struct Untold {
            std::uint64_t first; // position of the first cell that is not marked
            StepReader *last = nullptr;
        };
        std::map<std::int32_t, Untold> of_rank;
        for (const Step &step : lists_.steps)
            for (std::uint32_t r = 0; step.publishes && r < step.readers; ++r) {
                StepReader &reader = lists_.readers[step.first_reader + r];
                const std::uint64_t at = step.place.cells + step.place.bulk;
                Untold &untold = of_rank[reader.rank];
                if (untold.last != nullptr && at - untold.first > ring_bytes_ / kParts) {
                    untold.last->mark = 1;
                    untold.last = nullptr;
                }
                if (untold.last == nullptr)
                    untold.first = at;
                untold.last = &reader;
            }
        for (auto &[rank, untold] : of_rank)
            untold.last->mark = 1;
    }

    static void count(const Step &step, Plan &plan) {
        plan.most_operands = std::max<std::uint32_t>(plan.most_operands, step.operands);
        plan.most_outputs = std::max(plan.most_outputs, step.readers + 1u);
        plan.messages += step.readers;
        if (step.publishes)
            plan.bytes_copied += step.length;
        if (step.operands > 1)
            plan.bytes_reduced += static_cast<std::uint64_t>(step.operands) * step.length;
        plan.reports = plan.reports || step.stored >= kLeastReport;
    }

    const Lowered &lowered_;
    const Order &order_;
    const Position ranks_;
    const std::size_t p_;
    const DirectAccess direct_;
    Destinations destinations_;
    const std::size_t vector_bytes_, ring_bytes_;
    std::map<std::int32_t, std::uint32_t> messages_; // 1 + index in the plan's parts
    PlanLists lists_;
};

} // namespace

std::unique_ptr<const Plan> compile(const schedule::Schedule &schedule, Position position,
                                    const PlanOptions &options) {
    const auto ranks = static_cast<unsigned>(schedule.ranks);
    LowerOptions lowering;
    lowering.count = options.count;
    lowering.element = options.element;
    lowering.output_everywhere = options.output_everywhere;
    // A ring must hold a few slices, or ranks would move in lock step.
    lowering.slice =
        std::max<std::size_t>(64, std::min(options.slice, options.ring_bytes / 8) / 64 * 64);
    OrderOptions ordering;
    ordering.ring_bytes = options.ring_bytes;
    // With several ranks on a core, a cell that another publishes comes only after a switch.
    ordering.latency = static_cast<std::int32_t>(2 * ((ranks + options.cores - 1) / options.cores));

    Lowered lowered;
    std::optional<Order> sequence;
    const auto attempt = [&] {
        std::optional<Lowered> alike = lower_alike(schedule, position, lowering);
        lowered = alike ? std::move(*alike) : lower(schedule, lowering);
        sequence = order(lowered, ordering);
        return sequence.has_value();
    };
    while (!attempt() && lowering.slice >= 2 * kThinnest)
        lowering.slice = thinner(lowered, lowering.slice, options.ring_bytes);
    if (!sequence) {
        // Take messages one by one, each only when its reader is ready.  That is how the schedule
        // was proved, so it cannot get stuck.
        lowering.fuse = false;
        ordering.granted = true;
        attempt();
    }
    if (!sequence)
        throw Error(Status::internal, "schedule " + schedule.name + " cannot be ordered at " +
                                          std::to_string(schedule.ranks) + " ranks; please report");
    check_numbers(lowered, schedule.name);
    std::unique_ptr<Plan> plan = Emitter(schedule, lowered, *sequence, position, options).emit();
    plan->algorithm = schedule.name;
    plan->code = algorithm_code(schedule.name);
    plan->parameters = parameters_in(schedule.name);
    plan->element = static_cast<std::uint32_t>(options.element);
    plan->vector_bytes = options.count * options.element;
    plan->synchronizing = synchronizes(lowered, *sequence);
    for (const transport::Extent &total : sequence->total)
        plan->most_ring_bytes = std::max({plan->most_ring_bytes, total.cells, total.bulk});
    plan->reports = plan->reports || 2 * plan->most_ring_bytes > options.ring_bytes;
    plan->streams_output = ranks * 2 * plan->vector_bytes >= kStreamedOutput;
    plan->identity = mix(mix(schedule.name), options.count);
    plan->identity = mix(plan->identity, options.element);
    if (options.content != 0)
        plan->identity = mix(plan->identity, options.content);
    plan->identity = mix(plan->identity, lowering.slice * 2 + (lowering.fuse ? 1 : 0));
    for (Position rank = 0; rank < schedule.ranks; ++rank) {
        const transport::Extent &total = sequence->total[lowered.index(rank)];
        plan->identity = mix(mix(plan->identity, total.cells), total.bulk);
    }
    return plan;
}

} // namespace stretto::engine
