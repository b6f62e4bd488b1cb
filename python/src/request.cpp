// SPDX-License-Identifier: BSD-3-Clause
#include "request.hpp"

#include <memory>
#include <nanobind/stl/optional.h>

#include "dispatcher.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace stretto::python {

// One thread at a time waits for a request.
class Request::Claim {
public:
    explicit Claim(Pending &pending) : pending_(pending) {
        if (pending.claimed)
            throw Error(Status::argument, "another thread waits for this request");
        pending.claimed = true;
    }
    ~Claim() { pending_.claimed = false; }
    Claim(const Claim &) = delete;
    Claim &operator=(const Claim &) = delete;

private:
    Pending &pending_;
};

Request::Request(std::shared_ptr<Handle> handle, std::shared_ptr<Pending> pending)
    : handle_(std::move(handle)), pending_(std::move(pending)) {
    handle_->track(pending_);
}

Request::~Request() {
    if (handle_ != nullptr)
        handle_->abandon(std::move(pending_));
}

void Request::call(stretto_status (*body)(Pending &)) {
    const Claim claim(*pending_);
    handle_->call([&](stretto_comm) { return body(*pending_); });
}

void Request::start() {
    if (!pending_->persistent)
        throw Error(Status::argument, "only a request of allreduce_init can be started again");
    if (pending_->request == nullptr)
        throw Error(Status::argument, "the communicator is finalized");
    call([](Pending &pending) { return stretto_start(pending.request); });
    pending_->running = true;
}

void Request::wait(std::optional<double> timeout) {
    const Limit limit(timeout);
    if (pending_->error)
        throw *pending_->error;
    if (!pending_->running)
        return;
    call([](Pending &pending) {
        const stretto_status status = stretto_wait(&pending.request);
        pending.running = false; // ended, be it by an error
        return status;
    });
}

bool Request::test() {
    if (pending_->error)
        throw *pending_->error;
    if (pending_->running)
        call([](Pending &pending) {
            int done = 1;
            const stretto_status status = stretto_test(&pending.request, &done);
            pending.running = status == STRETTO_OK && done == 0;
            return status;
        });
    return !pending_->running;
}

void Request::wait_in(std::uintptr_t stream) {
    if (pending_->error)
        throw *pending_->error;
    if (!pending_->running)
        return;
    const Claim claim(*pending_);
    handle_->call([&](stretto_comm) {
        return stretto_stream_wait(reinterpret_cast<void *>(stream), pending_->request);
    });
}

bool Request::notify(nb::object function) {
    if (!pending_->running || pending_->claimed)
        return false;
    auto ordered = std::make_unique<Dispatched>(std::move(function));
    const Claim claim(*pending_);
    handle_->call([&](stretto_comm) {
        const stretto_status status = stretto_request_notify(
            pending_->request,
            [](stretto_status, const char *, void *call) {
                Dispatched::order(static_cast<Dispatched *>(call));
            },
            ordered.get());
        if (status == STRETTO_OK)
            (void)ordered.release(); // by now the other thread may have made the call
        return status;
    });
    return true;
}

nb::object Request::message() const {
    if (pending_->message.source < 0)
        return nb::none();
    return nb::make_tuple(pending_->message.source, pending_->message.tag, pending_->message.bytes);
}

void bind_request(nb::module_ &module) {
    nb::class_<Request>(module, "Request")
        .def("start", &Request::start)
        .def("wait", &Request::wait, "timeout"_a = nb::none())
        .def("test", &Request::test)
        .def("wait_in", &Request::wait_in, "stream"_a)
        .def("notify", &Request::notify, "function"_a)
        .def("message", &Request::message);
}

} // namespace stretto::python
