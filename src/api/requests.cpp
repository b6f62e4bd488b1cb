// SPDX-License-Identifier: BSD-3-Clause
// The C API: requests, which run while the caller computes.
#include "handles.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

using namespace stretto::api;

namespace {

stretto_comm comm_of(stretto_request request) {
    return request == nullptr ? nullptr : request->comm;
}
stretto_comm comm_of(const stretto_request *request) {
    return request == nullptr ? nullptr : comm_of(*request);
}

bool has_ended(stretto_request_s &request) {
    if (stretto::scopes_in_use.load(std::memory_order_relaxed)) {
        stretto::CallScope &scope = stretto::call_scope();
        if (request.tested_since == 0)
            request.tested_since = stretto::now_ns();
        scope.since = request.tested_since;
    }
    for (stretto::p2p::Transfer *transfer : request.transfers)
        if (!request.comm->communicator.messenger().test(*transfer))
            return false;
    return request.flight == nullptr || request.comm->communicator.queue().test(*request.flight);
}

} // namespace

namespace stretto::api {

// What happens when a request ends: its one notice calls any number of functions.
class AtEnd {
public:
    void add(EndFunction function) {
        {
            const std::lock_guard lock(mutex_);
            if (!over_) {
                functions_.push_back(std::move(function));
                return;
            }
        }
        function(status_, message_.c_str());
    }
    void end(Status status, const char *message) noexcept {
        std::vector<EndFunction> functions;
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
            status_ = status;
            try {
                message_ = message;
            } catch (const std::bad_alloc &) { // the status says enough
            }
            functions.swap(functions_);
        }
        for (const EndFunction &function : functions)
            function(status, message);
    }

private:
    std::mutex mutex_;
    std::vector<EndFunction> functions_;
    bool over_ = false;
    Status status_ = Status::ok;
    std::string message_;
};

void at_end(stretto_request_s &request, EndFunction function) {
    if (const std::shared_ptr<AtEnd> ends = request.at_end) // the function may free the request
        return ends->add(std::move(function));
    auto ends = std::make_shared<AtEnd>();
    ends->add(std::move(function));
    auto notice = std::make_unique<engine::Notice>();
    notice->function = [ends](Status status, const char *message) { ends->end(status, message); };
    request.at_end = std::move(ends);
    comm::Communicator &communicator = request.comm->communicator;
    if (request.flight != nullptr)
        communicator.queue().notify(*request.flight, notice.release());
    else
        communicator.messenger().notify({request.transfers.begin(), request.transfers.end()},
                                        notice.release());
}

} // namespace stretto::api

extern "C" {

stretto_status stretto_start(stretto_request request) {
    return guarded_in(comm_of(request), [&] {
        require(request != nullptr && request->persistent, "the request is not a persistent one");
        require(request->flight == nullptr, "the request runs already; wait for it first");
        request->tested_since = 0;
        request->notifies = false;
        request->at_end = nullptr;
        start_call(request->comm, *request);
    });
}

stretto_status stretto_wait(stretto_request *request) {
    return guarded_in(comm_of(request), [&] {
        require(request != nullptr, "the request is NULL");
        stretto_request_s *what = *request;
        if (what == nullptr || (what->persistent && what->flight == nullptr))
            return; // already ended
        if (what->flight == nullptr) {
            *request = nullptr;
            return finish(what);
        }
        const stretto_comm comm = what->comm;
        stretto::engine::Queue::InFlightCall *flight = std::exchange(what->flight, nullptr);
        // The call uses what the request keeps until its end.
        struct Release {
            void operator()(stretto_request ended) const { release(ended); }
        };
        std::unique_ptr<stretto_request_s, Release> ended;
        if (!what->persistent)
            ended.reset(std::exchange(*request, nullptr));
        noting_failure(comm, [&] { comm->communicator.complete(flight); });
    });
}

stretto_status stretto_test(stretto_request *request, int *done) {
    const stretto_status status = guarded_in(comm_of(request), [&] {
        require(request != nullptr && done != nullptr, "the request or the result is NULL");
        *done = *request == nullptr || has_ended(**request);
    });
    return status == STRETTO_OK && *done != 0 ? stretto_wait(request) : status;
}

stretto_status stretto_request_notify(stretto_request request, stretto_notify_function function,
                                      void *context) {
    return guarded_in(comm_of(request), [&] {
        require(request != nullptr && function != nullptr, "the request or the function is NULL");
        require(!request->notifies, "the request has a function already");
        require(!request->persistent || request->flight != nullptr,
                "the request does not run; start it first");
        EndFunction at_its_end = [=](stretto::Status status, const char *message) {
            function(static_cast<stretto_status>(status), message, context);
        };
        request->notifies = true; // before the function, which may let another thread free it
        at_end(*request, std::move(at_its_end));
    });
}

stretto_status stretto_request_free(stretto_request *request) {
    return guarded_in(comm_of(request), [&] {
        require(request != nullptr, "the request is NULL");
        if (*request == nullptr)
            return;
        require((*request)->flight == nullptr && (*request)->transfers.empty(),
                "the request is running; wait for it first");
        release(*request);
        *request = nullptr;
    });
}

} // extern "C"
