// SPDX-License-Identifier: BSD-3-Clause
// The C API: joining and leaving a job, memory, errors.
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/config.hpp"
#include "base/warning.hpp"
#include "bootstrap/out_of_band.hpp"
#include "comm/child.hpp"
#include "handles.hpp"
#include "reduce/strings.hpp"
#include "transport/wait/idle.hpp"

using stretto::Status;
using namespace stretto::api;

namespace {

// Settings that hold for the process, whatever communicators it has.
void apply_to_process(const stretto::Config &config) {
    stretto::set_warnings(config.warn);
    if (!config.error.empty())
        return; // the job does not come about
    stretto::reduce::limit_isa(config.kernels.isa);
    stretto::reduce::allow_string_copies(config.kernels.rep_movsb);
}

void warn_of_unknown_settings(const stretto::Config &config, int rank) {
    static std::atomic<bool> warned{false};
    if (rank != 0 || !config.warn || warned.exchange(true))
        return;
    for (const auto &unknown : stretto::unknown_settings(environ))
        stretto::warn(unknown.sentence);
}

// Jobs that this process, or a process that it was forked from, has joined.  A child has its
// parent's environment, but must not join in its place.
class Joined {
public:
    void add(const stretto::bootstrap::Identity &me) {
        const std::lock_guard lock(mutex_);
        const auto &[mark, pid] =
            by_rank_.try_emplace({me.job, me.rank}, stretto::process_mark(), getpid())
                .first->second;
        if (mark != stretto::process_mark())
            throw stretto::used_in_child(in_words(me), pid);
    }
    static std::string in_words(const stretto::bootstrap::Identity &me) {
        return "rank " + std::to_string(me.rank) + " of " + me.words();
    }

private:
    stretto::ProcessLock mutex_;
    std::map<std::pair<std::string, int>, std::pair<std::uint32_t, int>> by_rank_;
};

Joined &joined = *new Joined; // threads may outlive main()

// Releases a communicator that a forked child cannot use.  Only its mappings are returned:
// everything else belongs to the parent, or is private memory that another thread may have been
// using at the time of the fork.
void let_go(stretto_comm parents) {
    static std::atomic<stretto_comm> last{nullptr};
    parents->communicator.segment()->unmap_in_child();
    parents->released_before = last.exchange(parents); // keeps it reachable for leak checkers
}

stretto_comm open(stretto::ReadSettings read, const stretto::bootstrap::Identity &me) {
    joined.add(me);
    stretto::call_scope() = {me.rank};
    if (const auto most = stretto::info(stretto::Setting::size).most;
        static_cast<std::uint64_t>(me.size) > most)
        throw stretto::Error(Status::argument, "a job of " + std::to_string(me.size) +
                                                   " ranks; at most " + std::to_string(most) +
                                                   " are possible");
    apply_to_process(read.config);
    warn_of_unknown_settings(read.config, me.rank);
    auto made = std::make_unique<stretto_comm_s>(std::move(read), me);
    made->communicator.learn_network();
    return made.release();
}

// No caller asks for their errors any more.
void end(stretto_request request) {
    if (request->flight != nullptr)
        request->comm->communicator.queue().wait(*request->flight);
    stretto::p2p::Messenger &messenger = request->comm->communicator.messenger();
    for (stretto::p2p::Transfer *transfer : request->transfers) {
        if (!request->holds_stream)
            messenger.cancel(*transfer);
        messenger.wait(*transfer);
    }
    request->message = nullptr; // its memory may be gone
    try {
        release_messages(request);
    } catch (const stretto::Error &) {
    }
}

// No thread makes calls any more, but those that deliver notices free requests that no caller has.
void end_requests(stretto_comm_s &comm) {
    for (;;) {
        stretto_request next = nullptr;
        {
            const std::lock_guard lock(comm.mutex);
            if (comm.requests.empty())
                return;
            for (const stretto_request each : comm.requests)
                if (!each->detached)
                    next = each;
        }
        if (next != nullptr) {
            end(next);
            continue;
        }
        comm.communicator.queue().wait_for_all();
        comm.communicator.messenger().wait_for_orders();
        comm.communicator.notices().deliver();
        std::this_thread::yield(); // another thread may be delivering
    }
}

} // namespace

void stretto::api::refuse_child(const stretto_comm_s &parents) {
    throw used_in_child(Joined::in_words(parents.communicator.identity()), parents.pid);
}

extern "C" {

stretto_status stretto_init(stretto_comm *comm) {
    return guarded([&] {
        require(comm != nullptr, "the place for the communicator is NULL");
        *comm = nullptr;
        stretto::ReadSettings read = stretto::read_settings();
        const auto me = stretto::bootstrap::identify(read.config.network.addr);
        *comm = open(std::move(read), me);
    });
}

stretto_status stretto_init_explicit(int rank, int size, const char *job, stretto_comm *comm) {
    return guarded([&] {
        require(comm != nullptr, "the place for the communicator is NULL");
        *comm = nullptr;
        require(size >= 1 && rank >= 0 && rank < size, "rank must lie in 0 ... size - 1");
        require(job != nullptr && *job != '\0', "the job needs a name");
        stretto::ReadSettings read = stretto::read_settings();
        const stretto::bootstrap::Identity me{rank, size, job, "stretto_init_explicit",
                                              read.config.network.addr};
        *comm = open(std::move(read), me);
    });
}

stretto_status stretto_init_by_exchange(int rank, int size, stretto_allgather_function allgather,
                                        void *context, stretto_comm *comm) {
    return guarded([&] {
        require(comm != nullptr, "the place for the communicator is NULL");
        *comm = nullptr;
        require(size >= 1 && rank >= 0 && rank < size, "rank must lie in 0 ... size - 1");
        require(allgather != nullptr, "the function that exchanges is NULL");
        stretto::ReadSettings read = stretto::read_settings();
        const auto me = stretto::bootstrap::introduce(
            read.config, rank, size, [&](const void *mine, void *all, std::size_t bytes) {
                if (const int code = allgather(mine, all, bytes, context); code != 0)
                    throw stretto::Error(Status::system,
                                         "the exchange by which the ranks were to join failed "
                                         "with code " +
                                             std::to_string(code));
            });
        *comm = open(std::move(read), me);
    });
}

stretto_status stretto_finalize(stretto_comm *comm) {
    return guarded([&] {
        require(comm != nullptr && *comm != nullptr, "the communicator is NULL");
        if ((*comm)->process != stretto::process_mark())
            return let_go(std::exchange(*comm, nullptr));
        const std::unique_ptr<stretto_comm_s> owned(*comm);
        *comm = nullptr;
        if (stretto::scopes_in_use.load(std::memory_order_relaxed))
            enter_scope(*owned);
        end_requests(*owned);
        owned->communicator.messenger().close();
        owned->communicator.notices().deliver();
        owned->communicator.finish_files();
    });
}

void stretto_set_forced_fallback(int enabled) {
    stretto::comm::children_fall_back = enabled != 0;
}

void stretto_set_idle(stretto_idle_function function, void *context) {
    stretto::transport::idle_callback() = {function, context};
}

int stretto_rank(stretto_comm comm) {
    return comm == nullptr ? -1 : comm->communicator.rank();
}
int stretto_size(stretto_comm comm) {
    return comm == nullptr ? -1 : comm->communicator.size();
}

const char *stretto_last_error(void) {
    return last_error.c_str();
}

const char *stretto_status_name(stretto_status status) {
    return stretto::name(static_cast<Status>(status));
}

const char *stretto_version(void) {
    return STRETTO_VERSION_TEXT;
}

stretto_status stretto_alloc(stretto_comm comm, size_t bytes, void **memory) {
    return guarded_in(comm, [&] {
        require(comm != nullptr && memory != nullptr, "the communicator or the result is NULL");
        *memory = comm->communicator.heap().allocate(bytes);
    });
}

stretto_status stretto_free(stretto_comm comm, void *memory) {
    return guarded_in(comm, [&] {
        require(comm != nullptr, "the communicator is NULL");
        if (memory != nullptr)
            comm->communicator.heap().free(memory);
    });
}

} // extern "C"
