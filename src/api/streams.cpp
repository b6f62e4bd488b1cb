// SPDX-License-Identifier: BSD-3-Clause
// The C API: calls in the order of a stream of the program.
#include <initializer_list>
#include <memory>
#include <utility>

#include "device/devices.hpp"
#include "device/stream_order.hpp"
#include "device/stream_wait.hpp"
#include "handles.hpp"

namespace stretto::api {

namespace {

struct StreamOfThread {
    bool set = false;
    void *stream = nullptr;
    device::StreamOrder::Then then = device::StreamOrder::Then::waits;
};
thread_local StreamOfThread mine;

// A buffer of the call, in device memory if it has one: the default stream is that of its device.
const void *buffer_of(const stretto_request_s &made) {
    const auto first_on_device = [](std::initializer_list<const void *> buffers) -> const void * {
        for (const void *const buffer : buffers)
            if (device::memory_kind_of(buffer) != MemoryKind::host)
                return buffer;
        return nullptr;
    };
    if (made.buffer != nullptr)
        return made.buffer;
    if (made.request.batch == nullptr)
        return first_on_device({made.request.output, made.request.input});
    for (const auto &piece : made.batch.pieces)
        if (const void *const found = first_on_device({piece.from, piece.to}))
            return found;
    return nullptr;
}

} // namespace

bool ordered_by_stream() {
    return mine.set;
}

bool nobody_need_wait() {
    return mine.set && mine.then == device::StreamOrder::Then::waits;
}

static device::Patience patience(stretto_comm comm) {
    comm::Communicator &communicator = comm->communicator;
    return {communicator.segment(), communicator.rank(), communicator.config().waits.timeout_ns};
}

std::shared_ptr<device::StreamOrder> place_in_stream(stretto_comm comm, const void *buffer) {
    return comm->communicator.together([&] {
        return std::make_shared<device::StreamOrder>(buffer, mine.stream, mine.then,
                                                     patience(comm));
    });
}

void start_call(stretto_comm comm, stretto_request_s &made) {
    if (!mine.set) {
        wait_unordered(comm, made.request);
        made.flight = comm->communicator.start(made.request);
        return;
    }
    const auto order = place_in_stream(comm, buffer_of(made));
    made.request.gate = order;
    try {
        made.flight = comm->communicator.start(made.request);
    } catch (...) {
        made.request.gate = nullptr;
        order->release();
        throw;
    }
    made.request.gate = nullptr; // of this start only
}

// A thread that delivers notices frees the request, since it holds no lock then.  The error of the
// call is that of the communicator, which the next call gets.
void free_at_end(stretto_request made, std::unique_ptr<engine::Notice> end) {
    comm::Communicator &communicator = made->comm->communicator;
    if (made->flight == nullptr) {
        end->function = [made](Status, const char *) { free_messages(made); };
        communicator.messenger().notify({made->transfers.begin(), made->transfers.end()},
                                        end.release());
        return;
    }
    end->function = [made](Status, const char *) {
        engine::Queue::InFlightCall *const flight = std::exchange(made->flight, nullptr);
        try {
            made->comm->communicator.complete(flight);
        } catch (...) {
        }
        release(made);
    };
    communicator.queue().notify(*made->flight, end.release());
}

static stretto_status set_stream(void *stream, device::StreamOrder::Then then) {
    return guarded([&] {
        require(!mine.set, "this thread has a stream already; call stretto_stream_end first");
        mine = {true, stream, then};
    });
}

} // namespace stretto::api

using namespace stretto::api;
using Then = stretto::device::StreamOrder::Then;

extern "C" {

stretto_status stretto_stream_begin(void *stream) {
    return set_stream(stream, Then::waits);
}

stretto_status stretto_stream_follow(void *stream) {
    return set_stream(stream, Then::goes_on);
}

stretto_status stretto_stream_end(void) {
    return guarded([&] {
        require(mine.set, "this thread has no stream; call stretto_stream_begin first");
        mine = {};
    });
}

stretto_status stretto_stream_wait(void *stream, stretto_request request) {
    return guarded_in(request == nullptr ? nullptr : request->comm, [&] {
        require(request != nullptr, "the request is NULL");
        require(!request->persistent || request->flight != nullptr,
                "the request does not run; start it first");
        if (request->flight == nullptr && request->transfers.empty())
            return; // it has ended
        const auto wait = std::make_shared<stretto::device::StreamWait>(patience(request->comm));
        stretto::device::let_stream_wait(*wait, buffer_of(*request), stream);
        request->holds_stream = true;
        at_end(*request, [wait](stretto::Status, const char *) { wait->end(); });
    });
}

} // extern "C"
