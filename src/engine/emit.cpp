// SPDX-License-Identifier: BSD-3-Clause
#include "engine/emit.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/destinations.hpp"
#include "engine/zero_copy.hpp"

namespace stretto::engine {

namespace {

// A small call is over before any rank could use a report of its steps.  But a call that needs its
// ring more than once must report.
constexpr std::size_t kLeastReportBytes = 2048;

class Emitter {
public:
    Emitter(const schedule::Schedule &schedule, const Lowered &lowered, const Order &order,
            Position position, const PlanOptions &options, const Blocks &blocks, bool tiled)
        : lowered_(lowered), order_(order), ranks_(schedule.ranks), p_(lowered.index(position)),
          zero_copy_(lowered, position), destinations_(schedule, lowered, blocks),
          vector_bytes_(options.count * options.element), ring_bytes_(options.ring_bytes),
          tiled_(tiled) {}

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
        while (plan->ready_prefix < plan->steps.size() &&
               plan->steps[plan->ready_prefix].first_operand +
                       plan->steps[plan->ready_prefix].operands <=
                   operand)
            ++plan->ready_prefix;
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
        step.local_copy = pass.local_copy;
        step.first_before = static_cast<std::uint32_t>(lists_.before.size());
        step.predecessors = static_cast<std::uint16_t>(pass.after.size());
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
        step.zero_copy_write = ZeroCopy::always;
        step.zero_copy_read = zero_copy_.readable_in_place(index);
        // Cells are sent to other hosts in the order of the sends.  In the order of ranks, an
        // exchange among all ranks would send everything to the first rank at once, and nothing to
        // the last.
        Readers readers = what.readers;
        std::sort(readers.begin(), readers.end(), [](const Reader &a, const Reader &b) {
            return std::pair(a.send, a.pass) < std::pair(b.send, b.pass);
        });
        for (const Reader &reader : readers) {
            const std::size_t q = lowered_.index(reader.position);
            const auto j = static_cast<std::size_t>(reader.pass);
            const ZeroCopy write = zero_copy_.writable(index, reader);
            step.zero_copy_write = std::min(step.zero_copy_write, write);
            lists_.readers.push_back({reader.position,
                                      static_cast<std::uint32_t>(order_.rank_of[q][j]),
                                      write == ZeroCopy::never ? 0 : destinations_.offset(reader),
                                      message_of(reader), 0});
        }
        lists_.cells.push_back({step.place + transport::extent(what.length),
                                static_cast<std::uint32_t>(lists_.steps.size())});
    }

    // Between hosts, the cells of a short message are sent together.
    void number_messages() {
        constexpr std::size_t kShortBytes = 65536; // bytes of the vector
        if (tiled_ || vector_bytes_ > kShortBytes)
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

    // If this rank's stream goes round its ring during the call, readers report how far they are
    // without being asked: for each cell at the latest when they have taken a cell that is an
    // eighth of the ring further on, and for their last cell.
    void mark() {
        constexpr std::uint64_t kParts = 8;
        const transport::Extent &total = order_.total[p_];
        if (!tiled_ && 2 * std::max(total.cells, total.bulk) <= ring_bytes_)
            return;
        struct Unreported {
            std::uint64_t first; // position of the first cell that is not marked
            StepReader *last = nullptr;
        };
        std::map<std::int32_t, Unreported> of_rank;
        for (const Step &step : lists_.steps)
            for (std::uint32_t r = 0; step.publishes && r < step.readers; ++r) {
                StepReader &reader = lists_.readers[step.first_reader + r];
                const std::uint64_t at = step.place.cells + step.place.bulk;
                Unreported &unreported = of_rank[reader.rank];
                if (unreported.last != nullptr && at - unreported.first > ring_bytes_ / kParts) {
                    unreported.last->mark = 1;
                    unreported.last = nullptr;
                }
                if (unreported.last == nullptr)
                    unreported.first = at;
                unreported.last = &reader;
            }
        for (auto &[rank, unreported] : of_rank)
            unreported.last->mark = 1;
    }

    static void count(const Step &step, Plan &plan) {
        plan.most_operands = std::max<std::uint32_t>(plan.most_operands, step.operands);
        plan.most_outputs = std::max(plan.most_outputs, step.readers + 1u);
        plan.messages += step.readers;
        if (step.publishes)
            plan.bytes_copied += step.length;
        if (step.operands > 1)
            plan.bytes_reduced += static_cast<std::uint64_t>(step.operands) * step.length;
        plan.reports = plan.reports || step.stored >= kLeastReportBytes;
    }

    const Lowered &lowered_;
    const Order &order_;
    const Position ranks_;
    const std::size_t p_;
    const ZeroCopyRules zero_copy_;
    Destinations destinations_;
    const std::size_t vector_bytes_, ring_bytes_;
    const bool tiled_;
    std::map<std::int32_t, std::uint32_t> messages_; // 1 + index in the plan's parts
    PlanLists lists_;
};

} // namespace

std::unique_ptr<Plan> emit(const schedule::Schedule &schedule, const Lowered &lowered,
                           const Order &order, Position position, const PlanOptions &options,
                           const Blocks &blocks, bool tiled) {
    return Emitter(schedule, lowered, order, position, options, blocks, tiled).emit();
}

} // namespace stretto::engine
