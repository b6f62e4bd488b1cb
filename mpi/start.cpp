// SPDX-License-Identifier: BSD-3-Clause
// How Stretto's side of MPI_COMM_WORLD begins, after MPI_Init.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "failure.hpp"
#include "launcher.hpp"
#include "mpi_job.hpp"
#include "presence.hpp"
#include "settings.hpp"
#include "stretto/communicators.h"

namespace stretto::mpi {

namespace {

// The attribute is not copied to a duplicate of the communicator, which makes its own if needed.
int copy_nothing(Handle, int, void *, void *, void *, int *flag) {
    *flag = 0;
    return 0;
}

// Reports after a while that the ranks wait for one without the preload, which never answers: users
// could not guess it.
class Watchdog {
public:
    explicit Watchdog(int rank)
        : thread_([this, rank] {
              std::unique_lock lock(mutex_);
              if (!done_.wait_for(lock, std::chrono::seconds(10), [this] { return over_; }))
                  say("rank " + std::to_string(rank) +
                      " has waited 10 s in MPI_Init for all ranks to load libstretto_mpi.so; is "
                      "LD_PRELOAD set for all of them? (stretto mpi mpirun ... sets it)");
          }) {}
    ~Watchdog() {
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
        }
        done_.notify_one();
        thread_.join();
    }

private:
    std::mutex mutex_;
    std::condition_variable done_;
    bool over_ = false;
    std::thread thread_;
};

// The launcher of another MPI library starts each rank as a job of one rank; all do the same work.
void warn_of_strange_launcher() {
    for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"})
        if (const char *value = launcher_variable(name); value != nullptr && std::atoi(value) > 1) {
            say(std::string(name) + "=" + value +
                ", but MPI_COMM_WORLD has one rank: does mpirun belong to another MPI library than "
                "the program?");
            return;
        }
}

// The reason on this rank if another rank prints the cause.
constexpr const char *kAnotherRank = "another rank cannot use Stretto, and says why";

// The data that a rank publishes; the settings are those of rank 0.
struct Greeting {
    char version[32] = "";
    std::uint32_t kinds = 0, reports = 0, wrong_settings = 0;
    std::uint32_t past = 0; // 1: a tool makes calls past Stretto
    std::uint64_t warmup = 0;
};

struct GatherContext {
    const MpiJob *job;
    Handle comm;
};

int gather_for_stretto(const void *mine, void *all, std::size_t bytes, void *context) {
    const auto *where = static_cast<const GatherContext *>(context);
    try {
        where->job->gather(where->comm, mine, all, bytes);
        return 0;
    } catch (const Failure &) {
        return 1;
    }
}

} // namespace

void MpiJob::start(const std::string &past) noexcept {
    const MpiLibrary &host = MpiLibrary::get();
    if (started_.exchange(true, std::memory_order_acq_rel))
        return;
    if (!host.mpi().known) {
        say("Stretto runs no calls: this process is no MPI program that it supports: " +
            host.mpi().why);
        return;
    }
    // In an MPI program a rank may wait for any time.  A rank that has died is noticed anyway.
    setenv("STRETTO_TIMEOUT", "0", 0);
    // The program was not written for STRETTO_ALGORITHM: where the named algorithm cannot run, the
    // library chooses.
    stretto_set_forced_fallback(1);
    std::unique_ptr<MpiJob> job(new MpiJob);
    if (job->size_ == 1)
        return warn_of_strange_launcher();
    std::string why;
    try {
        const Handle all = host.abi().comm_world;
        job->check_presence();
        job->agree_on_settings(past);
        host.Comm_create_keyval(reinterpret_cast<void *>(copy_nothing),
                                reinterpret_cast<void *>(forget), &job->keyval_, job.get());
        host.Comm_group(all, &job->group_);
        auto own = std::make_shared<CommunicatorState>();
        own->comm = all;
        own->rank = job->rank_;
        own->size = job->size_;
        GatherContext context{job.get(), all};
        bool well = stretto_init_by_exchange(job->rank_, job->size_, gather_for_stretto, &context,
                                             &own->blocking) == STRETTO_OK;
        if (!well)
            why = stretto_last_error();
        well = job->all_well(all, job->size_, well);
        if (well && job->takes(Kind::iallreduce)) {
            well = stretto_comm_dup(own->blocking, &own->overlapping) == STRETTO_OK;
            if (!well)
                why = stretto_last_error();
            well = job->all_well(all, job->size_, well);
        }
        if (!well)
            throw Failure(STRETTO_ERR_SYSTEM, why.empty() ? kAnotherRank : why);
        if (host.Comm_set_attr(all, job->keyval_, own.get()) != 0)
            throw Failure(STRETTO_ERR_SYSTEM, "MPI_COMM_WORLD takes no attribute");
        job->own_ = own.get();
        job->states_.push_back(std::move(own));
    } catch (const std::exception &error) {
        why = error.what();
        if (why != kAnotherRank)
            say("rank " + std::to_string(job->rank_) +
                ": Stretto runs no calls, the MPI library does all: " + why);
        return;
    }
    // It stays until the process ends: attributes may be deleted after MPI_Finalize.
    active_.store(job.release(), std::memory_order_release);
}

// Before all ranks are known to have Stretto, none sends a message to another: a rank without
// Stretto would take it for a message of the program.
void MpiJob::check_presence() const {
    if (user_says_all_ranks_have_it())
        return;
    const Presence::Found found = Presence::agree(host_, rank_, size_);
    switch (found.answer) {
    case Presence::Answer::all: return;
    case Presence::Answer::reported: throw Failure(STRETTO_ERR_MISMATCH, kAnotherRank);
    case Presence::Answer::some:
        throw Failure(STRETTO_ERR_MISMATCH,
                      "rank " + std::to_string(found.missing) +
                          " has not loaded libstretto_mpi.so, or uses another MPI library; set "
                          "LD_PRELOAD for all ranks, as `stretto mpi mpirun ...` does");
    case Presence::Answer::no_launcher:
        throw Failure(STRETTO_ERR_SYSTEM,
                      rank_ != 0 ? kAnotherRank
                                 : "this launcher has neither PMIx nor PMI 1 of Hydra, so Stretto "
                                   "cannot find out whether all ranks have loaded "
                                   "libstretto_mpi.so; if they have, set STRETTO_MPI_ALL_RANKS=1 "
                                   "on all");
    }
}

void MpiJob::agree_on_settings(const std::string &past) {
    Greeting mine;
    mine.past = past.empty() ? 0 : 1;
    std::strncpy(mine.version, stretto_version(), sizeof mine.version - 1);
    std::string wrong;
    try {
        mine.kinds = kinds_asked_for();
        mine.reports = report_asked_for() ? 1 : 0;
        mine.warmup = warmup_asked_for();
    } catch (const Failure &failure) {
        mine.wrong_settings = 1;
        wrong = failure.what();
    }
    std::vector<Greeting> greetings;
    {
        const Watchdog watchdog(rank_);
        greetings = gather(host_.abi().comm_world, mine, size_);
    }
    for (const Greeting &each : greetings)
        if (std::strcmp(each.version, greetings[0].version) != 0)
            throw Failure(STRETTO_ERR_MISMATCH, "ranks have loaded Stretto " +
                                                    std::string(greetings[0].version) + " and " +
                                                    each.version);
    const auto with_tool = std::find_if(greetings.begin(), greetings.end(),
                                        [](const Greeting &each) { return each.past != 0; });
    if (with_tool != greetings.end())
        throw Failure(STRETTO_ERR_ARGUMENT,
                      with_tool - greetings.begin() != rank_
                          ? kAnotherRank
                          : past + " stands behind Stretto and calls the MPI library by other "
                                   "names than PMPI_..., so calls of the program do not come to "
                                   "Stretto; put it before libstretto_mpi.so in LD_PRELOAD");
    if (greetings[0].wrong_settings != 0)
        throw Failure(STRETTO_ERR_ARGUMENT, rank_ == 0 ? wrong : kAnotherRank);
    kinds_ = greetings[0].kinds;
    reports_ = greetings[0].reports != 0;
    warmup_ = greetings[0].warmup;
}

} // namespace stretto::mpi
