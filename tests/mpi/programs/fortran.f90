! SPDX-License-Identifier: BSD-3-Clause
! The calls as Fortran makes them: by the module mpi, whose handles are integers.
program fortran
  use mpi
  implicit none
  integer, parameter :: n = 1000, few = 31
  integer :: rank, ranks, error, checks, failures, mine(2), sums(2)
  integer, allocatable :: everyones(:, :)
  external :: affine

  checks = 0
  failures = 0
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call blocking
  call truths_and_places
  call own_operation
  call nonblocking
  call window
  mine = [checks, failures]
  allocate (everyones(2, ranks))
  call MPI_Alltoall(spread(mine, 2, ranks), 2, MPI_INTEGER, everyones, 2, MPI_INTEGER, &
    MPI_COMM_WORLD, error) ! which Stretto does not serve
  sums = sum(everyones, 2)
  if (rank == 0) print '(i0, a, i0, a)', sums(1), ' checks, ', sums(2), ' failed'
  call MPI_Finalize(error)
  if (sums(2) /= 0) stop 1

contains

  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    checks = checks + 1
    if (good) return
    failures = failures + 1
    print '(a, i0, a, a)', 'rank ', rank, ': ', what
  end subroutine

  ! Element i of a rank, and the sum of all ranks' elements.
  elemental integer function number(of, i)
    integer, intent(in) :: of, i
    number = (of + 1) * (mod(i, 1009) + 1)
  end function

  elemental integer function total(i)
    integer, intent(in) :: i
    total = ranks * (ranks + 1) / 2 * (mod(i, 1009) + 1)
  end function

  subroutine blocking
    double precision, allocatable :: a(:), b(:), gathered(:)
    integer, allocatable :: shares(:)
    integer :: i, before, root
    allocate (a(n * ranks), b(n * ranks), gathered(n * ranks), shares(ranks))
    a = [(number(rank, i), i = 1, n * ranks)]
    b = -1
    call MPI_Allreduce(a, b, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call check(all(b(:n) == [(total(i), i = 1, n)]), 'allreduce')
    b = a
    call MPI_Allreduce(MPI_IN_PLACE, b, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
    call check(all(b(:n) == [(number(ranks - 1, i), i = 1, n)]), 'allreduce in place')
    do root = 0, ranks - 1
      b = a
      if (rank == root) then
        call MPI_Reduce(MPI_IN_PLACE, b, few, MPI_DOUBLE_PRECISION, MPI_SUM, root, &
                        MPI_COMM_WORLD, error)
        call check(all(b(:few) == [(total(i), i = 1, few)]), 'reduce')
      else
        call MPI_Reduce(b, gathered, few, MPI_DOUBLE_PRECISION, MPI_SUM, root, MPI_COMM_WORLD, error)
      end if
      b = a
      call MPI_Bcast(b, n, MPI_DOUBLE_PRECISION, root, MPI_COMM_WORLD, error)
      call check(all(b(:n) == [(number(root, i), i = 1, n)]), 'bcast')
    end do
    gathered = -1
    call MPI_Allgather(a, few, MPI_DOUBLE_PRECISION, gathered, few, MPI_DOUBLE_PRECISION, &
                       MPI_COMM_WORLD, error)
    do root = 0, ranks - 1
      call check(all(gathered(root * few + 1:(root + 1) * few) == &
                     [(number(root, i), i = 1, few)]), 'allgather')
    end do
    b = -1
    call MPI_Reduce_scatter_block(a, b, few, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call check(all(b(:few) == [(total(rank * few + i), i = 1, few)]), 'reduce_scatter_block')
    shares = [(i, i = 1, ranks)]
    before = rank * (rank + 1) / 2
    b = -1
    call MPI_Reduce_scatter(a, b, shares, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call check(all(b(:rank + 1) == [(total(before + i), i = 1, rank + 1)]), 'reduce_scatter')
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end subroutine

  ! Fortran's own types: what is true the compiler knows, and pairs are two of a type.
  subroutine truths_and_places
    logical :: mine, together
    integer :: pair(2), best(2)
    double precision :: far(2), least(2)
    mine = rank == 0
    call MPI_Allreduce(mine, together, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, error)
    call check(together, 'or')
    call MPI_Allreduce(mine, together, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, error)
    call check(together .eqv. ranks == 1, 'and')
    pair = [mod(rank * 3 + 1, 7), rank]
    call MPI_Allreduce(pair, best, 1, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, error)
    call check(best(1) >= pair(1) .and. mod(best(2) * 3 + 1, 7) == best(1), 'maxloc')
    far = [dble(10 - rank), dble(rank)]
    call MPI_Allreduce(far, least, 1, MPI_2DOUBLE_PRECISION, MPI_MINLOC, MPI_COMM_WORLD, error)
    call check(all(least == [dble(11 - ranks), dble(ranks - 1)]), 'minloc')
  end subroutine

  ! Maps x -> a x + b, one after the other: they do not commute.
  subroutine own_operation
    integer :: mine(2, few), made(2, few), expected(2, few), op, pairs, r, i
    call MPI_Type_contiguous(2, MPI_INTEGER, pairs, error)
    call MPI_Type_commit(pairs, error)
    call MPI_Op_create(affine, .false., op, error)
    do i = 1, few
      mine(:, i) = [mod(rank, 3) + 1, rank + i]
      expected(:, i) = [1, i]
      do r = 1, ranks - 1
        expected(2, i) = mod(expected(2, i) * (mod(r, 3) + 1) + r + i, 10007)
        expected(1, i) = mod(expected(1, i) * (mod(r, 3) + 1), 10007)
      end do
    end do
    call MPI_Allreduce(mine, made, few, pairs, op, MPI_COMM_WORLD, error)
    call check(all(made == expected), 'own operation')
    call MPI_Op_free(op, error)
    call MPI_Type_free(pairs, error)
  end subroutine

  ! An allreduce and a message, waited for in all ways.
  subroutine nonblocking
    integer :: a(few), b(few), requests(3), statuses(MPI_STATUS_SIZE, 3), came, next, previous
    integer :: way, i, index, ended, indices(3), left
    logical :: done
    next = mod(rank + 1, ranks)
    previous = mod(rank + ranks - 1, ranks)
    do way = 1, 8
      a = [(number(rank, i + way), i = 1, few)]
      b = -1
      came = -1
      call MPI_Iallreduce(a, b, few, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), error)
      call MPI_Irecv(came, 1, MPI_INTEGER, previous, way, MPI_COMM_WORLD, requests(2), error)
      call MPI_Isend(rank, 1, MPI_INTEGER, next, way, MPI_COMM_WORLD, requests(3), error)
      done = .false.
      select case (way)
      case (1)
        call MPI_Waitall(3, requests, statuses, error)
      case (2)
        do i = 3, 1, -1
          call MPI_Wait(requests(i), MPI_STATUS_IGNORE, error)
        end do
      case (3)
        do i = 1, 3
          call MPI_Waitany(3, requests, index, statuses(:, 1), error)
          call check(index >= 1 .and. index <= 3, 'waitany')
        end do
      case (4)
        left = 3
        do while (left > 0)
          call MPI_Waitsome(3, requests, ended, indices, MPI_STATUSES_IGNORE, error)
          call check(ended > 0, 'waitsome')
          left = left - max(ended, 1)
        end do
      case (5)
        do while (.not. done)
          call MPI_Testall(3, requests, done, MPI_STATUSES_IGNORE, error)
        end do
      case (6)
        do i = 1, 3
          done = .false.
          do while (.not. done)
            call MPI_Test(requests(i), done, MPI_STATUS_IGNORE, error)
          end do
        end do
      case (7)
        left = 3
        do while (left > 0)
          call MPI_Testany(3, requests, index, done, MPI_STATUS_IGNORE, error)
          if (done) left = left - 1
        end do
      case (8) ! with MPI_STATUS_IGNORE Open MPI 4.1 says false for ever
        do while (.not. done)
          call MPI_Request_get_status(requests(1), done, statuses(:, 1), error)
        end do
        left = 3
        do while (left > 0)
          call MPI_Testsome(3, requests, ended, indices, MPI_STATUSES_IGNORE, error)
          left = left - ended
        end do
      end select
      call check(all(requests == MPI_REQUEST_NULL), 'requests')
      call check(all(b == [(total(i + way), i = 1, few)]), 'iallreduce')
      call check(came == previous, 'message')
    end do
  end subroutine

  ! What rank 1 puts into rank 0's window before a barrier is there after it.
  subroutine window
    integer, allocatable, asynchronous :: memory(:)
    integer :: win
    integer(MPI_ADDRESS_KIND) :: bytes, place
    allocate (memory(1))
    bytes = storage_size(memory) / 8
    place = 0
    memory(1) = -1
    call MPI_Win_create(memory, bytes, int(bytes), MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    if (rank == 1) then
      call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win, error)
      call MPI_Put(4711, 1, MPI_INTEGER, 0, place, 1, MPI_INTEGER, win, error)
      call MPI_Win_unlock(0, win, error)
    end if
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win, error)
    call check(memory(1) == merge(4711, -1, rank == 0), 'window')
    call MPI_Win_unlock(rank, win, error)
    call MPI_Win_free(win, error)
  end subroutine

end program

subroutine affine(in, inout, length, datatype)
  implicit none
  integer :: length, datatype, i
  integer :: in(2, length), inout(2, length)
  do i = 1, length
    inout(2, i) = mod(in(2, i) * inout(1, i) + inout(2, i), 10007)
    inout(1, i) = mod(in(1, i) * inout(1, i), 10007)
  end do
end subroutine
