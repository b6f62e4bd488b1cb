// SPDX-License-Identifier: BSD-3-Clause
#include "requests.hpp"

#include <memory>
#include <unordered_map>
#include <utility>

#include "collectives.hpp"
#include "proxy_requests.hpp"

namespace stretto::mpi {

std::atomic<int> pending_requests{0};

namespace {

struct Pending {
    Handle comm = 0;
    std::shared_ptr<CommunicatorState>
        state; // the communicator may be freed before the request has ended
    Kind kind = Kind::iallreduce;
    // Persistent calls may be started in another order on other ranks (MPI 4.1, 6.13), so each has
    // a communicator of its own.
    stretto_comm apart = nullptr;
    stretto_request own = nullptr;
    ProxyRequest proxy;
    Dense contribution; // a copy of the input, if it shares memory with the result
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
    // The pointer is valid until the request is erased; the thread that owns the request does that.
    Pending *find(Handle request) {
        const std::lock_guard lock(mutex_);
        const auto found = all_.find(request);
        return found == all_.end() ? nullptr : found->second.get();
    }
    void add(std::unique_ptr<Pending> pending) {
        const std::lock_guard lock(mutex_);
        all_[pending->proxy.request] = std::move(pending);
        pending_requests.store(static_cast<int>(all_.size()), std::memory_order_release);
    }
    // From now on another call may use the same request of the library.
    void erase(const Pending &pending, ProxyRequests::Receive receive) {
        const ProxyRequest proxy = pending.proxy;
        {
            const std::lock_guard lock(mutex_);
            all_.erase(proxy.request);
            pending_requests.store(static_cast<int>(all_.size()), std::memory_order_release);
        }
        proxies.give_back(proxy, receive);
    }
    std::unordered_map<Handle, std::unique_ptr<Pending>> take_all() {
        const std::lock_guard lock(mutex_);
        pending_requests.store(0, std::memory_order_release);
        return std::exchange(all_, {});
    }

    ProxyRequests proxies;

private:
    std::mutex mutex_;
    std::unordered_map<Handle, std::unique_ptr<Pending>> all_;
};

Requests &requests() {
    static Requests *const all = new Requests; // threads may outlive main()
    return *all;
}

// When Stretto's call has ended, the library's request either ends, and the library's functions
// report that to the program; or it stays pending for another call, and the program's handle is set
// to null.
using Receive = ProxyRequests::Receive;

// Stretto's call has ended, with `status`.
int end(Pending &pending, stretto_status status, Receive receive = Receive::ended) {
    const std::string why = status == STRETTO_OK ? "" : stretto_last_error();
    const Kind kind = pending.kind;
    const Handle comm = pending.comm;
    const std::shared_ptr<CommunicatorState> state = pending.state;
    pending.running = false;
    if (receive == Receive::ended)
        ProxyRequests::end(pending.proxy);
    if (!pending.persistent())
        requests().erase(pending, receive);
    if (status == STRETTO_OK)
        return 0;
    state->failure = why;
    return raise(comm, call_name(kind), why);
}

} // namespace

Reason start_allreduce(Call &call, const void *send, void *recv, std::int64_t count,
                       Handle datatype, Handle op, void *request, bool persistent) {
    Reduction reduction;
    if (count < 0 || request == nullptr)
        return Reason::argument;
    if (const Reason reason = reduction.prepare_alone(datatype, op); reason != Reason::by_stretto)
        return reason;
    const auto elements = static_cast<std::size_t>(count);
    if (const Reason reason = call.begin(elements * reduction.datatype().size);
        reason != Reason::by_stretto)
        return reason;
    CommunicatorState &state = call.state();
    const MpiLibrary &host = MpiLibrary::get();
    const void *input = is_in_place(send) || send == recv ? STRETTO_IN_PLACE : send;
    auto pending = std::make_unique<Pending>();
    pending->comm = state.comm;
    pending->state = state.shared_from_this();
    pending->kind = persistent ? Kind::allreduce_init : Kind::iallreduce;
    pending->running = !persistent;
    if (input != STRETTO_IN_PLACE && !persistent) {
        const std::size_t bytes = elements * reduction.datatype().size;
        pending->contribution =
            Dense(reduction.datatype(), elements, readable(send), Dense::Use::read);
        pending->contribution.keep_from(bytes, recv, bytes);
        input = pending->contribution.data();
    }
    if (persistent) {
        check(stretto_comm_dup(state.blocking, &pending->apart));
        check(stretto_allreduce_init(pending->apart, input, recv, elements, reduction.dtype(),
                                     reduction.op(), &pending->own));
    } else
        check(stretto_iallreduce(state.overlapping, input, recv, elements, reduction.dtype(),
                                 reduction.op(), &pending->own));
    ProxyRequests &proxies = requests().proxies;
    pending->proxy = persistent ? proxies.receive_init() : proxies.receive();
    host.abi().store(request, 0, pending->proxy.request);
    requests().add(std::move(pending));
    return Reason::by_stretto;
}

bool is_ours(Handle request) {
    return requests().find(request) != nullptr;
}

namespace {

// Waits for a running call.
int wait_for(Pending &pending, Receive receive) {
    if (const MpiJob *job = MpiJob::active())
        job->host_this_thread();
    return end(pending, stretto_wait(&pending.own), receive);
}

// Whether a running call has ended; `code` is then the code for the program.
bool test(Pending &pending, Receive receive, int &code) {
    int done = 0;
    const stretto_status status = stretto_test(&pending.own, &done);
    if (done == 0 && status == STRETTO_OK)
        return false;
    code = end(pending, status, receive);
    return true;
}

// The running call that `request` belongs to, or null.
Pending *running(Handle request) {
    Pending *const pending = requests().find(request);
    return pending != nullptr && pending->running ? pending : nullptr;
}

// What becomes of the library's request after the call.  The program keeps a persistent request, so
// that one must end.
Receive after(const Pending &pending) {
    return pending.persistent() ? Receive::ended : Receive::pending;
}

} // namespace

int complete(Handle request) {
    Pending *const pending = running(request);
    return pending == nullptr ? 0 : wait_for(*pending, Receive::ended);
}

int complete_and_clear(void *array, std::size_t i) {
    const Abi &abi = MpiLibrary::get().abi();
    Pending *const pending = running(abi.load(array, i));
    if (pending == nullptr)
        return 0;
    const Receive receive = after(*pending);
    const int code = wait_for(*pending, receive);
    if (receive == Receive::pending)
        abi.store(array, i, abi.request_null);
    return code;
}

int test_and_clear(void *request) {
    const Abi &abi = MpiLibrary::get().abi();
    Pending *const pending = running(abi.load(request, 0));
    int code = 0;
    if (pending == nullptr)
        return 0;
    const Receive receive = after(*pending);
    if (test(*pending, receive, code) && receive == Receive::pending)
        abi.store(request, 0, abi.request_null);
    return code;
}

bool advance(const void *array, int count) {
    const Abi &abi = MpiLibrary::get().abi();
    bool all = true;
    for (int i = 0; i < count; ++i) {
        Pending *const pending = running(abi.load(array, static_cast<std::size_t>(i)));
        int code = 0;
        if (pending != nullptr && !test(*pending, Receive::ended, code))
            all = false;
    }
    return all;
}

int started(Handle request) {
    Pending *const pending = requests().find(request);
    if (pending == nullptr)
        return 0;
    if (const stretto_status status = stretto_start(pending->own); status != STRETTO_OK)
        return end(*pending, status);
    pending->running = true;
    return 0;
}

int release(Handle request) {
    Pending *const pending = requests().find(request);
    if (pending == nullptr)
        return 0;
    const bool persistent = pending->persistent();
    const int code = complete(request);
    if (persistent)
        requests().erase(*pending, ProxyRequests::Receive::ended);
    return code;
}

void finish_requests() {
    for (auto &[request, pending] : requests().take_all()) {
        if (pending->running)
            (void)stretto_wait(&pending->own);
        if (pending->running)
            ProxyRequests::end(pending->proxy);
    }
    requests().proxies.finish();
}

} // namespace stretto::mpi
