// SPDX-License-Identifier: BSD-3-Clause
// Plays a run step by step: in the order of the plan, ahead of a step that waits, and with short
// waits.  Part of engine.cpp, which inlines it into the functions that play calls.
#pragma once

#include <algorithm>

#include "base/cpu_pause.hpp"
#include "engine/issued.hpp"
#include "engine/step.inl"

namespace stretto::engine {

// True if the step is complete.
template<Engine::Mode mode>
[[gnu::always_inline]] inline bool Engine::perform(Run &run, const Step &step) {
    if constexpr (mode != Mode::traced)
        return execute<mode>(run, step);
    execute_traced(run, step);
    return true;
}

template<Engine::Mode mode>
[[gnu::always_inline]] inline void Engine::note_wait(const Run &run) {
    if constexpr (mode != Mode::here)
        if (recorder_ != nullptr)
            trace_wait(run);
}

// Runs steps before `end`, as far as they can run now.
template<Engine::Mode mode>
[[gnu::always_inline]] inline bool Engine::proceed(Run &run, std::uint32_t end) {
    const Plan &plan = *run.plan;
    while (run.next < end) {
        if (run.ahead != 0 && run.is_done(run.next)) {
            run.done[run.next / 64] &= ~(1ull << (run.next % 64));
            --run.ahead;
        } else {
            const Step &step = plan.steps[run.next];
            if constexpr (mode == Mode::executor)
                if (run.issued->has(run.next)) {
                    note_wait<mode>(run);
                    return false;
                }
            if (!ready(run, step)) {
                if constexpr (mode == Mode::executor)
                    prefetch(run, run.next);
                note_wait<mode>(run);
                return false;
            }
            if (!perform<mode>(run, step))
                return false;
        }
        ++run.next;
        if (plan.reports)
            report(run);
    }
    return true;
}

template<Engine::Mode mode>
bool Engine::advance(Run &run) {
    if constexpr (mode == Mode::executor)
        collect(run);
    while (advance_tile<mode>(run))
        if (!next_tile(run))
            return true;
    return false;
}

template<Engine::Mode mode>
[[gnu::always_inline]] inline bool Engine::advance_tile(Run &run) {
    const Plan &plan = *run.plan;
    if (!proceed<mode>(run, static_cast<std::uint32_t>(plan.steps.size())))
        return false;
    // The call may end only when other ranks have finished reading its memory in place.
    for (; run.cells_in_use != 0; ++run.settled) {
        if (run.in_place_cells[run.settled] == 0)
            continue;
        if (!stream_.given_back(plan, before_tile(run), plan.steps[run.settled])) {
            note_wait<mode>(run);
            return false;
        }
        run.in_place_cells[run.settled] = 0;
        --run.cells_in_use;
    }
    return true;
}

template<Engine::Mode mode>
bool Engine::attempt_as(Run &run) {
    const std::uint64_t before = run.moves();
    return advance<mode>(run) || look_ahead<mode>(run) || run.moves() != before;
}

// Runs steps after the one that waits, if their own predecessors are complete; if its tile has
// none, steps of the next tile.
template<Engine::Mode mode>
bool Engine::look_ahead(Run &run) {
    const bool moved =
        (run.next < run.plan->steps.size() && look_ahead<mode>(run, run.next + 1, run)) ||
        (run.tiles_left != 0 && look_ahead<mode>(*run.following, 0, run));
    if constexpr (mode == Mode::executor)
        run.call->execution->executor->start_issued(); // all that are ready now
    return moved;
}

// Runs steps of a tile from `first` on, until the one that `run` waits for can run.
template<Engine::Mode mode>
bool Engine::look_ahead(Run &tile, std::uint32_t first, Run &run) {
    constexpr std::uint32_t kWindowSteps = IssuedSteps::kWindowSteps;
    const Plan &plan = *tile.plan;
    const auto end = static_cast<std::uint32_t>(
        std::min<std::size_t>(plan.steps.size(), std::size_t{tile.next} + kWindowSteps));
    const auto complete = [&](std::uint32_t step) {
        return step < tile.next || tile.is_done(step);
    };
    const auto issued = [](const Run &of, std::uint32_t step) {
        if constexpr (mode == Mode::executor)
            return of.issued->has(step);
        return false;
    };
    const auto waits = [&] {
        return run.next == run.plan->steps.size() || issued(run, run.next) ||
               !ready(run, run.plan->steps[run.next]);
    };
    bool moved = false;
    for (std::uint32_t i = first; i < end; ++i) {
        const Step &step = plan.steps[i];
        if (tile.is_done(i) || issued(tile, i))
            continue;
        const std::uint32_t *before = plan.before.data() + step.first_before;
        if (!std::all_of(before, before + step.predecessors, complete))
            continue;
        if (!ready(tile, step)) {
            if constexpr (mode == Mode::executor)
                prefetch(tile, i);
            continue;
        }
        moved = true;
        if (!perform<mode>(tile, step))
            continue;
        tile.done[i / 64] |= 1ull << (i % 64);
        ++tile.ahead;
        if (!waits())
            break; // back to depth first
    }
    return moved;
}

// Waits a little without giving up the core; true if a step can run again.
template<Engine::Mode mode>
bool Engine::spin(Run &run) {
    if (spins_ && run.next < run.plan->steps.size()) {
        const Step &step = run.plan->steps[run.next];
        const auto look = [&] {
            for (int i = 0; i < 64; ++i) {
                if (ready(run, step))
                    return true;
                cpu_pause();
            }
            return false;
        };
        if (look()) // too short to read the clock twice
            return true;
        const std::uint64_t start = now_ticks();
        std::uint64_t waited = 0;
        bool success = false;
        while (!success && waited < patience_ticks_) {
            success = look();
            waited = now_ticks() - start;
        }
        run.waited += waited;
        if (success)
            return true;
    }
    return look_ahead<mode>(run);
}

} // namespace stretto::engine
