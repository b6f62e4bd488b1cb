// SPDX-License-Identifier: BSD-3-Clause
// The properties of a datatype that are needed to move its elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "predefined.hpp"

namespace stretto::mpi {

struct Datatype {
    Handle handle = 0;
    const Predefined *predefined = nullptr; // null: the program made it
    std::size_t size = 0;                   // bytes of the data of one element
    std::ptrdiff_t extent = 0;              // from one to the next
    // Whether `count` elements are count * size bytes from the buffer's address on, in the order of
    // the type's signature.  Otherwise they are packed first.  Ranks may differ in this: all see
    // equal signatures, but each may have its own layout.
    bool dense = false;
};

// False if the library has no such type.  Then the call is left to the library, which reports the
// error.
bool examine(Handle handle, Datatype &datatype);

// A buffer of the program as dense host memory: itself, or a packed copy.
class Dense {
public:
    enum class Use { read, write, both };

    Dense() = default;
    // Throws std::bad_alloc; Failure if the library cannot pack.
    Dense(const Datatype &datatype, std::size_t count, void *buffer, Use use);

    void *data() const { return data_; }
    // For a contribution of `bytes`: makes a copy of it if it shares memory with the `result_bytes`
    // at `result`.  MPI does not allow that, but libraries that store the result last give the
    // right one, and programs are used to it.
    void keep_from(std::size_t bytes, const void *result, std::size_t result_bytes);
    // The first `count` elements are results, which go to where the program wants them.
    void unpack(std::size_t count) const;

private:
    Datatype datatype_;
    void *buffer_ = nullptr, *data_ = nullptr;
    std::unique_ptr<std::byte[]> copy_;
};

// Elements of `datatype` at `buffer` to dense memory at `packed`, and back.
void pack(const Datatype &datatype, const void *buffer, std::size_t count, void *packed);
void unpack(const Datatype &datatype, const void *packed, std::size_t count, void *buffer);

} // namespace stretto::mpi
