// SPDX-License-Identifier: BSD-3-Clause
// One call of the program, which either Stretto or the MPI library runs.
#pragma once

#include <chrono>
#include <new>

#include "failure.hpp"
#include "mpi_job.hpp"
#include "tools.hpp"

namespace stretto::mpi {

class Call {
public:
    Call(MpiJob &job, Kind kind, CommunicatorState &state)
        : job_(job), kind_(kind), state_(state) {}

    CommunicatorState &state() const { return state_; }
    stretto_comm comm() const { return state_.blocking; }
    int rank() const { return state_.rank; }
    int size() const { return state_.size; }

    // The arguments are checked, and the call moves `bytes` bytes; nothing has been sent yet. Gives
    // the reason if Stretto does not run the call.
    Reason begin(std::size_t bytes) {
        if (state_.blocking == nullptr || state_.overlapping == nullptr) [[unlikely]]
            if (const Reason reason = job_.prepare(state_, kind_, bytes);
                reason != Reason::by_stretto && reason != Reason::young)
                return reason;
        if (!job_.reports()) [[likely]]
            return state_.blocking == nullptr ? Reason::young : Reason::by_stretto;
        bytes_ = bytes;
        start_ = std::chrono::steady_clock::now();
        if (state_.blocking == nullptr)
            return Reason::young;
        // The library runs a few calls, to compare the times.  All ranks count calls alike, so they
        // leave the same ones to it.
        const std::uint64_t calls = ++state_.calls[static_cast<std::size_t>(kind_)];
        return calls % Report::kSampled == 0 ? Reason::sampled : Reason::by_stretto;
    }
    void ended(Reason reason) {
        if (!job_.reports()) [[likely]]
            return;
        job_.report().count(kind_, reason);
        if (reason != Reason::by_stretto && reason != Reason::sampled && reason != Reason::young)
            return;
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
        job_.report().time(kind_, reason == Reason::by_stretto, bytes_, time.count());
    }

private:
    MpiJob &job_;
    const Kind kind_;
    CommunicatorState &state_;
    std::size_t bytes_ = 0;
    std::chrono::steady_clock::time_point start_;
};

// For a rank that fails after others have begun the call: it leaves Stretto's communicators, so the
// others find that it has left.
inline int give_up(CommunicatorState *state, Handle comm, Kind kind, const std::string &why) {
    if (state != nullptr) {
        state->failure = why;
        for (stretto_comm *each : {&state->overlapping, &state->blocking})
            if (*each != nullptr)
                (void)stretto_finalize(each);
    }
    return raise(comm, call_name(kind), why);
}

// `attempt` runs the call, or returns the reason why Stretto does not run it, before anything is
// sent; then `library` makes the call.
template<class Attempt, class Library>
int intercept(Kind kind, Handle comm_as_given, Attempt &&attempt, Library &&library) {
    Passed::came_back(kind);
    MpiJob *const job = MpiJob::active();
    if (job == nullptr || !job->takes(kind))
        return library();
    const Abi &abi = MpiLibrary::get().abi();
    const Handle comm = abi.handle(comm_as_given);
    if (comm == abi.comm_null || comm == 0)
        return library();
    CommunicatorState *state = nullptr;
    try {
        job->host_this_thread();
        state = job->state_of(comm);
        if (state == nullptr)
            return library();
        if (!state->failure.empty())
            return raise(comm, call_name(kind), "it failed before: " + state->failure);
        Call call(*job, kind, *state);
        // Checked before the arguments, as an intercommunicator has different ones.
        const Reason reason = state->why_not != Reason::by_stretto ? state->why_not : attempt(call);
        const int code = reason == Reason::by_stretto ? 0 : library();
        if (MpiJob::has_windows.load(std::memory_order_relaxed)) [[unlikely]]
            job->progress();
        call.ended(reason);
        return code;
    } catch (const Failure &failure) {
        return failure.code() != 0 ? failure.code() : give_up(state, comm, kind, failure.what());
    } catch (const std::bad_alloc &) {
        return give_up(state, comm, kind,
                       "rank " + std::to_string(job->rank()) + " has no memory for it");
    } catch (const std::exception &error) {
        return give_up(state, comm, kind, error.what());
    }
}

} // namespace stretto::mpi
