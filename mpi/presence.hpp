// SPDX-License-Identifier: BSD-3-Clause
// Whether all ranks of MPI_COMM_WORLD have Stretto, found out without a message that a rank without
// it could receive.
//
// Each rank publishes a key in the launcher's own key-value space (PMIx, PMI 1) before the MPI
// library's first exchange in MPI_Init, which publishes addresses there: so after MPI_Init the key
// of a rank is there for all, or will never be.  Ranks then ask along a binary tree:
//
//          0          A rank reads the keys of its parent and its children, and contacts those
//        /   \        that have one, which are in MPI_Init as well: what they have found goes up,
//       1     2       and the answer comes down.  Where a rank without Stretto cuts the tree, both
//      / \   /        sides of the cut know it.
//     3  4  5
#pragma once

#include "host.hpp"

namespace stretto::mpi {

class Presence {
public:
    enum class Answer {
        all,
        some,       // some ranks lack Stretto
        told,       // the same, and another rank says so
        no_launcher // its key-value space is not known here
    };
    struct Found {
        Answer answer = Answer::no_launcher;
        int missing = -1; // a rank that lacks Stretto
    };
    // After the library's MPI_Init.  A collective of the ranks that have Stretto.
    static Found agree(const MpiLibrary &host, int rank, int size);
};

} // namespace stretto::mpi
