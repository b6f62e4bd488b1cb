// SPDX-License-Identifier: BSD-3-Clause
// The differences between the binary interfaces of MPI libraries, as data: one code handles all of
// them.
//
// All of them pass handles in registers, as pointers or as 32-bit integers, and counts as integers.
// So one function whose handles are as wide as pointers can replace MPI_Allreduce of every library.
// If the library's handles are 32 bits wide, the upper half of the register is ignored.  In memory
// (arrays of requests) handles have the library's width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace stretto::mpi {

using Handle = std::uintptr_t;

enum class Interface { open_mpi, mpich, standard };

struct Abi {
    Interface interface = Interface::open_mpi;
    std::size_t handle_bytes = sizeof(Handle);
    Handle comm_world = 0, comm_self = 0, comm_null = 0;
    Handle datatype_null = 0, op_null = 0, request_null = 0;
    Handle byte = 0; // MPI_BYTE
    const void *in_place = nullptr;
    void *status_ignore = nullptr;
    std::size_t status_bytes = 24;
    int any_source = -1, undefined = -32766;
    int error_other = 16, error_request = 7;
    int named = 0, dup = 1, contiguous = 2; // MPI_COMBINER_...

    // A handle as it came in a register.
    Handle handle(Handle raw) const {
        return handle_bytes == sizeof(Handle) ? raw : raw & 0xffffffff;
    }
    // One of an array of handles.
    Handle load(const void *array, std::size_t index) const {
        Handle value = 0;
        std::memcpy(&value, static_cast<const std::byte *>(array) + index * handle_bytes,
                    handle_bytes);
        return value;
    }
    void store(void *array, std::size_t index, Handle value) const {
        std::memcpy(static_cast<std::byte *>(array) + index * handle_bytes, &value, handle_bytes);
    }
};
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "handles of 32 bits are loaded so");

// The MPI library that the process has loaded.
struct Loaded {
    bool known = false;
    std::string why;         // why `known` is false: the libraries that were found
    std::string soname;      // "libmpi.so.40"
    void *library = nullptr; // for dlsym
    Abi abi;
};

// Looks through the libraries of this process.  Known if there is exactly one MPI library whose
// binary interface is one of the three, which its soname tells: libmpi.so.40 of Open MPI 4 and 5,
// libmpi.so.12 of MPICH 3 to 5, Intel MPI and others (Debian: libmpich.so.12), libmpi_abi.so.1 of
// the MPI 5 standard.
Loaded find_mpi();

// A function or variable of the MPI library, as this process sees it; null if there is none.
void *symbol(const Loaded &mpi, const char *name);

} // namespace stretto::mpi
