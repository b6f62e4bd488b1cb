// SPDX-License-Identifier: BSD-3-Clause
// The C API: several vectors that are reduced as one.
#include <algorithm>
#include <vector>

#include "base/types.hpp"
#include "device/devices.hpp"
#include "handles.hpp"
#include "overlap.hpp"

using stretto::calls::Request;
using stretto::engine::Batch;
using stretto::schedule::Collective;
using namespace stretto::api;

namespace {

// The request of an allreduce of all parts, which `batch` then describes.
Request batch_request(stretto_comm comm, const stretto_part *parts, std::size_t count, int dtype,
                      int op, Batch &batch, const stretto::reduce::Operation *made) {
    require(comm != nullptr, "the communicator is NULL; call stretto_init first");
    require(count == 0 || parts != nullptr, "the parts are NULL");
    const std::size_t element = size_of(dtype_of(dtype));
    std::vector<Range> sends, results;
    std::size_t elements = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const stretto_part &part = parts[i];
        require(part.count <= kMostElements - elements,
                "the counts are too large for the address space");
        require(part.count == 0 || (part.send != nullptr && part.recv != nullptr),
                "a buffer is NULL");
        elements += part.count;
        const std::size_t bytes = part.count * element;
        const bool in_place = part.send == STRETTO_IN_PLACE;
        if (bytes == 0)
            continue;
        if (!in_place)
            sends.push_back({part.send, bytes});
        results.push_back({part.recv, bytes});
        batch.pieces.push_back({in_place ? part.recv : part.send, part.recv, bytes});
    }
    batch.bytes = elements * element;
    keep_apart(std::move(sends), std::move(results));
    void *const unused = comm; // the call has the pieces in its place
    Request request = checked(comm, Collective::allreduce, STRETTO_IN_PLACE, unused, elements,
                              dtype, op, 0, made);
    request.batch = &batch;
    for (const Batch::Piece &piece : batch.pieces)
        request.memory = std::max({request.memory, stretto::device::memory_kind_of(piece.from),
                                   stretto::device::memory_kind_of(piece.to)});
    return request;
}

} // namespace

extern "C" {

stretto_status stretto_allreduce_batch(stretto_comm comm, const stretto_part parts[], size_t count,
                                       stretto_dtype dtype, stretto_op op) {
    return guarded_in(comm, [&, type = static_cast<int>(dtype), operation = static_cast<int>(op)] {
        Batch batch;
        const OperationPointer made = created_or_null(operation);
        Request request = batch_request(comm, parts, count, type, operation, batch, made.get());
        wait_unordered(comm, request);
        request.nonblocking = comm->mixed.load(std::memory_order_relaxed);
        comm->communicator.play(request);
    });
}

stretto_status stretto_iallreduce_batch(stretto_comm comm, const stretto_part parts[], size_t count,
                                        stretto_dtype dtype, stretto_op op,
                                        stretto_request *request) {
    return guarded_in(comm, [&, type = static_cast<int>(dtype), operation = static_cast<int>(op)] {
        give(comm, request, [&] {
            require(comm != nullptr, "the communicator is NULL; call stretto_init first");
            return launch(comm, [&](stretto_request_s &made) {
                made.operation = created_or_null(operation);
                made.request = batch_request(comm, parts, count, type, operation, made.batch,
                                             made.operation.get());
                made.request.nonblocking = true;
                start_call(comm, made);
            });
        });
    });
}

} // extern "C"
