// SPDX-License-Identifier: BSD-3-Clause
// One call of the program: by Stretto, or by the MPI library under it.
#pragma once

#include <chrono>
#include <new>

#include "failure.hpp"
#include "tools.hpp"
#include "world.hpp"

namespace stretto::mpi {

class Call {
public:
    Call(MpiJob &world, Kind kind, CommunicatorState &team)
        : world_(world), kind_(kind), team_(team) {}

    CommunicatorState &team() const { return team_; }
    stretto_comm comm() const { return team_.blocking; }
    int rank() const { return team_.rank; }
    int size() const { return team_.size; }

    // All is known of it that must be, among that its size; nothing has been sent.
    Reason begin(std::size_t bytes) {
        if (team_.blocking == nullptr || team_.overlapping == nullptr) [[unlikely]]
            if (const Reason reason = world_.prepare(team_, kind_, bytes);
                reason != Reason::served && reason != Reason::young)
                return reason;
        if (!world_.reports()) [[likely]]
            return team_.blocking == nullptr ? Reason::young : Reason::served;
        bytes_ = bytes;
        start_ = std::chrono::steady_clock::now();
        if (team_.blocking == nullptr)
            return Reason::young;
        // A few calls are the library's, to compare times; which, all ranks count alike.
        const std::uint64_t calls = ++team_.calls[static_cast<std::size_t>(kind_)];
        return calls % Report::kSampled == 0 ? Reason::sampled : Reason::served;
    }
    void ended(Reason reason) {
        if (!world_.reports()) [[likely]]
            return;
        world_.report().count(kind_, reason);
        if (reason != Reason::served && reason != Reason::sampled && reason != Reason::young)
            return;
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
        world_.report().time(kind_, reason == Reason::served, bytes_, time.count());
    }

private:
    MpiJob &world_;
    const Kind kind_;
    CommunicatorState &team_;
    std::size_t bytes_ = 0;
    std::chrono::steady_clock::time_point start_;
};

// For a rank that cannot continue after others have begun the call: it leaves the communicator, by
// which the others learn of it.
inline int give_up(CommunicatorState *team, Handle comm, Kind kind, const std::string &why) {
    if (team != nullptr) {
        team->failure = why;
        for (stretto_comm *each : {&team->overlapping, &team->blocking})
            if (*each != nullptr)
                (void)stretto_finalize(each);
    }
    return raise(comm, call_name(kind), why);
}

// `attempt` runs the call, or returns the reason why Stretto does not run it, before anything is
// sent; then `library` makes the call.
template<class Attempt, class Library>
int serve(Kind kind, Handle comm_as_given, Attempt &&attempt, Library &&library) {
    Passed::came_back(kind);
    MpiJob *const world = MpiJob::active();
    if (world == nullptr || !world->takes(kind))
        return library();
    const Abi &abi = MpiLibrary::get().abi();
    const Handle comm = abi.handle(comm_as_given);
    if (comm == abi.comm_null || comm == 0)
        return library();
    CommunicatorState *team = nullptr;
    try {
        world->host_this_thread();
        team = world->team(comm);
        if (team == nullptr)
            return library();
        if (!team->failure.empty())
            return raise(comm, call_name(kind), "it failed before: " + team->failure);
        Call call(*world, kind, *team);
        // Checked before the arguments, as an intercommunicator has different ones.
        const Reason reason = team->why_not != Reason::served ? team->why_not : attempt(call);
        const int code = reason == Reason::served ? 0 : library();
        if (MpiJob::has_windows.load(std::memory_order_relaxed)) [[unlikely]]
            world->progress();
        call.ended(reason);
        return code;
    } catch (const Failure &failure) {
        return failure.code() != 0 ? failure.code() : give_up(team, comm, kind, failure.what());
    } catch (const std::bad_alloc &) {
        return give_up(team, comm, kind,
                       "rank " + std::to_string(world->rank()) + " has no memory for it");
    } catch (const std::exception &error) {
        return give_up(team, comm, kind, error.what());
    }
}

} // namespace stretto::mpi
