// SPDX-License-Identifier: BSD-3-Clause
#include "mpi_job.hpp"

#include <algorithm>

#include "failure.hpp"
#include "requests.hpp"
#include "stretto/communicators.h"
#include "tools.hpp"

namespace stretto::mpi {

std::atomic<MpiJob *> MpiJob::active_{nullptr};
std::atomic<std::uint64_t> MpiJob::generation_{1};

CommunicatorState::~CommunicatorState() {
    for (stretto_comm *each : {&overlapping, &blocking})
        if (*each != nullptr)
            (void)stretto_finalize(each);
}

MpiJob::MpiJob() : host_(MpiLibrary::get()) {
    host_.Comm_rank(host_.abi().comm_world, &rank_);
    host_.Comm_size(host_.abi().comm_world, &size_);
}

void MpiJob::finish() noexcept {
    MpiJob *const job = active();
    if (job == nullptr)
        return;
    try {
        finish_requests();
        if (job->rank_ == 0)
            Passed::report();
        if (job->reports_)
            job->report_.print(*job, job->waited());
    } catch (const std::exception &error) {
        say(std::string("there is no report: ") + error.what());
    }
    active_.store(nullptr, std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    stretto_set_idle(nullptr, nullptr);
    // Children first.  The states themselves are attributes until MPI deletes them.
    const std::lock_guard lock(job->mutex_);
    for (auto state = job->states_.rbegin(); state != job->states_.rend(); ++state)
        for (stretto_comm *each : {&(*state)->overlapping, &(*state)->blocking})
            if (*each != nullptr)
                (void)stretto_finalize(each);
}

// The attribute is deleted: the communicator is freed.
int MpiJob::forget(Handle, int, void *value, void *job_of_it) {
    auto *const job = static_cast<MpiJob *>(job_of_it);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    std::shared_ptr<CommunicatorState> ended;
    const std::lock_guard lock(job->mutex_);
    const auto found = std::find_if(
        job->states_.begin(), job->states_.end(),
        [value](const std::shared_ptr<CommunicatorState> &each) { return each.get() == value; });
    if (found != job->states_.end()) {
        ended = std::move(*found);
        job->states_.erase(found);
    }
    return 0;
}

void MpiJob::gather(Handle comm, const void *mine, void *all, std::size_t bytes) const {
    const Handle byte = host_.abi().byte;
    if (const int code = host_.Allgather(mine, static_cast<int>(bytes), byte, all,
                                         static_cast<int>(bytes), byte, comm);
        code != 0)
        throw Failure(STRETTO_ERR_SYSTEM, "MPI_Allgather failed with code " + std::to_string(code),
                      code);
}

bool MpiJob::all_well(Handle comm, int size, bool well) const {
    const auto all = gather<std::int32_t>(comm, well ? 1 : 0, size);
    return std::all_of(all.begin(), all.end(), [](std::int32_t each) { return each != 0; });
}

CommunicatorState *MpiJob::state_of(Handle comm) {
    struct Remembered {
        std::uint64_t generation = 0;
        Handle comm = 0;
        CommunicatorState *state = nullptr;
    };
    static thread_local Remembered last;
    if (last.comm == comm && last.generation == generation_.load(std::memory_order_acquire))
        [[likely]]
        return last.state;
    const std::uint64_t generation = generation_.load(std::memory_order_acquire);
    void *value = nullptr;
    int found = 0;
    if (host_.Comm_get_attr(comm, keyval_, &value, &found) != 0)
        return nullptr; // no communicator: the library reports the error
    if (found == 0) {
        std::shared_ptr<CommunicatorState> made = make(comm);
        value = made.get();
        if (host_.Comm_set_attr(comm, keyval_, value) != 0)
            throw Failure(STRETTO_ERR_SYSTEM, "the communicator takes no attribute");
        const std::lock_guard lock(mutex_);
        states_.push_back(std::move(made));
    }
    last = {generation, comm, static_cast<CommunicatorState *>(value)};
    return last.state;
}

// The numbers of this communicator's ranks in MPI_COMM_WORLD; empty if one of them is not in it.
std::vector<int> MpiJob::ranks_in_world(Handle comm, int size) const {
    std::vector<int> mine(static_cast<std::size_t>(size)), ranks(mine.size());
    for (int rank = 0; rank < size; ++rank)
        mine[static_cast<std::size_t>(rank)] = rank;
    Handle group = 0;
    if (host_.Comm_group(comm, &group) != 0)
        return {};
    const int code = host_.Group_translate_ranks(group, size, mine.data(), group_, ranks.data());
    host_.Group_free(&group);
    const bool all =
        code == 0 && std::find(ranks.begin(), ranks.end(), host_.abi().undefined) == ranks.end();
    return all ? ranks : std::vector<int>();
}

std::shared_ptr<CommunicatorState> MpiJob::make(Handle comm) const {
    auto state = std::make_shared<CommunicatorState>();
    state->comm = comm;
    int inter = 0;
    host_.Comm_test_inter(comm, &inter);
    host_.Comm_rank(comm, &state->rank);
    host_.Comm_size(comm, &state->size);
    if (inter != 0)
        state->why_not = Reason::intercomm;
    else if (state->size == 1)
        state->why_not = Reason::alone;
    return state;
}

Reason MpiJob::prepare(CommunicatorState &state, Kind kind, std::size_t bytes) {
    if (state.why_not != Reason::by_stretto)
        return state.why_not;
    if (state.blocking == nullptr) {
        // About the time that the library would take.  A program that makes many communicators for
        // a call or two each would not gain from Stretto's.  The estimate follows from data that
        // all ranks have.
        constexpr std::uint64_t kCall = 5000; // ns, and one more for each byte
        state.worth += kCall + bytes;
    }
    if (kind == Kind::iallreduce) {
        // The next call that may wait for other ranks makes the missing communicator.
        if (state.overlapping != nullptr)
            return Reason::by_stretto;
        state.overlaps = true;
        return Reason::first;
    }
    if (state.blocking == nullptr) {
        if (state.worth < warmup_)
            return Reason::young;
        make_communicator(state);
        if (state.why_not != Reason::by_stretto)
            return state.why_not;
    }
    if (state.overlaps && state.overlapping == nullptr)
        check(stretto_comm_dup(state.blocking, &state.overlapping));
    return Reason::by_stretto;
}

// If a rank belongs to another MPI_COMM_WORLD, all ranks find that out by themselves.  That rank
// may lack Stretto, so no data is exchanged in this case.  The tag distinguishes communicators of
// the same ranks.
void MpiJob::make_communicator(CommunicatorState &state) {
    const std::vector<int> ranks = ranks_in_world(state.comm, state.size);
    if (ranks.empty()) {
        state.why_not = Reason::elsewhere;
        return;
    }
    const std::int32_t tag = made_.fetch_add(1) & 0x7fffffff;
    const auto tags = gather(state.comm, tag, state.size);
    const stretto_status status =
        stretto_comm_create(own_->blocking, ranks.data(), state.size, tags[0], &state.blocking);
    const std::string why =
        status == STRETTO_OK ? "another rank cannot make a communicator" : stretto_last_error();
    if (!all_well(state.comm, state.size, status == STRETTO_OK))
        throw Failure(status == STRETTO_OK ? STRETTO_ERR_PEER : status, why);
}

double MpiJob::waited() const {
    double seconds = 0;
    for (const std::shared_ptr<CommunicatorState> &state : states_)
        for (stretto_comm comm : {state->blocking, state->overlapping}) {
            std::vector<stretto_stat> lines(64);
            std::size_t count = 0;
            if (comm == nullptr ||
                stretto_stats(comm, lines.data(), lines.size(), &count) != STRETTO_OK)
                continue;
            for (std::size_t i = 0; i < std::min(count, lines.size()); ++i)
                seconds += lines[i].waiting_seconds;
        }
    return seconds;
}

void MpiJob::progress() const {
    int found = 0;
    constexpr int kTag = 32767; // that every library allows; nothing is received
    host_.Iprobe(host_.abi().any_source, kTag, host_.abi().comm_world, &found,
                 host_.abi().status_ignore);
}

void MpiJob::host_this_thread() const {
    static thread_local const MpiJob *hosted = nullptr;
    if (hosted == this) [[likely]]
        return;
    stretto_set_idle([](void *job) { static_cast<const MpiJob *>(job)->progress(); },
                     const_cast<MpiJob *>(this));
    hosted = this;
}

} // namespace stretto::mpi
