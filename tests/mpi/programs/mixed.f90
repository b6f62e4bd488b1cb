! SPDX-License-Identifier: BSD-3-Clause
! What mixed.c calls: collectives by the module mpi_f08.
subroutine initialise()
  use mpi_f08
  call MPI_Init()
end subroutine

subroutine sum(mine, total)
  use mpi_f08
  integer, intent(in) :: mine
  integer, intent(out) :: total
  call MPI_Allreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
end subroutine

subroutine sum_later(mine, total)
  use mpi_f08
  integer, intent(in), asynchronous :: mine
  integer, intent(out), asynchronous :: total
  type(MPI_Request) :: request
  call MPI_Iallreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
end subroutine

subroutine wait_for_all()
  use mpi_f08
  call MPI_Barrier(MPI_COMM_WORLD)
end subroutine
