// SPDX-License-Identifier: BSD-3-Clause
// The library of XPMEM for machines without its kernel module, and what a test sets and sees of it.
//
// It is the best module or the worst.  If it *follows*, ranks that are threads of one process are
// given the memory itself.  Else an attachment is a copy, as the memory was when it was attached,
// which shows nothing of what the owner does later: whatever keeps one too long reads old data.
// The memory of another process is always such a copy.
#pragma once

#include <atomic>
#include <cstddef>

struct FakeXpmem {
    std::atomic<bool> follows{true};
    // Attached pages of other processes are not there, as if those had just ended.
    std::atomic<bool> vanishes{false};
    std::atomic<std::size_t> gets{0}, releases{0}, attaches{0}, detaches{0};
    std::atomic<std::size_t> errors{0}; // calls that the kernel would refuse as wrong
};
extern FakeXpmem fake_xpmem;

// What the library refuses to the calling thread, with EPERM.
enum class Refused { nothing, make, get, attach };
Refused &fake_xpmem_refuses();
