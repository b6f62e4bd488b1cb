// SPDX-License-Identifier: BSD-3-Clause
// The calls that Stretto runs, and why it leaves a call to the MPI library below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stretto::mpi {

enum class Kind : std::uint8_t {
    allreduce,
    reduce,
    bcast,
    allgather,
    reduce_scatter_block,
    reduce_scatter,
    barrier,
    iallreduce,
    allreduce_init,
};
inline constexpr std::size_t kKinds = 9;

// The name in MPI, and the name in STRETTO_MPI.
constexpr const char *call_name(Kind kind) {
    constexpr const char *names[kKinds] = {"MPI_Allreduce",
                                           "MPI_Reduce",
                                           "MPI_Bcast",
                                           "MPI_Allgather",
                                           "MPI_Reduce_scatter_block",
                                           "MPI_Reduce_scatter",
                                           "MPI_Barrier",
                                           "MPI_Iallreduce",
                                           "MPI_Allreduce_init"};
    return names[static_cast<std::size_t>(kind)];
}
constexpr std::string_view short_name(Kind kind) {
    constexpr std::string_view names[kKinds] = {
        "allreduce",      "reduce",  "bcast",      "allgather",     "reduce_scatter_block",
        "reduce_scatter", "barrier", "iallreduce", "allreduce_init"};
    return names[static_cast<std::size_t>(kind)];
}

// Why Stretto does not run a call.  In a correct program all ranks of a communicator have the same
// reason for the same call: it follows from type signatures, the operation, and earlier agreements
// of the ranks.  Only `argument` may differ: the library refuses such a call without other ranks.
enum class Reason : std::uint8_t {
    by_stretto,
    argument,      // MPI does not allow an argument; the library reports the error
    switched_off,  // by STRETTO_MPI
    intercomm,     // an intercommunicator: its two groups do different things
    alone,         // the communicator has one rank
    elsewhere,     // it has ranks of another MPI_COMM_WORLD, or ranks without Stretto
    pair,          // Stretto has no such operation of such a type
    element,       // the elements for an operation of the program's own are empty or too long
    own_operation, // nonblocking, and only a thread of the program may call the operation
    first,         // nonblocking, so it must not wait until Stretto's communicator is made
    young,         // too little was done on the communicator to make one of Stretto's for it
    sampled,       // left to the library to compare its time with Stretto's
};
inline constexpr std::size_t kReasons = 12;

constexpr std::string_view words(Reason reason) {
    constexpr std::string_view all[kReasons] = {
        "by Stretto",
        "arguments that MPI does not allow",
        "switched off by STRETTO_MPI",
        "an intercommunicator",
        "a communicator of one rank",
        "ranks of another job, or without Stretto",
        "an operation that is not for this type",
        "elements of no bytes, or more than 4 KiB, for an operation of the program's own",
        "nonblocking, with an operation that only the MPI library knows",
        "nonblocking, before Stretto has a communicator for it",
        "a communicator on which little has been done yet",
        "left to the MPI library to compare the times"};
    return all[static_cast<std::size_t>(reason)];
}

} // namespace stretto::mpi
