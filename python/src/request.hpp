// SPDX-License-Identifier: BSD-3-Clause
// _core.Request: a call that runs while Python does something else.
#pragma once

#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <optional>
#include <utility>

#include "handle.hpp"

namespace stretto::python {

class Request {
public:
    // `pending` was started, or planned, with `handle`.
    Request(std::shared_ptr<Handle> handle, std::shared_ptr<Pending> pending);
    Request(Request &&) = default;
    ~Request();

    void start();
    void wait(std::optional<double> timeout);
    bool test();
    // What the stream is given from now on begins when the call has ended.
    void wait_in(std::uintptr_t stream);
    // Calls `function` without arguments, from a thread of its own, when the call has ended.  False
    // if it is not running, or a thread waits for it: then nothing is called.
    bool notify(nanobind::object function);
    // (source, tag, bytes) of what a receive took; None of anything else.
    nanobind::object message() const;

private:
    class Claim;
    void call(stretto_status (*body)(Pending &));

    std::shared_ptr<Handle> handle_;
    std::shared_ptr<Pending> pending_;
};

// Starts what `begin(comm, request)` starts, and keeps `what` until it has ended.
template<class Begin>
Request begin(const std::shared_ptr<Handle> &handle, std::shared_ptr<void> what, bool of_messages,
              Begin &&body) {
    auto pending = std::make_shared<Pending>();
    pending->what = std::move(what);
    pending->of_messages = of_messages;
    handle->call([&](stretto_comm comm) { return body(comm, *pending); });
    pending->running = true;
    return {handle, std::move(pending)};
}

void bind_request(nanobind::module_ &module);

} // namespace stretto::python
