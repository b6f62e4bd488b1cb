// SPDX-License-Identifier: BSD-3-Clause
// The CUDA driver, as far as this room calls it.
//
// The library is not linked with libcuda and needs none of its headers: a process that has device
// memory has loaded the driver already.  Names, values and arguments are those of the CUDA driver
// API (docs.nvidia.com/cuda/cuda-driver-api).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace stretto::device {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
struct CUipcMemHandle {
    unsigned char reserved[64];
};
struct CUuuid {
    unsigned char bytes[16];
};

enum : CUresult {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
};
enum { // attributes of a pointer
    CU_POINTER_ATTRIBUTE_CONTEXT = 1,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    CU_POINTER_ATTRIBUTE_BUFFER_ID = 7, // of an allocation, never used again in a process
    CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
};
enum { // of captures by other threads
    CU_STREAM_CAPTURE_MODE_RELAXED = 2,
};
enum : unsigned {
    CU_MEMORYTYPE_DEVICE = 2,
    CU_MEMHOSTREGISTER_PORTABLE = 1, // for all contexts
    CU_STREAM_NON_BLOCKING = 1,      // does not wait for the default stream
    CU_EVENT_DISABLE_TIMING = 2,
    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1,
    CU_STREAM_WAIT_VALUE_GEQ = 0, // by the difference, so words may wrap around
};

struct Cuda {
    CUresult (*pointer_attributes)(unsigned count, const int *attributes, void **values,
                                   CUdeviceptr pointer);
    CUresult (*retain_primary)(CUcontext *context, CUdevice device);
    CUresult (*push_context)(CUcontext context);
    CUresult (*pop_context)(CUcontext *context);
    CUresult (*current_context)(CUcontext *context);
    CUresult (*allocate)(CUdeviceptr *memory, std::size_t bytes);
    CUresult (*free)(CUdeviceptr memory);
    CUresult (*register_host)(void *memory, std::size_t bytes, unsigned flags);
    CUresult (*unregister_host)(void *memory);
    CUresult (*create_stream)(CUstream *stream, unsigned flags);
    CUresult (*synchronize)(CUstream stream);
    CUresult (*query_stream)(CUstream stream);
    CUresult (*stream_flags)(CUstream stream, unsigned *flags);
    CUresult (*create_event)(CUevent *event, unsigned flags);
    CUresult (*record)(CUevent event, CUstream stream);
    CUresult (*query)(CUevent event);
    CUresult (*copy_async)(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream);
    CUresult (*error_name)(CUresult error, const char **name);
    CUresult (*error_text)(CUresult error, const char **text);
    // Each null in drivers that are too old for it.
    CUresult (*context_number)(CUcontext context, unsigned long long *number); // since 12.0
    CUresult (*exchange_capture_mode)(int *mode); // of the calling thread
    CUresult (*wait_value)(CUstream stream, CUdeviceptr word, std::uint32_t value, unsigned flags);
    CUresult (*is_capturing)(CUstream stream, int *status);
    CUresult (*stream_context)(CUstream stream, CUcontext *context);
    // Kernels.
    CUresult (*load_module)(CUmodule *module, const void *image);
    CUresult (*function_of)(CUfunction *function, CUmodule module, const char *name);
    CUresult (*load_function)(CUfunction function); // since 12.4; else a first launch loads it
    CUresult (*launch)(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                       CUstream stream, void **arguments, void **extra);
    // Memory of other processes.
    CUresult (*range_of)(CUdeviceptr *base, std::size_t *bytes, CUdeviceptr pointer);
    CUresult (*get_handle)(CUipcMemHandle *handle, CUdeviceptr base);
    CUresult (*open_handle)(CUdeviceptr *base, CUipcMemHandle handle, unsigned flags);
    CUresult (*close_handle)(CUdeviceptr base);
    CUresult (*device_of_context)(CUdevice *device);
    CUresult (*devices)(int *count);
    CUresult (*device_id)(CUuuid *id, CUdevice device);
    CUresult (*can_access)(int *can, CUdevice device, CUdevice peer);
};

// Looks whether this process has loaded the driver, which it may do at any time; true if it has.
// Never loads it.  A look takes 0.1 us if no library was loaded since the last one.  A driver that
// lacks a function is warned of once, and taken for none.
bool find_cuda();
// The driver; null before find_cuda() has found it.
const Cuda *cuda();

// The error of a call of the driver: "cuMemcpyAsync of 4096 bytes: CUDA_ERROR_... (its text)".
Error cuda_error(const Cuda &driver, CUresult result, const std::string &call);
// Throws it unless the result is CUDA_SUCCESS.
void check_cuda(const Cuda &driver, CUresult result, const char *call);

// A context and its number, which no other one of the process has had: a program that destroys a
// context may get the next one at the same address.
struct Context {
    CUcontext handle = nullptr;
    unsigned long long number = 0; // always 0 in drivers before 12.0
    auto operator<=>(const Context &) const = default;
};
// Throws Error if it was destroyed.
Context identified(const Cuda &driver, CUcontext context);

// Where memory lies, as the driver says.
struct Place {
    bool on_device = false;
    CUcontext context = nullptr; // null: memory of a pool, which belongs to the device `ordinal`
    CUdevice ordinal = 0;
};
Place place_of(const void *memory);
// The context in which that memory is used; memory of a pool in the one that programs share.
CUcontext context_of(const Cuda &driver, const Place &place);

} // namespace stretto::device
