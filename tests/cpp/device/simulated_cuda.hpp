// SPDX-License-Identifier: BSD-3-Clause
// A CUDA driver without a GPU: libcuda.so.1 for tests, as far as Stretto calls the driver.
//
// Device memory has addresses that the CPU cannot read or write: a look ends the process.  Copies
// are made by three engines, from the device, to the device and inside it, each by a thread of its
// own.  A copy takes a latency and then its bytes at a bandwidth, but those of cuMemcpy no time.
// Copies of one stream happen in their order; copies of different streams on one engine in any
// order, by a random number.  Pinned host memory is read and written when the copy happens, and not
// when it is issued, so a buffer that is touched too early gives a wrong result.  As the real
// driver does, a copy from the device to memory that is not pinned returns when it is complete, and
// one to the device reads such memory at once; the bytes reach the device when the stream has come
// so far, also those of cuMemcpy, which belongs to the legacy default stream.  A stream waits for
// events of others and for words of host memory, as it is told.  Kernels are those of Stretto,
// compiled for the CPU: a thread of the device runs them.  Processes share one device: each opens
// the memory of others by their handles.  They take turns: kernels, and copies inside the device,
// of all processes that a program forks are counted as turns when they come after one of another
// process.  While a thread of a process waits for the device in cuMemcpy or cuMemFree, the driver
// lets no other one begin a copy or a kernel.
//
// The legacy default stream, one for all contexts, waits for all streams that were not made with
// CU_STREAM_NON_BLOCKING, and these for it: what a stream is given comes after what the others have
// been given.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simulated_cuda {

struct Speed {
    double latency_us = 0;
    double bytes_per_us = 0; // of each engine; 0: any number
    double turn_us = 0;      // before a kernel, if the one before was another process's
};

// What the driver was asked for since reset().
struct Counts {
    std::uint64_t copies = 0, bytes = 0;
    std::uint64_t from_device_bytes = 0, to_device_bytes = 0;
    std::uint64_t pageable_copies = 0; // to or from host memory that is not pinned
    std::uint64_t host_allocations = 0, host_registrations = 0, streams = 0, events = 0;
    std::uint64_t synchronizations = 0; // that have begun
    // Allocations of host memory, registrations and their ends, streams, kernels, and handles that
    // were asked for, opened or closed while a stream waited for a word.  A real driver may not
    // answer before the stream goes on.
    std::uint64_t asked_while_waiting = 0;
    // What the driver refused to a thread since another captured a stream.
    std::uint64_t refused_while_capturing = 0;
    double from_device_us = 0, to_device_us = 0;       // each engine's work
    double both_us = 0;                                // while both worked
    std::uint64_t launches = 0, kernel_bytes = 0;      // read and written by kernels
    std::uint64_t handles = 0, opened = 0, closed = 0; // of memory, by this process
    std::uint64_t opened_too_late = 0;                 // refused, as the memory had been freed
    double copying_us = 0; // from the beginning of the first copy that takes time to the last end
};

extern "C" {
// For tests; names that no driver has.
void simulated_cuda_speed(const Speed *speed);
void simulated_cuda_seed(std::uint64_t seed); // of the order among streams
void simulated_cuda_reset();                  // of the counts
void simulated_cuda_counts(Counts *counts);
// The copy or kernel after so many others, and all later ones, fail with this error; 0: none.
void simulated_cuda_fail(std::uint64_t after_copies, int error);
// No copy but those of cuMemcpy happens until it is called again with false.
void simulated_cuda_hold(bool held);
// Streams share one hardware queue: no copy begins while a stream waits for a word.
void simulated_cuda_share_queue(bool shared);
// From now on cuMemFree waits until the device has done all that it was given, as the real one
// does. Where ranks are threads, one of which may free memory while others need the driver, it must
// not.
void simulated_cuda_let_free_wait();
// Bytes of pinned memory that the driver gives; 0: any number.
void simulated_cuda_limit_pinned(std::size_t bytes);
// From now on the stream says that it is being captured into a graph, by another thread and in the
// global mode, or not; it works on.
void simulated_cuda_capture(void *stream, bool captured);
// The next handle of another process that is opened, and all later ones, fail with this error; 0:
// none.
void simulated_cuda_fail_opening(int error);
// The process dies whose handle is opened next, and the handle is not valid then.
void simulated_cuda_kill_owner();
// From now on memory has no handle, as that of pools and of expandable segments.
void simulated_cuda_without_handles(bool without);
// This process has another device, which reaches no memory of the others'.
void simulated_cuda_other_device();
// A kernel of the test's own: a thread of the device calls function(context) when the stream has
// come to it.
int simulated_cuda_launch(void *stream, void (*function)(void *), void *context);
// Turns of processes so far.
std::uint64_t simulated_cuda_turns();
// Where such a kernel finds device memory.
void *simulated_cuda_memory(std::uint64_t address);
// Host memory that is registered or allocated by the driver now, in bytes.
std::size_t simulated_cuda_pinned();
}

} // namespace simulated_cuda
