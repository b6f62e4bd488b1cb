# SPDX-License-Identifier: BSD-3-Clause
# Every test case that an emulator cannot run, with the reason.  The build's not_emulated.txt has the
# same list, which make test-aarch64 prints.

# stretto_not_emulated(TEST REASON case...): names of test cases, with wildcards.
file(WRITE "${CMAKE_BINARY_DIR}/not_emulated.txt" "")
function(stretto_not_emulated test reason)
  string(REPLACE ";" "," cases "${ARGN}")
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "STRETTO_TEST_EXCLUDE=${cases}")
  foreach(case IN LISTS ARGN)
    file(APPEND "${CMAKE_BINARY_DIR}/not_emulated.txt" "not run: ${test}, \"${case}\": ${reason}\n")
  endforeach()
endfunction()

stretto_not_emulated(api_costs "it counts system calls by a seccomp filter, which QEMU refuses"
  "a small allreduce makes no system call*")
stretto_not_emulated(api_failures "it limits the address space of a rank, and QEMU ignores RLIMIT_AS"
  "no address space on one rank is an error on all"
  "no address space for the heap of another rank ends the call on all")
stretto_not_emulated(api_children "it forbids files by a seccomp filter, which QEMU refuses"
  "making a child opens no file")
stretto_not_emulated(api_fork
  "QEMU opens files under a lock of its own, which a child finds taken if another thread opens one"
  "a child joins a job and makes ops while threads of its parent do so")
stretto_not_emulated(api_peers "it counts threads, and QEMU has one of its own"
  "a job on one host has no threads of its own")
set(reads "ranks read one another's memory by process_vm_readv, which QEMU does not have")
stretto_not_emulated(api_attach "${reads}" "*")
stretto_not_emulated(api_xpmem "${reads}, also in the XPMEM of the tests"
  "if one rank has no XPMEM*" "what has been attached stays so*" "memory that is replaced between calls*"
  "every type with every operation that it has*" "calls in flight read in place*"
  "an operation of the caller*" "memory that vanishes*")
execute_process(COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} --version OUTPUT_VARIABLE emulator)
string(REGEX MATCH "version ([0-9.]+)" emulator "${emulator}")
if(CMAKE_MATCH_1 VERSION_LESS 10)
  # Seen with 7.2 (Debian 12).  The cases of base and api_fork_hosts run with 10.0 (Debian 13).
  stretto_not_emulated(base
    "QEMU before 10 ignores MADV_WIPEONFORK, by which children of a bare clone() are known"
    "a child has another mark than its parent*")
  stretto_not_emulated(api_errors
    "QEMU before 10 has a record of its own for each page of a mapping, and this maps terabytes"
    "no room for the segment is an error that names the remedy")
  stretto_not_emulated(api_fork_hosts
    "QEMU before 10 aborts if a child of a process with threads starts threads"
    "a child joins a job of its own*" "the death of a rank is seen while its child lives")
endif()

# A rank maps 64 GiB.  QEMU 7.2 takes 0.7 s for each such mapping, and all threads wait meanwhile.
get_property(tests DIRECTORY PROPERTY TESTS)
foreach(test IN LISTS tests)
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "STRETTO_HEAP_BYTES=1G")
endforeach()
