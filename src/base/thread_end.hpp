// SPDX-License-Identifier: BSD-3-Clause
// The end of a thread by pthread_exit() or a cancellation.  It unwinds the stack as an exception
// does.  With the GNU C++ library catch (...) catches it and must throw it again, or the process
// aborts.  Other C++ libraries have no name for it.
#pragma once

#include <cxxabi.h>
#include <exception> // defines __GLIBCXX__

namespace stretto {

#ifdef __GLIBCXX__
using ThreadEnd = abi::__forced_unwind;
#else
class ThreadEnd {}; // which nothing throws
#endif

} // namespace stretto
