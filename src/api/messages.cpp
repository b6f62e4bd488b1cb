// SPDX-License-Identifier: BSD-3-Clause
// The C API: messages from one rank to another.
#include <climits>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/types.hpp"
#include "handles.hpp"

using stretto::Dtype;
using stretto::Error;
using stretto::p2p::Message;
using stretto::p2p::Messenger;
using stretto::p2p::Taken;
using stretto::p2p::Transfer;
using namespace stretto::api;

namespace {

static_assert(STRETTO_ANY_SOURCE == stretto::p2p::kAny);
static_assert(STRETTO_ANY_TAG == stretto::p2p::kAny);

// A message or its buffer.
struct Buffer {
    std::size_t bytes;
    stretto::MemoryKind memory;
};

Buffer checked_buffer(stretto_comm comm, const void *buffer, std::size_t count, int dtype,
                      bool ordered = false) {
    require(comm != nullptr, "the communicator is NULL; call stretto_init first");
    const Dtype type = dtype_of(dtype);
    require(count <= kMostElements, "count is too large for the address space");
    require(count == 0 || buffer != nullptr, "the buffer is NULL");
    return {count * size_of(type), CallBuffers(comm, ordered).memory_of(buffer, count)};
}

void check_dest(stretto_comm comm, int dest, int tag) {
    require(dest >= 0 && dest < comm->communicator.size(),
            "dest is not a rank of the communicator");
    require(tag >= 0, "a tag lies in 0 ... INT_MAX");
}

void check_source(stretto_comm comm, int source, int tag) {
    require(source == STRETTO_ANY_SOURCE || (source >= 0 && source < comm->communicator.size()),
            "source is neither a rank of the communicator nor STRETTO_ANY_SOURCE");
    require(tag == STRETTO_ANY_TAG || tag >= 0,
            "a tag lies in 0 ... INT_MAX, or is STRETTO_ANY_TAG");
}

void fill_message(stretto_message *message, const Taken &taken) {
    if (message != nullptr)
        *message = {taken.source, taken.tag, taken.bytes};
}

// Runs a call that is not a collective.
template<class Body>
void call(stretto_comm comm, const Body &body) {
    comm->communicator.check_usable();
    noting_failure(comm, [&] { body(comm->communicator.messenger()); });
}

Transfer *begin(Messenger &messenger, const Message &what) {
    return what.receives ? messenger.start_receive(what.data, what.bytes, what.memory, what.peer,
                                                   what.tag, what.context, what.purpose)
                         : messenger.start_send(what.data, what.bytes, what.memory, what.peer,
                                                what.tag, what.context, what.purpose);
}

// In the stream of this thread.
Transfer *begin_in_order(stretto_comm comm, const Message &what, const void *buffer) {
    Messenger &messenger = comm->communicator.messenger();
    const auto order = place_in_stream(comm, buffer);
    auto prepared = messenger.prepare_in_order({&what, 1});
    const std::lock_guard one_by_one(messenger.beginning());
    comm->communicator.together([&] { order->close(); });
    return messenger.begin_in_order(std::move(prepared), order).front();
}

// `receives`, `peer` and `tag` of the message are set.
stretto_status start(stretto_comm comm, void *buffer, std::size_t count, int dtype, Message what,
                     stretto_message *message, stretto_request *request) {
    return guarded_in(comm, [&] {
        give(comm, request, [&] {
            const bool ordered = ordered_by_stream();
            const Buffer checked = checked_buffer(comm, buffer, count, dtype, ordered);
            what.data = buffer;
            what.bytes = checked.bytes;
            what.memory = checked.memory;
            if (what.receives)
                check_source(comm, what.peer, what.tag);
            else
                check_dest(comm, what.peer, what.tag);
            stretto_request made = nullptr;
            call(comm, [&](Messenger &messenger) {
                made = launch(comm, [&](stretto_request_s &fresh) {
                    fresh.message = message;
                    if (checked.memory != stretto::MemoryKind::host)
                        fresh.buffer = buffer;
                    fresh.transfers.push_back(ordered ? begin_in_order(comm, what, fresh.buffer)
                                                      : begin(messenger, what));
                });
            });
            return made;
        });
    });
}

} // namespace

void stretto::api::release_messages(stretto_request request) {
    Messenger &messenger = request->comm->communicator.messenger();
    std::optional<Error> first;
    for (Transfer *transfer : request->transfers) {
        if (transfer->is_receive)
            fill_message(request->message, static_cast<p2p::Receive *>(transfer)->taken);
        try {
            messenger.complete(transfer);
        } catch (const Error &error) {
            if (!first)
                first = error;
        }
    }
    if (request->exchange)
        request->comm->communicator.exchanges().ended(*request->exchange);
    release(request);
    if (first)
        throw *first;
}

void stretto::api::finish(stretto_request request) {
    const stretto_comm comm = request->comm;
    for (Transfer *transfer : request->transfers)
        comm->communicator.messenger().wait(*transfer);
    noting_failure(comm, [&] { release_messages(request); });
}

// No caller would see the error of a message that was cut off, so that is one of the communicator.
void stretto::api::free_messages(stretto_request request) {
    comm::Communicator &communicator = request->comm->communicator;
    try {
        release_messages(request);
    } catch (const Error &error) {
        if (!communicator.segment()->failed())
            communicator.segment()->fail(error.status(), error.what());
    }
}

extern "C" {

stretto_status stretto_send(stretto_comm comm, const void *buffer, size_t count,
                            stretto_dtype dtype, int dest, int tag) {
    return guarded_in(comm, [&] {
        const auto [bytes, memory] = checked_buffer(comm, buffer, count, dtype);
        check_dest(comm, dest, tag);
        call(comm, [&, bytes = bytes, memory = memory](Messenger &messenger) {
            messenger.send(buffer, bytes, memory, dest, tag);
        });
    });
}

stretto_status stretto_recv(stretto_comm comm, void *buffer, size_t count, stretto_dtype dtype,
                            int source, int tag, stretto_message *message) {
    return guarded_in(comm, [&] {
        const auto [bytes, memory] = checked_buffer(comm, buffer, count, dtype);
        check_source(comm, source, tag);
        call(comm, [&, bytes = bytes, memory = memory](Messenger &messenger) {
            Taken taken;
            const auto error = messenger.receive(buffer, bytes, memory, source, tag, taken);
            fill_message(message, taken);
            if (error)
                throw *error;
        });
    });
}

stretto_status stretto_isend(stretto_comm comm, const void *buffer, size_t count,
                             stretto_dtype dtype, int dest, int tag, stretto_request *request) {
    return start(comm, const_cast<void *>(buffer), count, dtype, {.peer = dest, .tag = tag},
                 nullptr, request);
}

stretto_status stretto_irecv(stretto_comm comm, void *buffer, size_t count, stretto_dtype dtype,
                             int source, int tag, stretto_message *message,
                             stretto_request *request) {
    return start(comm, buffer, count, dtype, {.receives = true, .peer = source, .tag = tag},
                 message, request);
}

stretto_status stretto_probe(stretto_comm comm, int source, int tag, stretto_message *message) {
    return guarded_in(comm, [&] {
        require(comm != nullptr, "the communicator is NULL");
        check_source(comm, source, tag);
        call(comm,
             [&](Messenger &messenger) { fill_message(message, messenger.wait_for(source, tag)); });
    });
}

stretto_status stretto_iprobe(stretto_comm comm, int source, int tag, int *found,
                              stretto_message *message) {
    return guarded_in(comm, [&] {
        require(comm != nullptr && found != nullptr, "the communicator or the result is NULL");
        check_source(comm, source, tag);
        call(comm, [&](Messenger &messenger) {
            const std::optional<Taken> taken = messenger.probe(source, tag);
            *found = taken.has_value();
            if (taken)
                fill_message(message, *taken);
        });
    });
}

} // extern "C"
