// SPDX-License-Identifier: BSD-3-Clause
// The C API: memory of devices, and streams of the program.
#include "device/devices.hpp"
#include "device/program_streams.hpp"
#include "handles.hpp"

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

} // extern "C"
