// SPDX-License-Identifier: BSD-3-Clause
// The pause between two looks at a flag while a thread spins.
#pragma once

namespace stretto {

// Tells the core that this thread waits.  The core then favours its other hardware thread, and this
// thread leaves its loop sooner.  Nothing where the processor has no such instruction.
inline void cpu_pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

} // namespace stretto
