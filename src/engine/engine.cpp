// SPDX-License-Identifier: BSD-3-Clause
#include "engine/engine.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/cpu_pause.hpp"
#include "engine/failure.hpp"
#include "engine/gate.hpp"
#include "engine/issued.hpp"
#include "engine/playing.inl"
#include "transport/remote/remote_peers.hpp"

namespace stretto::engine {

using transport::Cell;

namespace {

// A rank with a core of its own waits this long for the next step before it runs later ones.
// Running steps out of order costs cache misses, which ranks that are only slightly out of phase
// should not pay.
constexpr double kPatienceNs = 20'000;

inline void fetch_to_write(const void *line) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char *>(line)));
#else
    __builtin_prefetch(line, 1);
#endif
}

} // namespace

Engine::Engine(std::shared_ptr<transport::Segment> segment, int rank, const transport::Heap &heap,
               EngineOptions options, Describe describe, Companion *companion)
    : segment_(std::move(segment)), signals_(segment_->header().signals),
      ring_mask_(segment_->ring_bytes() - 1), mine_(segment_->lines(rank)), rank_(rank),
      strings_(reduce::string_copies()),
      spins_(options.spin_ns != 0 && segment_->placement().one_host()), copy_(reduce::copy_pass()),
      options_(options), recorder_(options.recorder),
      patience_ticks_(static_cast<std::uint64_t>(kPatienceNs / ns_per_tick())), stream_(*segment_),
      heap_(heap), describe_(std::move(describe)), companion_(companion),
      exhausted_(no_memory(segment_->names().of(rank))) {
    for (Bases &bases : bases_)
        bases.assign(static_cast<std::size_t>(segment_->ranks()), 0);
}

Engine::~Engine() {
    forget_lists();
    if (bell_ != nullptr)
        bell_->silence();
    for (Executor *const executor : memory_users_)
        segment_->remove_memory_user(*executor);
}

template<Engine::Mode mode>
[[gnu::always_inline]] inline Run *Engine::play_as(const Call &call, Tally &tally,
                                                   const std::function<bool()> &give_up) {
    own_.bases = bases_[now_].data();
    begin(own_, call, tally);
    if constexpr (mode == Mode::traced)
        trace_begin(own_);
    // Other ranks that wait for this rank's first cells need not wait for its bookkeeping, which it
    // does while their cells are on the way.  But a rank that stores into this rank's output must
    // know its address before.
    if (call.output_heap == 0)
        proceed<mode>(own_, call.plan->ready_prefix);
    announce(own_);
    pass_by(*call.plan);
    if (spins_)
        let_them_write(*call.plan);
    while (!advance<mode>(own_))
        if (!spin<mode>(own_)) {
            if (give_up())
                return keep_own();
            wait(own_, [&] { return attempt_as<mode>(own_) || give_up(); }, true);
        }
    close(own_, tally, nullptr);
    if constexpr (mode == Mode::traced)
        recorder_->call_ends(segment_->number_of(own_.sequence));
    return nullptr;
}

Run *Engine::play(const Call &call, Tally &tally, const std::function<bool()> &give_up) {
    if (call.execution != nullptr) [[unlikely]]
        return play_elsewhere(call, tally, give_up);
    return play_as<Mode::here>(call, tally, give_up);
}

Run *Engine::play_traced(const Call &call, Tally &tally, const std::function<bool()> &give_up) {
    if (call.execution != nullptr) [[unlikely]]
        return play_elsewhere(call, tally, give_up);
    return play_as<Mode::traced>(call, tally, give_up);
}

Run *Engine::play_elsewhere(const Call &call, Tally &tally, const std::function<bool()> &give_up) {
    own_.bases = bases_[now_].data();
    begin(own_, call, tally);
    if (recorder_ != nullptr)
        trace_begin(own_);
    announce(own_);
    pass_by(*call.plan);
    const auto attempt = [&] {
        return own_.undecided() ? decided(own_) : attempt_as<Mode::executor>(own_);
    };
    const auto ends = [&] {
        if (own_.undecided() && !decided(own_))
            return false;
        return own_.one_pass == OnePass::done || advance<Mode::executor>(own_);
    };
    try {
        while (!ends())
            if (own_.undecided() || !look_ahead<Mode::executor>(own_)) {
                if (give_up())
                    return keep_own();
                wait(own_, [&] { return attempt() || give_up(); }, true);
            }
    } catch (...) {
        // Before this rank waits: those that see the failure begin no pass over its memory.
        (void)post_exception(*segment_, rank_, exhausted_);
        drain(own_);
        await_peers();
        throw;
    }
    end(own_, tally);
    return nullptr;
}

// Later calls overwrite the bases of the one that is played at once.
Run *Engine::keep_own() {
    const std::uint64_t *const at = own_.tile == 0 ? own_.bases : own_.first_bases;
    own_.kept_bases.assign(at, at + segment_->ranks());
    if (own_.tile == 0)
        own_.bases = own_.kept_bases.data();
    own_.first_bases = own_.kept_bases.data();
    return &own_;
}

void Engine::launch(Run &run, const Call &call, const Tally &tally, Gate *gate) {
    run.kept = call;
    forget_gate(run);
    if (gate != nullptr) {
        run.kept.output_heap = 0; // other ranks store there as soon as they know of the call
        Executor *const executor = gate->executor();
        if (executor != nullptr)
            show_memory(*executor);
        share_before_waiting(run, executor);
        gate->close();
    }
    run.gate = gate;
    unheard_ += gate != nullptr ? 1 : 0;
    run.kept_bases.assign(bases_[now_].begin(), bases_[now_].end());
    run.bases = run.kept_bases.data();
    try {
        begin(run, run.kept, tally);
    } catch (...) {
        forget_gate(run);
        throw;
    }
    if (recorder_ != nullptr)
        trace_begin(run);
    announce(run);
    pass_by(*call.plan);
}

// The streams continue after the call, which keeps its own bases until the next call has its place.
void Engine::pass_by(const Plan &plan) {
    const Bases &now = bases_[now_];
    Bases &next = bases_[now_ ^= 1];
    for (std::size_t r = 0; r < now.size(); ++r)
        next[r] = now[r] + plan.cell_bytes[r];
    bulk_base_ += plan.bulk_bytes;
}

// A short pause between publishing the first cells and the first look at the cells of others.  A
// look that comes too soon takes the cache line from its writer, which must fetch it back; so this
// rank waits as long as a line takes to travel.  It also prefetches the line of its next cell, so
// that the next call need not wait for it.  Together this saves a fifth of a call of a few bytes,
// and more if cores share no cache.  It does not help long cells.
void Engine::let_them_write(const Plan &plan) {
    constexpr std::uint64_t kShortBytes = 2 * transport::kLineBytes;
    if (!plan.cells.empty() && plan.cells[0].end.cells <= kShortBytes)
        for (std::uint64_t at = 0; at < plan.cells[0].end.cells; at += transport::kLineBytes)
            fetch_to_write(&cell(rank_, bases_[now_][static_cast<std::size_t>(rank_)] + at));
    constexpr int kCycles = 90; // about: 25 to 30 ns
    for (int i = 0; i < kCycles; ++i)
        asm volatile("");
}

bool Engine::forget() {
    own_.plan = nullptr;
    return stream_.settle();
}

void Engine::begin(Run &run, const Call &call, const Tally &tally) {
    if (segment_->failed()) [[unlikely]]
        refuse(call);
    const Plan &plan = *call.plan;
    run.call = &call;
    run.waited = 0;
    run.started = plan.vector_bytes >= Tally::kLongBytes || tally.calls % Tally::kEveryCalls == 0
                      ? now_ticks()
                      : 0;
    run.sequence = sequence_++;
    run.bulk_base = bulk_base_;
    // Ranks whose calls have differed once never agree again.
    run.signature = history_ = (history_ ^ call.fingerprint) * 0x9e3779b97f4a7c15u + 1;
    run.next = run.ahead = run.cells_in_use = run.settled = run.tile = run.origin = run.tiles_left =
        0;
    run.shift = 0;
    if (run.plan != &plan) { // otherwise everything has its size already
        run.make_room(plan);
        run.plan = &plan;
        run.base[2] = reinterpret_cast<std::uintptr_t>(run.scratch.data());
    }
    if (!plan.parts.empty() && segment_->remote_peers() != nullptr) {
        run.left.clear();
        run.left.insert(plan.parts.begin(), plan.parts.end());
    }
    run.base[0] = reinterpret_cast<std::uintptr_t>(call.input);
    run.base[1] = reinterpret_cast<std::uintptr_t>(call.output);
    run.sends_in_place = sends_in_place(call);
    if (run.gate == nullptr) { // else it has shared them before its stream waits
        run.input_place = run.output_place = 0;
        if (call.execution != nullptr || sharer_ != nullptr) [[unlikely]]
            share_memory(run);
    }
    run.attached =
        plan.vector_bytes >= kLeastKeptVectorBytes &&
        (call.execution != nullptr ? run.steps_share && run.input_place != 0 : attaches(call));
    run.one_pass = OnePass::no;
    if ((run.input_place | run.output_place) != 0) [[unlikely]]
        ask_for_one_pass(run);
    if (run.gate == nullptr && !run.undecided()) [[likely]]
        take_memory(run);
}

// From here on the call reads and writes the caller's memory.
void Engine::take_memory(Run &run) {
    const Call &call = *run.call;
    if (call.has_more_work()) [[unlikely]]
        prepare(run);
    if (run.plan->tiles) [[unlikely]]
        begin_tiles(run);
    if (call.execution != nullptr) [[unlikely]]
        expect_executor(run);
}

bool Engine::opened(Run &run) {
    if (!run.gate->open())
        return false;
    forget_gate(run);
    if (!run.undecided())
        take_memory(run);
    open_buffers(run);
    return true;
}

void Engine::forget_gate(Run &run) {
    unheard_ -= run.gate != nullptr ? 1 : 0;
    run.gate = nullptr;
}

// Announces the call to the other ranks, and its cells to this rank's stream.
void Engine::announce(const Run &run) {
    stream_.add(*run.plan, base_of(run), run.sequence);
    if (run.gate == nullptr)
        open_buffers(run);
    const Call &call = *run.call;
    transport::enter(mine_.entries[run.sequence % transport::kEntries],
                     {run.sequence + 1, run.signature,
                      (call.descriptor.count & ~(~std::uint64_t{0} << kCodeShift)) |
                          std::uint64_t{run.plan->code} << kCodeShift,
                      call.descriptor.packed, call.output_heap, run.plan->parameters,
                      call.in_place});
}

[[gnu::noinline]] void Engine::execute_traced(Run &run, const Step &step) {
    const std::uint64_t begin = recorder_->step_begins();
    execute<Mode::traced>(run, step);
    trace_step(run, step, begin);
}

bool Engine::attempt(Run &run) {
    if (run.gate != nullptr && !opened(run)) [[unlikely]]
        return false;
    if (run.undecided() && !decided(run)) [[unlikely]]
        return false;
    if (run.one_pass == OnePass::done) [[unlikely]]
        return true;
    const bool moved = run.call->execution != nullptr ? attempt_as<Mode::executor>(run)
                       : recorder_ != nullptr         ? attempt_as<Mode::traced>(run)
                                                      : attempt_as<Mode::here>(run);
    if (transport::RemotePeers *remote_peers = segment_->remote_peers())
        remote_peers->push();
    return moved;
}

void Engine::end(Run &run, Tally &tally, const Run *oldest) {
    close(run, tally, oldest);
    if (recorder_ != nullptr)
        recorder_->call_ends(segment_->number_of(run.sequence));
}

void Engine::close(Run &run, Tally &tally, const Run *oldest) {
    const Plan &plan = *run.call->plan;
    oldest_ = oldest != nullptr ? oldest->sequence : sequence_;
    if (oldest == nullptr)
        settle_delegated(); // a caller may come back after a long time
    mine_.progress.store(
        progress_of(oldest_, oldest != nullptr ? oldest->origin + oldest->next : 0),
        std::memory_order_release);
    if (anybody_watches(signals_)) [[unlikely]]
        ring_watchers();
    if (transport::RemotePeers *remote_peers = segment_->remote_peers()) {
        remote_peers->report_progress();
        report_taken(*remote_peers, plan, oldest);
        remote_peers->push();
    }
    if (run.call->has_more_work() && run.one_pass != OnePass::done) [[unlikely]]
        finish(run);
    std::optional<std::uint64_t> working;
    if (run.started != 0) {
        const std::uint64_t elapsed = now_ticks() - run.started;
        working = elapsed - std::min(elapsed, run.waited);
    }
    tally.add(working, run.waited);
    if (run.one_pass == OnePass::done) [[unlikely]]
        tally.one_pass.add(working, run.waited);
    // No rank may succeed on memory that is no longer valid.
    if (segment_->failed()) [[unlikely]]
        interrupt(run);
    completed_ = oldest_;
}

// A rank that leaves a call may return only after a long time, and answers no questions meanwhile.
// A rank that is already in the next call and asks it for room would wait as long.  So a rank
// reports what it has taken without being asked, before writers need the room: when another call
// like this one could fill more than what is left of a ring since the last report.
void Engine::report_taken(transport::RemotePeers &remote_peers, const Plan &plan,
                          const Run *oldest) {
    unreported_ += plan.most_ring_bytes;
    if (unreported_ + plan.most_ring_bytes <= segment_->ring_bytes())
        return;
    remote_peers.report_taken(oldest != nullptr ? oldest->bases : bases_[now_].data());
    if (oldest == nullptr)
        unreported_ = 0;
}

// Progress has no gap: a rank does not report a call before the call's predecessor is complete.
void Engine::report(const Run &run) {
    if (run.sequence != oldest_)
        return;
    mine_.progress.store(progress_of(run.sequence, run.origin + run.next),
                         std::memory_order_release);
    if (anybody_watches(signals_)) [[unlikely]]
        ring_watchers();
    if (transport::RemotePeers *remote_peers = segment_->remote_peers())
        remote_peers->report_progress();
}

} // namespace stretto::engine
