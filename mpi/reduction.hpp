// SPDX-License-Identifier: BSD-3-Clause
// An operation of MPI on a type of MPI, as Stretto's.
#pragma once

#include "datatype.hpp"
#include "kinds.hpp"

namespace stretto::mpi {

class Reduction {
public:
    Reduction() = default;
    ~Reduction();
    Reduction(const Reduction &) = delete;
    Reduction &operator=(const Reduction &) = delete;

    // Chooses how to reduce.  Stretto reduces the types and operations that it has itself.  For
    // types and operations that only the library has (long double, LOGICAL, MINLOC) or only the
    // program (MPI_Op_create), it calls MPI_Reduce_local in this thread, with the program's own
    // handles. Throws Failure.
    Reason prepare(Handle datatype, Handle op);
    // The same for a call that another thread may move: that thread must not call the library.
    Reason prepare_alone(Handle datatype, Handle op);

    const Datatype &datatype() const { return datatype_; }
    stretto_dtype dtype() const { return dtype_; }
    stretto_op op() const { return op_; }

private:
    void apply(const void *in, void *inout, std::size_t count) const;
    static void apply_any(const void *in, void *inout, std::size_t count, stretto_dtype dtype,
                          void *context);
    void make(bool commutative, std::size_t element);

    Datatype datatype_;
    Handle handle_ = 0; // of the operation
    stretto_dtype dtype_ = STRETTO_UINT8;
    stretto_op op_ = STRETTO_SUM;
    bool made_ = false; // op_ was created for this call
};

} // namespace stretto::mpi
