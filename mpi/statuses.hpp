// SPDX-License-Identifier: BSD-3-Clause
// MPI_Request_get_status_any, _all and _some, which MPI has since 4.1, for older libraries: under
// Stretto a program must find all functions of the version that it asked for.
#pragma once

namespace stretto::mpi {

// As the functions of MPI, by MPI_Request_get_status of the library; 0, or its code.  Inactive
// persistent requests count as complete, since they cannot be distinguished.
int get_status_all(int count, const void *requests, int *flag, void *statuses);
int get_status_any(int count, const void *requests, int *index, int *flag, void *status);
int get_status_some(int count, const void *requests, int *ended, int *indices, void *statuses);

} // namespace stretto::mpi
