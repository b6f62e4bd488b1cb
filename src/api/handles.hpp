// SPDX-License-Identifier: BSD-3-Clause
// The objects behind the handles of the C API, and how exceptions become statuses.
#pragma once

#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <pthread.h>
#include <set>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/call_scope.hpp"
#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/inline_vector.hpp"
#include "base/process.hpp"
#include "base/status.hpp"
#include "base/thread_end.hpp"
#include "comm/communicator.hpp"
#include "device/devices.hpp"
#include "device/program_streams.hpp"
#include "device/stream_order.hpp"
#include "engine/failure.hpp"
#include "stretto/stretto.h"

namespace stretto::api {
class AtEnd; // requests.cpp

// settings.cpp: the settings of a communicator that was just made.
std::vector<SettingState> settings_of(std::vector<SettingState> read, const bootstrap::Identity &me,
                                      const comm::Communicator &communicator);
} // namespace stretto::api

struct stretto_comm_s {
    stretto_comm_s(stretto::ReadSettings init, const stretto::bootstrap::Identity &identity,
                   const stretto::bootstrap::ParentContext *origin = nullptr)
        : read(std::move(init)), communicator(read.config, identity, origin),
          settings(stretto::api::settings_of(read.states, identity, communicator)) {}
    const std::uint32_t process = stretto::process_mark(); // the communicator that it belongs to
    const int pid = getpid();
    const stretto::ReadSettings read; // by the init of its job
    stretto::comm::Communicator communicator;
    std::vector<stretto::SettingState> settings; // that it goes by: also what the program has set
    std::atomic<std::uint64_t> limit_ns{0};      // of each call; 0: none
    std::atomic<bool> mixed{false};              // blocking and nonblocking calls of ranks match
    std::set<std::string> texts;                 // JSON that callers have been given
    std::vector<int> parent_ranks; // of a communicator made of another, by its own ranks
    bool shrunk = false;           // a shrink has replaced it
    stretto_comm_s *released_before = nullptr; // in a forked child: the list of released ones
    std::mutex mutex;                          // of requests
    std::set<stretto_request_s *> requests;
    stretto::calls::Stats shown; // keeps the names of the last stretto_stats alive
};

struct stretto_request_s {
    stretto_comm_s *comm;
    stretto::calls::Request request = {};
    bool persistent = false;
    std::uint64_t tested_since = 0; // the first test that found it incomplete; 0: not tested
    stretto::engine::Queue::InFlightCall *flight = nullptr; // null if it is not running
    // Of messages: the request ends when all of them have.
    stretto::InlineVector<stretto::p2p::Transfer *, 1> transfers = {};
    const void *buffer = nullptr; // of messages: one in memory of a device; null: none is there
    std::optional<std::uint64_t> exchange = {}; // the call number of the collective that they form
    stretto_message *message = nullptr; // where the caller wants source, tag and size; may be null
    std::vector<std::byte> aside = {};  // copies of overwritten contributions
    stretto::engine::Batch batch = {};  // its pieces, if it is one
    std::shared_ptr<const stretto::reduce::Operation> operation = nullptr; // that the caller made
    std::shared_ptr<stretto::api::AtEnd> at_end = nullptr; // null: nothing happens at its end
    bool notifies = false;     // a function of the program is called then
    bool holds_stream = false; // a stream waits for it, by stretto_stream_wait
    bool detached = false;     // the caller has no handle: it is freed at its end
};

namespace stretto::api {

// The message of this thread's last failure; storing it needs no memory.
class LastError {
public:
    void operator=(const char *message) noexcept {
        text_[0] = '\0';
        std::strncat(text_, message, sizeof(text_) - 1);
    }
    const char *c_str() const { return text_; }

private:
    char text_[2048] = "";
};
inline thread_local LastError last_error;

// Defers the cancellation of this thread: if another thread cancels it inside a call, it ends when
// it leaves the call.
class Uncancelled {
public:
    Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
    Uncancelled(const Uncancelled &) = delete;
    Uncancelled &operator=(const Uncancelled &) = delete;

private:
    int before_ = 0;
};

// Runs `body` and turns what it throws into a status and a message.
template<class Body>
stretto_status guarded(Body &&body) {
    const Uncancelled uncancelled;
    try {
        body();
        return STRETTO_OK;
    } catch (const Error &error) {
        last_error = error.what();
        return static_cast<stretto_status>(error.status());
    } catch (const std::bad_alloc &) {
        last_error = "out of memory";
        return STRETTO_ERR_MEMORY;
    } catch (const std::system_error &error) { // for instance, no thread could be started
        last_error = error.what();
        return STRETTO_ERR_SYSTEM;
    } catch (const std::exception &error) {
        last_error = error.what();
        return STRETTO_ERR_INTERNAL;
    } catch (const ThreadEnd &) { // pthread_exit in a function of the program
        throw;
    } catch (...) {
        last_error = engine::kNoStandardException;
        return STRETTO_ERR_OPERATION;
    }
}

// life.cpp: throws the error of a call in a forked child.
[[noreturn]] void refuse_child(const stretto_comm_s &parents);

// waiting.cpp: the limits of the call that this thread begins.
void enter_scope(const stretto_comm_s &comm);

// The same for a function that uses `comm`, which may be NULL.  In a forked child such functions
// only return an error.
template<class Body>
stretto_status guarded_in(stretto_comm comm, Body &&body) {
    return guarded([&] {
        if (comm != nullptr && comm->process != process_mark()) [[unlikely]]
            refuse_child(*comm);
        std::optional<engine::Notices::Delivery> at_end;
        if (comm != nullptr)
            at_end.emplace(comm->communicator.notices());
        if (comm != nullptr && scopes_in_use.load(std::memory_order_relaxed))
            enter_scope(*comm);
        body();
    });
}

inline void require(bool condition, const char *message) {
    if (!condition) [[unlikely]]
        throw Error(Status::argument, message);
}

inline constexpr std::size_t kMostElements = SIZE_MAX / kLargestRecordBytes; // in the address space

// devices.cpp: the buffers of one call.  Before a call that no stream orders reads or writes memory
// of a device, or announces itself, the host waits for what the program has given to CUDA's default
// stream, such as the end of a cudaMemcpy.
class CallBuffers {
public:
    CallBuffers(stretto_comm comm, bool ordered) : comm_(comm), ordered_(ordered) {}
    // The kind of memory of a buffer; without elements none is asked for.
    MemoryKind memory_of(const void *buffer, std::size_t count) {
        const MemoryKind kind = count == 0 ? MemoryKind::host : device::memory_kind_of(buffer);
        if (kind != MemoryKind::host) [[unlikely]]
            note(buffer);
        return kind;
    }
    bool ordered() const { return ordered_; }
    // In memory of a device; null: none so far is.
    const void *first_on_device() const { return first_; }

private:
    // An error is one of the communicator: other ranks may be in the call already.
    void note(const void *buffer);

    stretto_comm comm_;
    const bool ordered_;
    const void *first_ = nullptr;
    device::DefaultStreams streams_;
};
// The same for all buffers of a collective.
void wait_unordered(stretto_comm comm, const calls::Request &request);

// A request, checked as far as one rank can check it alone.  `made`: the created operation with the
// number `op`, if there is one; the caller keeps it as long as the request.
calls::Request checked(stretto_comm comm, schedule::Collective collective, const void *send,
                       void *recv, std::size_t count, int dtype, int op, int root,
                       const reduce::Operation *made = nullptr);
// The same for a collective without a root that has a count for each rank.
calls::Request checked(stretto_comm comm, schedule::Collective collective, const void *send,
                       void *recv, const std::size_t *counts, int dtype, int op, int root,
                       const reduce::Operation *made = nullptr);

// ops.cpp
using OperationPointer = std::shared_ptr<const reduce::Operation>;

// The operation that was created as `op`; throws Error(argument) if there is none.
OperationPointer created(int op);
// Null if the operation is built in, or does not exist.
inline OperationPointer created_or_null(int op) {
    return op < STRETTO_OP_CREATED ? nullptr : created(op);
}
Dtype dtype_of(int dtype);
inline int any_op(Dtype dtype) {
    return std::countr_zero(supported_ops(dtype));
}
// Throws Error(argument) that lists what the type can do unless the operation is among it.
void require_pair(Dtype dtype, ReduceOp op);

// A request lives until it is released, or its communicator is finalized.
inline void release(stretto_request request) {
    {
        const std::lock_guard lock(request->comm->mutex);
        request->comm->requests.erase(request);
    }
    delete request;
}

// settings.cpp: the program has set this value; a child gets it from its parent.
void note(stretto_comm comm, Setting setting, std::string_view value);
void inherit_note(stretto_comm child, const stretto_comm_s &parent, Setting setting);

// Makes a request, then starts it by `start(request)`; if that throws, the request is gone.  It is
// made first, because once other ranks know of the call this rank must go on with it, and must not
// need memory for that.
template<class Start>
stretto_request launch(stretto_comm comm, Start &&start) {
    const stretto_request made = comm->communicator.together([&] {
        auto fresh = std::make_unique<stretto_request_s>(stretto_request_s{comm});
        const std::lock_guard lock(comm->mutex);
        comm->requests.insert(fresh.get());
        return fresh.release();
    });
    try {
        start(*made);
    } catch (...) {
        release(made);
        throw;
    }
    return made;
}

// streams.cpp: starts the collective of a request, in the order of this thread's stream if it has
// one.
void start_call(stretto_comm comm, stretto_request_s &made);
// Whether this thread's nonblocking collectives are ordered by a stream, and whether that waits for
// them, so that the host need not.
bool ordered_by_stream();
bool nobody_need_wait();
// streams.cpp: the gate of a call of this thread, which its stream orders; `buffer`: one of the
// call, in memory of a device if any is.
std::shared_ptr<device::StreamOrder> place_in_stream(stretto_comm comm, const void *buffer);
// No caller has the request.
void free_at_end(stretto_request made, std::unique_ptr<engine::Notice> end);
// Gives a new request to the caller, who need not take it if a stream waits for the call.
template<class Make>
void give(stretto_comm comm, stretto_request *request, Make &&make) {
    require(request != nullptr || nobody_need_wait(), "the place for the request is NULL");
    if (request != nullptr) {
        *request = nullptr;
        *request = make();
        return;
    }
    require(comm != nullptr, "the communicator is NULL; call stretto_init first");
    // Made ahead: once other ranks know of the call, this rank must not need memory to go on.
    auto end = comm->communicator.together([] { return std::make_unique<engine::Notice>(); });
    const stretto_request made = make();
    {
        const std::lock_guard lock(comm->mutex);
        made->detached = true;
    }
    free_at_end(made, std::move(end));
}

// requests.cpp: calls a function when a request has ended, at once if it has ended already; a
// thread calls it that holds no lock.  Such functions do not throw.
using EndFunction = std::function<void(Status, const char *)>;
void at_end(stretto_request_s &request, EndFunction function);

// Runs a body that may fail the communicator outside of its calls.
template<class Body>
void noting_failure(stretto_comm comm, Body &&body) {
    try {
        body();
    } catch (const Error &error) {
        comm->communicator.note_reported(error);
        throw;
    }
}

// messages.cpp: ends and releases a request whose messages have all ended.
void release_messages(stretto_request request);
// The same for one that no caller has.
void free_messages(stretto_request request);
// Waits until all have ended, and returns the status.
void finish(stretto_request request);

} // namespace stretto::api
