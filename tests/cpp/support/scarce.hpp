// SPDX-License-Identifier: BSD-3-Clause
// A heap that fails when told to.  Its source replaces operator new of the program, and so that of
// libstretto.
#pragma once

namespace test {

// Of this thread: how many allocations succeed before one fails; negative: all do.
inline thread_local long allocations_left = -1;
inline thread_local bool allocation_failed = false;

// Lets the n-th allocation of this thread fail, until destroyed.
class Scarce {
public:
    explicit Scarce(long n) {
        allocation_failed = false;
        allocations_left = n;
    }
    ~Scarce() { allocations_left = -1; }
    Scarce(const Scarce &) = delete;
    Scarce &operator=(const Scarce &) = delete;
    bool struck() const { return allocation_failed; }
};

} // namespace test
