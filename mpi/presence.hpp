// SPDX-License-Identifier: BSD-3-Clause
// Finds out whether all ranks of MPI_COMM_WORLD have Stretto, without a message that a rank without
// Stretto could receive.
//
// Each rank publishes a key in the launcher's own key-value space (PMIx, PMI 1) before the MPI
// library's first exchange in MPI_Init, which publishes addresses there.  So after MPI_Init the key
// of a rank is visible to all, or will never be.  Ranks then ask along a binary tree:
//
//          0          A rank reads the keys of its parent and its children.  It exchanges messages
//        /   \        only with those that have a key: these are in MPI_Init as well.  Results go
//       1     2       up the tree, and the answer comes down.  If a rank without Stretto cuts the
//      / \   /        tree, the ranks on both sides of the cut know it.
//     3  4  5
#pragma once

#include "host.hpp"

namespace stretto::mpi {

class Presence {
public:
    enum class Answer {
        all,
        some,       // some ranks lack Stretto, and this rank reports it
        reported,   // some ranks lack Stretto, and another rank reports it
        no_launcher // the launcher has no key-value space that Stretto knows
    };
    struct Found {
        Answer answer = Answer::no_launcher;
        int missing = -1; // a rank that lacks Stretto
    };
    // Called after the library's MPI_Init.  A collective of the ranks that have Stretto.
    static Found agree(const MpiLibrary &host, int rank, int size);
};

} // namespace stretto::mpi
