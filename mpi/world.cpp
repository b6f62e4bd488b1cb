// SPDX-License-Identifier: BSD-3-Clause
#include "world.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "failure.hpp"
#include "requests.hpp"
#include "settings.hpp"
#include "stretto/communicators.h"
#include "tools.hpp"

namespace stretto::mpi {

std::atomic<World *> World::active_{nullptr};
std::atomic<std::uint64_t> World::generation_{1};

namespace {

// No copy goes to a duplicate: it makes its own when it needs one.
int copy_nothing(Handle, int, void *, void *, void *, int *flag) {
    *flag = 0;
    return 0;
}

// Says after a while what the ranks wait for, since it would be hard to guess: where LD_PRELOAD has
// not come, nobody answers.
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

// A launcher of another MPI starts each rank as a job of one, all of which do the same work.
void warn_of_strange_launcher() {
    for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"})
        if (const char *value = std::getenv(name); value != nullptr && std::atoi(value) > 1) {
            say(std::string(name) + "=" + value +
                ", but MPI_COMM_WORLD has one rank: does mpirun belong to another MPI library than "
                "the program?");
            return;
        }
}

// In place of a reason that another rank says.
constexpr const char *kAnotherRank = "another rank cannot";

// What a rank shows of itself; the settings are those of rank 0.
struct Greeting {
    char version[32] = "";
    std::uint32_t kinds = 0, reports = 0, wrong_settings = 0;
    std::uint32_t past = 0; // a tool makes calls past Stretto
    std::uint64_t warmup = 0;
};

struct GatherContext {
    const World *world;
    Handle comm;
};

int gather_for_stretto(const void *mine, void *all, std::size_t bytes, void *context) {
    const auto *where = static_cast<const GatherContext *>(context);
    try {
        where->world->gather(where->comm, mine, all, bytes);
        return 0;
    } catch (const Failure &) {
        return 1;
    }
}

} // namespace

Team::~Team() {
    for (stretto_comm *each : {&overlapping, &blocking})
        if (*each != nullptr)
            (void)stretto_finalize(each);
}

World::World() : host_(Host::get()) {
    host_.Comm_rank(host_.abi().comm_world, &rank_);
    host_.Comm_size(host_.abi().comm_world, &size_);
}

void World::start(const std::string &past) noexcept {
    const Host &host = Host::get();
    if (started_.exchange(true, std::memory_order_acq_rel))
        return;
    if (!host.mpi().known) {
        say("nothing is served: this process is no MPI program that Stretto can serve: " +
            host.mpi().why);
        return;
    }
    // An MPI program may let ranks wait for as long as it likes; that one has died is still
    // noticed.
    setenv("STRETTO_TIMEOUT", "0", 0);
    std::unique_ptr<World> world(new World);
    if (world->size_ == 1)
        return warn_of_strange_launcher();
    std::string why;
    try {
        const Handle all = host.abi().comm_world;
        world->agree_on_settings(past);
        host.Comm_create_keyval(reinterpret_cast<void *>(copy_nothing),
                                reinterpret_cast<void *>(forget), &world->keyval_, world.get());
        host.Comm_group(all, &world->group_);
        auto own = std::make_shared<Team>();
        own->comm = all;
        own->rank = world->rank_;
        own->size = world->size_;
        GatherContext context{world.get(), all};
        bool well = stretto_init_by_exchange(world->rank_, world->size_, gather_for_stretto,
                                             &context, &own->blocking) == STRETTO_OK;
        if (!well)
            why = stretto_last_error();
        well = world->all_well(all, world->size_, well);
        if (well && world->takes(Kind::iallreduce)) {
            well = stretto_comm_dup(own->blocking, &own->overlapping) == STRETTO_OK;
            if (!well)
                why = stretto_last_error();
            well = world->all_well(all, world->size_, well);
        }
        if (!well)
            throw Failure(STRETTO_ERR_SYSTEM, why.empty() ? kAnotherRank : why);
        if (host.Comm_set_attr(all, world->keyval_, own.get()) != 0)
            throw Failure(STRETTO_ERR_SYSTEM, "MPI_COMM_WORLD takes no attribute");
        world->own_ = own.get();
        world->teams_.push_back(std::move(own));
    } catch (const std::exception &error) {
        why = error.what();
        if (why != kAnotherRank)
            say("rank " + std::to_string(world->rank_) +
                ": nothing is served, the MPI library does all: " + why);
        return;
    }
    // It stays until the process ends: attributes may be deleted after MPI_Finalize.
    active_.store(world.release(), std::memory_order_release);
}

void World::agree_on_settings(const std::string &past) {
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

void World::finish() noexcept {
    World *const world = active();
    if (world == nullptr)
        return;
    try {
        finish_requests();
        if (world->rank_ == 0)
            Passed::report();
        if (world->reports_)
            world->report_.print(*world, world->waited());
    } catch (const std::exception &error) {
        say(std::string("there is no report: ") + error.what());
    }
    active_.store(nullptr, std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    stretto_set_idle(nullptr, nullptr);
    // Children first.  The teams themselves are attributes until MPI deletes them.
    const std::lock_guard lock(world->mutex_);
    for (auto team = world->teams_.rbegin(); team != world->teams_.rend(); ++team)
        for (stretto_comm *each : {&(*team)->overlapping, &(*team)->blocking})
            if (*each != nullptr)
                (void)stretto_finalize(each);
}

// The attribute is deleted: the communicator is freed.
int World::forget(Handle, int, void *value, void *world_of_it) {
    auto *const world = static_cast<World *>(world_of_it);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    std::shared_ptr<Team> ended;
    const std::lock_guard lock(world->mutex_);
    const auto found =
        std::find_if(world->teams_.begin(), world->teams_.end(),
                     [value](const std::shared_ptr<Team> &each) { return each.get() == value; });
    if (found != world->teams_.end()) {
        ended = std::move(*found);
        world->teams_.erase(found);
    }
    return 0;
}

void World::gather(Handle comm, const void *mine, void *all, std::size_t bytes) const {
    const Handle byte = host_.abi().byte;
    if (const int code = host_.Allgather(mine, static_cast<int>(bytes), byte, all,
                                         static_cast<int>(bytes), byte, comm);
        code != 0)
        throw Failure(STRETTO_ERR_SYSTEM, "MPI_Allgather failed with code " + std::to_string(code),
                      code);
}

bool World::all_well(Handle comm, int size, bool well) const {
    const auto all = gather<std::int32_t>(comm, well ? 1 : 0, size);
    return std::all_of(all.begin(), all.end(), [](std::int32_t each) { return each != 0; });
}

Team *World::team(Handle comm) {
    struct Remembered {
        std::uint64_t generation = 0;
        Handle comm = 0;
        Team *team = nullptr;
    };
    static thread_local Remembered last;
    if (last.comm == comm && last.generation == generation_.load(std::memory_order_acquire))
        [[likely]]
        return last.team;
    const std::uint64_t generation = generation_.load(std::memory_order_acquire);
    void *value = nullptr;
    int found = 0;
    if (host_.Comm_get_attr(comm, keyval_, &value, &found) != 0)
        return nullptr; // no communicator: the library says so
    if (found == 0) {
        std::shared_ptr<Team> made = make(comm);
        value = made.get();
        if (host_.Comm_set_attr(comm, keyval_, value) != 0)
            throw Failure(STRETTO_ERR_SYSTEM, "the communicator takes no attribute");
        const std::lock_guard lock(mutex_);
        teams_.push_back(std::move(made));
    }
    last = {generation, comm, static_cast<Team *>(value)};
    return last.team;
}

// Of this communicator's ranks those in MPI_COMM_WORLD; empty if one of them is not in it.
std::vector<int> World::ranks_in_world(Handle comm, int size) const {
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

std::shared_ptr<Team> World::make(Handle comm) const {
    auto team = std::make_shared<Team>();
    team->comm = comm;
    int inter = 0;
    host_.Comm_test_inter(comm, &inter);
    host_.Comm_rank(comm, &team->rank);
    host_.Comm_size(comm, &team->size);
    if (inter != 0)
        team->why_not = Reason::intercomm;
    else if (team->size == 1)
        team->why_not = Reason::alone;
    return team;
}

Reason World::prepare(Team &team, Kind kind, std::size_t bytes) {
    if (team.why_not != Reason::served)
        return team.why_not;
    if (team.blocking == nullptr) {
        // About what a library takes: whoever makes many communicators for a call or two would wait
        // for Stretto's in vain.  It follows from what all ranks know.
        constexpr std::uint64_t kCall = 5000; // ns, and one more for each byte
        team.worth += kCall + bytes;
    }
    if (kind == Kind::iallreduce) {
        // The next call that may wait for the others makes what is missing.
        if (team.overlapping != nullptr)
            return Reason::served;
        team.overlaps = true;
        return Reason::first;
    }
    if (team.blocking == nullptr) {
        if (team.worth < warmup_)
            return Reason::young;
        found(team);
        if (team.why_not != Reason::served)
            return team.why_not;
    }
    if (team.overlaps && team.overlapping == nullptr)
        check(stretto_comm_dup(team.blocking, &team.overlapping));
    return Reason::served;
}

// Where a rank of another MPI_COMM_WORLD is among them, all see that, and that one may be without
// Stretto: nothing is exchanged.  The tag tells communicators of the same ranks apart.
void World::found(Team &team) {
    const std::vector<int> ranks = ranks_in_world(team.comm, team.size);
    if (ranks.empty()) {
        team.why_not = Reason::elsewhere;
        return;
    }
    const std::int32_t tag = made_.fetch_add(1) & 0x7fffffff;
    const auto tags = gather(team.comm, tag, team.size);
    const stretto_status status =
        stretto_comm_create(own_->blocking, ranks.data(), team.size, tags[0], &team.blocking);
    const std::string why =
        status == STRETTO_OK ? "another rank cannot make a communicator" : stretto_last_error();
    if (!all_well(team.comm, team.size, status == STRETTO_OK))
        throw Failure(status == STRETTO_OK ? STRETTO_ERR_PEER : status, why);
}

double World::waited() const {
    double seconds = 0;
    for (const std::shared_ptr<Team> &team : teams_)
        for (stretto_comm comm : {team->blocking, team->overlapping}) {
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

void World::progress() const {
    int found = 0;
    constexpr int kTag = 32767; // that every library allows; nothing is received
    host_.Iprobe(host_.abi().any_source, kTag, host_.abi().comm_world, &found,
                 host_.abi().status_ignore);
}

void World::host_this_thread() const {
    static thread_local const World *hosted = nullptr;
    if (hosted == this) [[likely]]
        return;
    stretto_set_idle([](void *world) { static_cast<const World *>(world)->progress(); },
                     const_cast<World *>(this));
    hosted = this;
}

} // namespace stretto::mpi
