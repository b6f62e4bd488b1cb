// SPDX-License-Identifier: BSD-3-Clause
// What is awaited in a call, and what a rank that waits long finds out.
#include <algorithm>

#include "base/clock.hpp"
#include "engine/engine.hpp"
#include "transport/ladder.hpp"

namespace stretto::engine {

using transport::Entry;
using transport::kEntries;

void Engine::wait(Run &run, const std::function<bool()> &attempt, bool spinning) {
    struct Waiting final : transport::Awaited {
        Waiting(Engine &engine_, Run &run_, const std::function<bool()> &what_)
            : engine(engine_), run(run_), what(what_) {}
        bool attempt() override {
            if (!what() && (engine.companion_ == nullptr || !engine.companion_->progress()))
                return false;
            run.waited += now_ticks() - entered;
            return true;
        }
        void diagnose(std::uint64_t waited_ns) override { engine.diagnose(run, waited_ns); }

        Engine &engine;
        Run &run;
        const std::function<bool()> &what;
        const std::uint64_t entered = now_ticks();
    };
    Waiting waiting(*this, run, attempt);
    transport::wait(*segment_, rank_, waiting, spinning ? options_.spin_ns : 0);
}

// Why does nobody come?  Ends the communicator if there is a reason.
void Engine::diagnose(const Run &run, std::uint64_t waited_ns) {
    for (int rank = 0; rank < segment_->ranks(); ++rank) {
        if (rank == rank_)
            continue;
        const transport::LineBlock &lines = segment_->lines(rank);
        // Life is looked at before progress: who reports the end of this call and then dies is
        // fine.
        const bool left = lines.left.load(std::memory_order_acquire) != 0;
        const bool gone = left || !segment_->alive(rank);
        if (gone &&
            lines.progress.load(std::memory_order_acquire) < progress_of(run.sequence + 1, 0))
            fail(Status::peer, "rank " + std::to_string(rank) +
                                   (left ? " has left the communicator" : " has died") + "; " +
                                   here(run) +
                                   "; restart the job, or look in its output for the cause");
        compare(run.sequence, rank);
    }
    if (options_.timeout_ns != 0 && waited_ns > options_.timeout_ns)
        fail(Status::timeout, here(run) + " waited " + in_seconds(waited_ns) + missing(run) +
                                  "; raise STRETTO_TIMEOUT if that is not too long (0: for ever)");
}

// Looks for the first call, as far back as entries reach, in which `rank` said something else.
void Engine::compare(std::uint64_t sequence, int rank) {
    const std::uint64_t reach = std::min<std::uint64_t>(sequence, kEntries - 1);
    for (std::uint64_t call = sequence - reach; call <= sequence; ++call) {
        const Entry &ours = mine_.entries[call % kEntries];
        const Entry &theirs = segment_->lines(rank).entries[call % kEntries];
        const auto of_this_call = [call](const Entry &entry) {
            return entry.sequence.load(std::memory_order_acquire) == call + 1;
        };
        const auto said = [](const Entry &entry) {
            return Said{entry.what.load(std::memory_order_acquire),
                        entry.count.load(std::memory_order_acquire)};
        };
        if (!of_this_call(ours) || !of_this_call(theirs))
            continue;
        const bool same = theirs.signature.load(std::memory_order_acquire) ==
                          ours.signature.load(std::memory_order_relaxed);
        const Said mine = said(ours), other = said(theirs);
        if (same || !of_this_call(theirs)) // or it went on while we looked
            continue;
        fail(Status::mismatch,
             "call " + std::to_string(call) + " is " + describe_(mine) + " on rank " +
                 std::to_string(rank_) + " but " + describe_(other) + " on rank " +
                 std::to_string(rank) +
                 "; all ranks must call the same collectives in the same order with the same "
                 "arguments and the same algorithm");
    }
}

void Engine::judge(std::uint64_t sequence) {
    for (int rank = 0; rank < segment_->ranks(); ++rank)
        if (rank != rank_)
            compare(sequence, rank);
}

std::string Engine::here(const Run &run) const {
    return "rank " + std::to_string(rank_) + " in " + describe_(run.call->said) + " (call " +
           std::to_string(run.sequence) + ", " + run.plan->algorithm + ")";
}

// Who has not come to this call.
std::string Engine::missing(const Run &run) const {
    std::string names;
    int count = 0;
    for (int rank = 0; rank < segment_->ranks(); ++rank) {
        const transport::LineBlock &lines = segment_->lines(rank);
        const Entry &entry = lines.entries[run.sequence % kEntries];
        if (entry.sequence.load(std::memory_order_acquire) > run.sequence ||
            lines.progress.load(std::memory_order_acquire) > progress_of(run.sequence, 0))
            continue;
        ++count;
        if (count <= 16)
            names += (count > 1 ? ", " : "") + std::to_string(rank);
    }
    if (count == 0)
        return "; all ranks have come but one is stuck";
    return std::string("; ") + (count == 1 ? "rank " : "ranks ") + names +
           (count > 16 ? ", ..." : "") + (count == 1 ? " has" : " have") + " not come";
}

void Engine::fail(Status status, const std::string &message) {
    segment_->fail(status, message);
    throw segment_->failure(); // the first failure, if another rank was faster
}

} // namespace stretto::engine
