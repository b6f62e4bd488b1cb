// SPDX-License-Identifier: BSD-3-Clause
// The investigation of long waits.
#include <algorithm>

#include "base/call_scope.hpp"
#include "base/clock.hpp"
#include "base/kernel_files.hpp"
#include "base/thread_end.hpp"
#include "engine/engine.hpp"
#include "engine/failure.hpp"
#include "engine/issued.hpp"
#include "engine/stall_report.hpp"
#include "transport/remote/remote_peers.hpp"

namespace stretto::engine {

using transport::Entry;
using transport::kEntries;

// Publishes this rank's wait state.
void Engine::publish_wait_state(const Run &run) {
    const auto of = static_cast<std::uint32_t>(run.call->plan->all_steps());
    const transport::WaitState wait_state{transport::WaitState::step, awaited(run),
                                          std::min(steps_before(run) + run.next + 1, of), of};
    mine_.wait_state.store(wait_state.packed(), std::memory_order_relaxed);
    if (recorder_ != nullptr)
        recorder_->waits_long();
}

// The rank for which the first incomplete step waits or, after the last step, a rank that still
// reads this rank's memory.
int Engine::awaited(const Run &run) {
    const Plan &plan = *run.plan;
    if (run.gate != nullptr)
        return transport::WaitState::kItselfRank;
    if (run.undecided())
        return awaited_before_steps(run);
    if (run.call->execution != nullptr && run.issued->has(run.next))
        return delegate_of(run, run.next);
    if (run.next < plan.steps.size()) {
        const Step &step = plan.steps[run.next];
        for (std::uint32_t k = 0; k < step.operands; ++k) {
            const StepOperand &operand = plan.operands[step.first_operand + k];
            if (operand.space != Space::cell)
                continue;
            const std::uint64_t position = run.bases[operand.rank] + operand.offset;
            if (!transport::published(cell(operand.rank, position), run.signature + position))
                return operand.rank;
        }
    }
    if (run.cells_in_use != 0)
        for (std::uint32_t step = run.settled; step < plan.steps.size(); ++step)
            if (run.in_place_cells[step] != 0)
                if (const int rank = stream_.holder(plan, before_tile(run), plan.steps[step]);
                    rank >= 0)
                    return rank;
    return stream_.holder(); // waits for room
}

// Asks ranks of other hosts for the state of their calls; the answers are read at the next look.
// It asks the awaited rank, and all ranks only in a long wait: if one rank is late, all others
// wait, and each of their questions costs two messages just when the network is needed.
void Engine::inquire(const Run &run, std::uint64_t waited_ns) {
    constexpr std::uint64_t kLongNs = 250'000'000;
    const int awaited = Engine::awaited(run);
    for (int rank = 0; rank < segment_->ranks(); ++rank)
        if (!segment_->here(rank) && (rank == awaited || waited_ns >= kLongNs))
            segment_->remote_peers()->inquire(rank);
}

// A rank that has not ended this call, and will not.
std::string Engine::gone(const Run &run, int rank, transport::Presence presence) const {
    return segment_->names().of(rank) + " " + words(presence) + segment_->place(rank) + "; " +
           here(run) + "; restart the job, or look in its output for the cause";
}

// Investigates a long wait, and fails the communicator if it finds a cause.
void Engine::diagnose(const Run &run, std::uint64_t waited_ns) {
    for (int rank = 0; rank < segment_->ranks(); ++rank) {
        if (rank == rank_)
            continue;
        const transport::LineBlock &lines = segment_->lines(rank);
        // Checks whether ranks live before it reads their progress: a rank that reports the end of
        // this call and then dies is no failure.
        const transport::Presence presence = segment_->presence(rank);
        if (presence != transport::Presence::here &&
            lines.progress.load(std::memory_order_acquire) < progress_of(run.sequence + 1, 0))
            fail(Status::peer, gone(run, rank, presence));
        compare(run.sequence, rank);
        // A rank on another host that has left cannot be asked any more, and everything that it
        // sent has arrived.
        constexpr std::uint64_t kOnItsWayNs =
            2'000'000'000; // long enough for all data that is on its way
        if (presence != transport::Presence::here && !segment_->here(rank) &&
            waited_ns > kOnItsWayNs && awaited(run) == rank)
            fail(Status::peer,
                 segment_->names().of(rank) + " " + words(presence) + segment_->place(rank) +
                     " and has ended this call, but did not send what this rank waits for; " +
                     here(run) + "; do all ranks make the same calls with the same arguments?");
    }
    const bool over = call_scope().over(now_ns());
    const bool late = deadline_ ? now_ns() > deadline_->end
                                : options_.timeout_ns != 0 && waited_ns > options_.timeout_ns;
    if (!over && !late)
        return;
    ask_where(*segment_);
    const auto mine =
        transport::WaitState::unpacked(mine_.wait_state.load(std::memory_order_relaxed));
    if (over)
        fail(Status::timeout, here(run) + " " + call_scope().exceeded() + ": it waits for " +
                                  in_words(mine, segment_->names()) + missing(run) +
                                  where_others_wait(*segment_, rank_, run.sequence));
    fail(Status::timeout, here(run) + " waited " + in_seconds(waited_ns) + " for " +
                              in_words(mine, segment_->names()) + (deadline_ ? "" : missing(run)) +
                              where_others_wait(*segment_, rank_, run.sequence) +
                              (deadline_ ? deadline_->why
                                         : "; raise STRETTO_TIMEOUT if that is not too long (0: "
                                           "for ever)"));
}

void Engine::end_waits_at(std::uint64_t deadline, std::string why) {
    deadline_.emplace(Deadline{deadline, std::move(why)});
}

// The description in an entry.
static CallDescriptor descriptor_in(const transport::Entered &entry) {
    return {entry.packed, entry.count & ~(~std::uint64_t{0} << kCodeShift),
            static_cast<std::uint16_t>(entry.count >> kCodeShift), entry.parameters};
}

// Finds the first call, as far back as entries reach, that `rank` described differently.
void Engine::compare(std::uint64_t sequence, int rank) {
    const std::uint64_t reach = std::min<std::uint64_t>(sequence, kEntries - 1);
    for (std::uint64_t call = sequence - reach; call <= sequence; ++call) {
        const auto ours = transport::entered(mine_.entries[call % kEntries]);
        const auto theirs = transport::entered(segment_->lines(rank).entries[call % kEntries]);
        if (!ours || !theirs || ours->sequence != call + 1 || theirs->sequence != call + 1 ||
            ours->signature == theirs->signature)
            continue;
        CallDescriptor mine = descriptor_in(*ours), other = descriptor_in(*theirs);
        // Names the algorithms if nothing else differs.
        const bool same_algorithm = mine.algorithm == other.algorithm ||
                                    mine.packed != other.packed || mine.count != other.count;
        if (same_algorithm)
            mine.algorithm = other.algorithm = 0;
        std::string ours_in_words = describe_(mine), theirs_in_words = describe_(other);
        if (!same_algorithm && ours_in_words == theirs_in_words)
            theirs_in_words += " with other parameters";
        else if (ours_in_words == theirs_in_words)
            theirs_in_words += " that is cut or laid out otherwise";
        fail(Status::mismatch,
             "call " + std::to_string(segment_->number_of(call)) + " is " + ours_in_words + " on " +
                 segment_->names().of(rank_) + " but " + theirs_in_words + " on " +
                 segment_->names().of(rank) +
                 "; all ranks must call the same collectives in the same order with the same "
                 "arguments and the same algorithm");
    }
}

void Engine::judge(std::uint64_t sequence) {
    for (int rank = 0; rank < segment_->ranks(); ++rank)
        if (rank != rank_) {
            if (!segment_->here(rank))
                segment_->remote_peers()->inquire(
                    rank); // its present state is seen at the next look
            compare(sequence, rank);
        }
}

std::string Engine::here(const Run &run) const {
    return options_.who + " " + at(run);
}

std::string Engine::at(const Run &run) const {
    const auto bytes_of = [](const Plan &plan, auto &&counts) { // that steps move or reduce
        std::uint64_t bytes = 0;
        for (std::uint32_t step = 0; step < plan.steps.size(); ++step)
            bytes += counts(step) ? std::uint64_t{plan.steps[step].length} : 0;
        return bytes;
    };
    const auto all = [](std::uint32_t) { return true; };
    const Plan &plan = *run.call->plan;
    std::uint64_t bytes = bytes_of(plan, all);
    std::uint64_t done = run.tile * bytes + bytes_of(*run.plan, [&](std::uint32_t step) {
                             return step < run.next || run.is_done(step);
                         });
    if (plan.tiles)
        bytes = bytes * plan.tiles->count + bytes_of(*plan.tiles->last, all);
    return "in " + describe_(run.call->descriptor) + " (call " +
           std::to_string(segment_->number_of(run.sequence)) + ", " + run.plan->algorithm + ", " +
           std::to_string(done) + " of " + std::to_string(bytes) + " bytes done)";
}

// The communicator has failed before this call.
void Engine::refuse(const Call &call) const {
    throw interrupted(segment_->failure(), options_.who, [&] {
        return "before " + describe_(call.descriptor) + " (call " +
               std::to_string(segment_->number_of(sequence_)) + ", 0 bytes done)";
    });
}

// The communicator has failed, and this call with it.
void Engine::interrupt(const Run &run) const {
    throw interrupted(segment_->failure(), options_.who, [&] { return at(run); });
}

static bool waits_for_itself(const transport::LineBlock &lines) {
    const auto wait_state =
        transport::WaitState::unpacked(lines.wait_state.load(std::memory_order_acquire));
    return wait_state.kind == transport::WaitState::step &&
           (wait_state.awaited == transport::WaitState::kItselfRank ||
            wait_state.awaited == transport::WaitState::kDriverRank);
}

// The ranks that have not come to this call or, if all have come, those that make no progress in
// it.
Late Engine::late(const Run &run) const {
    std::vector<int> absent, stuck;
    for (int rank = 0; rank < segment_->ranks(); ++rank) {
        const transport::LineBlock &lines = segment_->lines(rank);
        const Entry &entry = lines.entries[run.sequence % kEntries];
        const std::uint64_t progress = lines.progress.load(std::memory_order_acquire);
        if (entry.sequence.load(std::memory_order_acquire) <= run.sequence &&
            progress <= progress_of(run.sequence, 0))
            absent.push_back(rank);
        // A rank that waits for others is asleep by now.  The rank that holds them up is running,
        // stopped, or waiting for an executor.
        else if (progress < progress_of(run.sequence + 1, 0) &&
                 (waits_for_itself(lines) ||
                  (rank != rank_ &&
                   (stopped(rank) || lines.asleep.load(std::memory_order_relaxed) == 0))))
            stuck.push_back(rank);
    }
    const bool all_came = absent.empty();
    return {std::move(all_came ? stuck : absent), all_came};
}

std::string Engine::missing(const Run &run) const {
    const auto [culprits, all_came] = late(run);
    if (culprits.empty())
        return "; all ranks have come and wait for one another";
    constexpr std::size_t kMostStoppedRanks = 4;
    std::string details;
    std::size_t named = 0;
    for (const int rank : culprits)
        if (named < kMostStoppedRanks && stopped(rank)) {
            ++named;
            details += "; process " + std::to_string(segment_->lines(rank).pid.load()) + " of " +
                       segment_->names().of(rank) + " is stopped (by a signal or a debugger)";
        }
    const bool one = culprits.size() == 1;
    return "; " + segment_->names().of(culprits) + (one ? " has" : " have") +
           (all_came ? " come but " + std::string(one ? "gets" : "get") + " nothing done"
                     : " not come") +
           details;
}

// Reports a wait that is longer than earlier ones explain.  The call goes on, whatever the callback
// throws.
void Engine::consider_stall(const Run &run, std::uint64_t waited_ns) {
    try {
        if (const auto due = stall_watch_.due(run.sequence, run.call->descriptor, waited_ns))
            due->raise(alert(run, waited_ns, due->longest_ns));
    } catch (const ThreadEnd &) {
        throw;
    } catch (...) { // no memory for the report, or an exception of the program's function
    }
}

Alert Engine::alert(const Run &run, std::uint64_t waited_ns, std::uint64_t longest_ns) const {
    Alert alert;
    alert.collective = describe_(run.call->descriptor);
    alert.call = segment_->number_of(run.sequence);
    alert.late = late(run);
    alert.waited_ns = waited_ns;
    alert.longest_ns = longest_ns;
    alert.lowest = true;
    for (int rank = 0; rank < rank_; ++rank) {
        const auto wait_state = transport::WaitState::unpacked(
            segment_->lines(rank).wait_state.load(std::memory_order_acquire));
        if (segment_->here(rank) && wait_state.kind == transport::WaitState::step &&
            wait_state.awaited != transport::WaitState::kDriverRank) // whose threads stand still
            alert.lowest = false;
    }
    alert.text = here(run) + " has waited " + in_seconds(waited_ns) + ", in calls like it " +
                 (longest_ns > 0 ? "never more than " + in_seconds(longest_ns)
                                 : "never long enough to be noted") +
                 " before" + missing(run) + where_others_wait(*segment_, rank_, run.sequence);
    return alert;
}

// Whether the kernel reports its process as stopped; false if that cannot be seen from here.
bool Engine::stopped(int rank) const {
    const int pid = segment_->process(rank);
    if (pid == 0)
        return false;
    const auto process = process_of(contents("/proc/" + std::to_string(pid) + "/stat"));
    return process && (process->state == 'T' || process->state == 't');
}

void Engine::fail(Status status, const std::string &message) {
    segment_->fail(status, message);
    throw segment_->failure(); // the first failure, if another rank was faster
}

} // namespace stretto::engine
