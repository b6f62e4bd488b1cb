// SPDX-License-Identifier: BSD-3-Clause
// A C communicator with the care that Python needs: callers without the GIL; requests that outlive
// their Python objects; shared memory that outlives finalize().
#pragma once

#include <list>
#include <memory>
#include <nanobind/nanobind.h>
#include <optional>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/process.hpp"
#include "base/status.hpp"
#include "errors.hpp"
#include "invocation.hpp"
#include "signals.hpp"

namespace stretto::python {

class Handle;

// A request of the C API with the buffers that belong to it.
struct Pending {
    stretto_request request = nullptr; // NULL once it has ended
    std::shared_ptr<void> what;        // the call and its buffers
    bool persistent = false;
    bool running = false;
    bool of_messages = false; // for which no stream waits: they may never be matched
    bool in_stream = false;   // a stream reads its data, though the program drops the request
    bool claimed = false;     // a thread waits for it
    stretto_message message{-1, -1, 0};
    std::optional<Error> error; // with which it ended when the communicator was finalized
};

// All members need the GIL.
class Handle : public std::enable_shared_from_this<Handle> {
public:
    explicit Handle(stretto_comm comm)
        : comm_(comm), rank_(stretto_rank(comm)), size_(stretto_size(comm)), pid_(getpid()),
          process_(process_mark()) {}
    ~Handle() { leave(); }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;

    bool streams_wait = true; // that order calls, for their ends

    int rank() const { return rank_; }
    int size() const { return size_; }
    // Of the communicator of the C API, for code that is compiled apart from this module.
    std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(comm_); }
    bool finalized() const { return finalized_ || comm_ == nullptr; }

    // Runs body(comm) without the GIL and checks its status; any number of threads may be inside.
    // Throws Error(argument) if the communicator is finalized.
    template<class Body>
    void call(Body &&body) {
        enter();
        stretto_status status;
        std::string message;
        Signals signals;
        {
            const nanobind::gil_scoped_release released;
            status = body(comm_);
            if (status != STRETTO_OK)
                message = stretto_last_error();
        }
        quit();
        signals.rethrow();
        if (status != STRETTO_OK)
            throw Error(static_cast<Status>(status), message);
    }

    // `pending` was started.
    void track(const std::shared_ptr<Pending> &pending);
    // The Python object of the request is gone: what still runs keeps its buffers until it ends.
    void abandon(std::shared_ptr<Pending> pending);

    // An array of bytes in shared memory.  It keeps the job joined while it lives.
    nanobind::object allocate(std::size_t bytes);

    // Keeps the stall callback alive, and releases the one before.
    void keep_stall_callback(nanobind::object function) { stall_callback_ = std::move(function); }

    // No further calls.  Waits for what runs, and leaves the job, as soon as no shared array lives.
    void finalize();
    // At the end of the process: leaves the job unless something still runs, whatever lives.
    void exit();

private:
    struct Block; // what owns a shared array

    void enter();
    void quit() { --inside_; }
    void release(void *memory);
    void free_released();
    void reap();
    void leave();
    std::vector<std::shared_ptr<Pending>> running() const;

    stretto_comm comm_;
    // In a child that was forked everything below is as it was in the parent at that moment.
    bool in_child() const { return process_ != process_mark(); }

    const int rank_, size_, pid_;
    const std::uint32_t process_;
    bool finalized_ = false;
    int inside_ = 0;               // callers
    int blocks_ = 0;               // shared arrays that live
    std::vector<void *> released_; // to be freed when no caller is inside
    std::list<std::weak_ptr<Pending>> tracked_;
    nanobind::object stall_callback_;
    std::vector<std::shared_ptr<Pending>> orphans_; // without a Python object
};

} // namespace stretto::python
