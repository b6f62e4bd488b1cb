// SPDX-License-Identifier: BSD-3-Clause
// The C API: memory of devices, and streams of the program.
#include <cstddef>

#include "device/devices.hpp"
#include "device/program_memory.hpp"
#include "device/program_streams.hpp"
#include "handles.hpp"

namespace stretto::api {

void CallBuffers::note(const void *buffer) {
    if (first_ == nullptr)
        first_ = buffer;
    if (!ordered_)
        comm_->communicator.together([&] { streams_.wait_for(buffer); });
}

void wait_unordered(stretto_comm comm, const calls::Request &request) {
    if (request.memory == MemoryKind::host || request.count == 0) [[likely]]
        return;
    CallBuffers buffers(comm, false);
    if (request.batch == nullptr) {
        (void)buffers.memory_of(request.input, request.count);
        (void)buffers.memory_of(request.output, request.count);
        return;
    }
    for (const engine::Batch::Piece &piece : request.batch->pieces) {
        (void)buffers.memory_of(piece.from, piece.bytes);
        (void)buffers.memory_of(piece.to, piece.bytes);
    }
}

} // namespace stretto::api

extern "C" {

int stretto_on_device(const void *memory) {
    return stretto::device::memory_kind_of(memory) != stretto::MemoryKind::host ? 1 : 0;
}

stretto_status stretto_stream_synchronize(const void *memory, void *stream) {
    return stretto::api::guarded([&] {
        stretto::api::require(memory != nullptr, "the memory is NULL");
        stretto::device::wait_for_stream(memory, stream);
    });
}

void *stretto_cuda_alloc(ptrdiff_t bytes, int device, void *stream) {
    (void)stream;
    void *memory = nullptr;
    (void)stretto::api::guarded([&] {
        stretto::api::require(bytes > 0, "device memory of no bytes, or fewer");
        memory = stretto::device::allocate(static_cast<std::size_t>(bytes), device);
    });
    return memory;
}

void stretto_cuda_free(void *memory, size_t bytes, int device, void *stream) {
    (void)bytes, (void)device, (void)stream;
    stretto::device::deallocate(memory);
}

} // extern "C"
