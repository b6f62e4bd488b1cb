// SPDX-License-Identifier: BSD-3-Clause
#include "requests.hpp"

#include <memory>
#include <unordered_map>
#include <utility>

#include "collectives.hpp"
#include "tokens.hpp"

namespace stretto::mpi {

std::atomic<int> pending_requests{0};

namespace {

struct Pending {
    Handle comm = 0;
    std::shared_ptr<Team> team; // the communicator may be freed before the request has ended
    Kind kind = Kind::iallreduce;
    // Persistent calls may be started in another order on other ranks (MPI 4.1, 6.13), so each has
    // a communicator of its own.
    stretto_comm apart = nullptr;
    stretto_request own = nullptr;
    Token token; // of the message that ends it
    bool running = false;

    bool persistent() const { return kind == Kind::allreduce_init; }

    Pending() = default;
    Pending(const Pending &) = delete;
    Pending &operator=(const Pending &) = delete;
    ~Pending() {
        if (own != nullptr && persistent())
            (void)stretto_request_free(&own);
        if (apart != nullptr)
            (void)stretto_finalize(&apart);
    }
};

class Requests {
public:
    // The pointer is good until the request is erased, which its owner's thread does.
    Pending *find(Handle request) {
        const std::lock_guard lock(mutex_);
        const auto found = all_.find(request);
        return found == all_.end() ? nullptr : found->second.get();
    }
    void add(Handle request, std::unique_ptr<Pending> pending) {
        const std::lock_guard lock(mutex_);
        all_[request] = std::move(pending);
        pending_requests.store(static_cast<int>(all_.size()), std::memory_order_release);
    }
    void erase(Handle request) {
        const std::lock_guard lock(mutex_);
        const auto found = all_.find(request);
        if (found == all_.end())
            return;
        tokens.give_back(found->second->token);
        all_.erase(found);
        pending_requests.store(static_cast<int>(all_.size()), std::memory_order_release);
    }
    std::unordered_map<Handle, std::unique_ptr<Pending>> take_all() {
        const std::lock_guard lock(mutex_);
        pending_requests.store(0, std::memory_order_release);
        return std::exchange(all_, {});
    }

    Tokens tokens;

private:
    std::mutex mutex_;
    std::unordered_map<Handle, std::unique_ptr<Pending>> all_;
};

Requests &requests() {
    static Requests *const all = new Requests; // threads may outlive main()
    return *all;
}

// The library's request ends.
void complete(const Pending &pending) {
    const Host &host = Host::get();
    host.Send(nullptr, 0, host.abi().byte, 0, pending.token.tag, pending.token.comm);
}

// Stretto's call has ended, with `status`.
int end(Handle request, Pending &pending, stretto_status status) {
    const std::string why = status == STRETTO_OK ? "" : stretto_last_error();
    const Kind kind = pending.kind;
    const Handle comm = pending.comm;
    const std::shared_ptr<Team> team = pending.team;
    pending.running = false;
    complete(pending);
    if (!pending.persistent())
        requests().erase(request);
    if (status == STRETTO_OK)
        return 0;
    team->failure = why;
    return raise(comm, call_name(kind), why);
}

} // namespace

Reason start_allreduce(Call &call, const void *send, void *recv, std::int64_t count,
                       Handle datatype, Handle op, void *request, bool persistent) {
    Reduction reduction;
    if (count < 0 || request == nullptr)
        return Reason::argument;
    if (const Reason reason = reduction.prepare_alone(datatype, op); reason != Reason::served)
        return reason;
    const auto elements = static_cast<std::size_t>(count);
    if (const Reason reason = call.begin(elements * reduction.datatype().size);
        reason != Reason::served)
        return reason;
    Team &team = call.team();
    const Host &host = Host::get();
    const void *const input = is_in_place(send) || send == recv ? STRETTO_IN_PLACE : send;
    auto pending = std::make_unique<Pending>();
    pending->comm = team.comm;
    pending->team = team.shared_from_this();
    pending->kind = persistent ? Kind::allreduce_init : Kind::iallreduce;
    pending->running = !persistent;
    if (persistent) {
        check(stretto_comm_dup(team.blocking, &pending->apart));
        check(stretto_allreduce_init(pending->apart, input, recv, elements, reduction.dtype(),
                                     reduction.op(), &pending->own));
    } else
        check(stretto_iallreduce(team.overlapping, input, recv, elements, reduction.dtype(),
                                 reduction.op(), &pending->own));
    Handle handle = 0;
    const auto receive = persistent ? host.Recv_init : host.Irecv;
    const Token token = pending->token = requests().tokens.take();
    if (receive(nullptr, 0, host.abi().byte, 0, token.tag, token.comm, &handle) != 0)
        throw Failure(STRETTO_ERR_SYSTEM, "the MPI library gives no request");
    std::memcpy(request, &handle, host.abi().handle_bytes);
    requests().add(handle, std::move(pending));
    return Reason::served;
}

bool is_ours(Handle request) {
    return requests().find(request) != nullptr;
}

int bring_to_end(Handle request) {
    Pending *const pending = requests().find(request);
    if (pending == nullptr || !pending->running)
        return 0;
    if (const World *world = World::active())
        world->host_this_thread();
    return end(request, *pending, stretto_wait(&pending->own));
}

bool advance(const void *array, int count) {
    const Abi &abi = Host::get().abi();
    bool all = true;
    for (int i = 0; i < count; ++i) {
        const Handle request = abi.load(array, static_cast<std::size_t>(i));
        Pending *const pending = requests().find(request);
        if (pending == nullptr || !pending->running)
            continue;
        int done = 0;
        const stretto_status status = stretto_test(&pending->own, &done);
        if (done != 0 || status != STRETTO_OK)
            (void)end(request, *pending, status);
        else
            all = false;
    }
    return all;
}

int started(Handle request) {
    Pending *const pending = requests().find(request);
    if (pending == nullptr)
        return 0;
    if (const stretto_status status = stretto_start(pending->own); status != STRETTO_OK)
        return end(request, *pending, status);
    pending->running = true;
    return 0;
}

int release(Handle request) {
    Pending *const pending = requests().find(request);
    if (pending == nullptr)
        return 0;
    const bool persistent = pending->persistent();
    const int code = bring_to_end(request);
    if (persistent)
        requests().erase(request);
    return code;
}

void finish_requests() {
    for (auto &[request, pending] : requests().take_all()) {
        if (pending->running)
            (void)stretto_wait(&pending->own);
        if (pending->running)
            complete(*pending);
    }
    requests().tokens.free_comms();
}

} // namespace stretto::mpi
