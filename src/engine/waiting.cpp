// SPDX-License-Identifier: BSD-3-Clause
// Waking other ranks, and waiting for them, in one call or in several.
#include "engine/waiting.hpp"

#include <algorithm>
#include <utility>

#include "base/call_scope.hpp"
#include "transport/remote/remote_peers.hpp"
#include "transport/wait/doorbell.hpp"

namespace stretto::engine {

void Engine::ring_watchers() {
    for (int rank = 0; rank < segment_->ranks(); ++rank)
        if (segment_->here(rank) &&
            segment_->lines(rank).watching.load(std::memory_order_relaxed) != 0)
            transport::Doorbell(*segment_, rank).ring();
}

void Engine::ring_readers(Run &run, const Step &step) {
    for (std::uint32_t r = 0; r < step.readers; ++r) {
        const StepReader &reader = run.plan->readers[step.first_reader + r];
        if (segment_->here(reader.rank))
            transport::Doorbell(*segment_, reader.rank).ring();
        else
            send_cell(run, step, reader);
    }
}

// Sends the cell of a step to a reader on another host.
void Engine::send_cell(Run &run, const Step &step, const StepReader &reader) {
    const std::uint64_t position = run.bases[rank_] + step.place.cells;
    const transport::Cell &own = cell(rank_, position);
    const bool in_place =
        run.in_place_cells[static_cast<std::size_t>(&step - run.plan->steps.data())] != 0;
    const std::byte *const payload = in_place ? contribution_of(run, step)
                                     : own.where.in() == transport::Location::In::bulk
                                         ? segment_->bulk(rank_) + own.where.offset()
                                         : own.payload();
    segment_->remote_peers()->send_cell(reader.rank,
                                        {position, run.signature + position, own.where, payload,
                                         step.length, before_tile(run) + reader.step + 1u,
                                         reader.message != 0 && --run.left[reader.message - 1] != 0,
                                         reader.mark != 0});
}

bool Engine::Waiting::attempt() {
    engine_.stream_.forget_holders();
    if (engine_.delegation_ != nullptr) [[unlikely]] {
        engine_.delegation_->serve();
        engine_.delegation_->report();
    }
    Run *const run = oldest();
    const std::uint64_t now = now_ticks();
    // Several threads may wait at the same time.
    if (run != nullptr)
        run->waited += now - std::max(since_ticks_, std::exchange(engine_.waited_until_, now));
    since_ticks_ = now;
    return step() || (engine_.companion_ != nullptr && engine_.companion_->progress());
}

void Engine::Waiting::diagnose(std::uint64_t waited_ns) {
    Run *const run = oldest();
    if (run == nullptr)
        return;
    engine_.publish_wait_state(*run);
    if (!stands_) {
        stands_ = true;
        descriptor_ = run->call->descriptor;
        since_ns_ = now_ns() - waited_ns;
    }
    if (waited_ns >= asks_at_) {
        engine_.inquire(*run, waited_ns);
        asks_at_ = 2 * waited_ns;
    }
    engine_.diagnose(*run, waited_ns);
    if (caller_)
        engine_.consider_stall(*run, waited_ns);
}

void Engine::Waiting::end() {
    if (!stands_)
        return;
    engine_.mine_.wait_state.store(0, std::memory_order_relaxed);
    engine_.stall_watch_.learn(descriptor_, now_ns() - since_ns_);
}

void Engine::wait(Run &run, const std::function<bool()> &attempt, bool caller) {
    class ForRun final : public Waiting {
    public:
        ForRun(Engine &engine, Run &run, const std::function<bool()> &step, bool caller)
            : Waiting(engine, caller), run_(run), step_(step) {}
        bool awaits_progress() const override {
            return &run_ != &engine_.own_ || engine_.stream_.has_holders();
        }

    protected:
        bool step() override { return step_(); }
        Run *oldest() override { return &run_; }

    private:
        Run &run_;
        const std::function<bool()> &step_;
    };
    ForRun waiting(*this, run, attempt, caller);
    try {
        transport::wait(*segment_, rank_, waiting,
                        caller ? transport::caller(options_.spin_ns, run.plan->vector_bytes)
                               : transport::kHelper);
    } catch (const Error &) {
        settle_delegated();
        rethrow(run);
    } catch (...) {
        settle_delegated();
        throw;
    }
    waiting.end();
}

void Engine::wait(Waiting &waiting, std::size_t vector_bytes) {
    transport::wait(*segment_, rank_, waiting, transport::caller(options_.spin_ns, vector_bytes));
}

void Engine::rethrow(const Run &run) const {
    try {
        throw;
    } catch (const Interruption &interruption) {
        throw Interruption(interruption.what() + (" " + at(run)));
    } catch (const Error &) {
        if (segment_->failed())
            interrupt(run);
        throw;
    }
}

} // namespace stretto::engine
