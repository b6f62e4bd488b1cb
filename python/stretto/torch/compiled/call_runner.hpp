// SPDX-License-Identifier: BSD-3-Clause
// What the extension module gives to code that is compiled for a PyTorch: the capsule
// `stretto._core.call_runner`.
#pragma once

#include "stretto/stretto.h"

namespace stretto::python {

struct CallRunner {
    static constexpr const char *kName = "stretto._core.call_runner";

    // Runs body(context), a call that waits, as calls of Python's are run: without the GIL, which
    // the caller may hold or not, and with Python's handlers of signals.  False: the call failed,
    // and its error is set as Python's.
    bool (*run)(stretto_status (*body)(void *context), void *context);
};

} // namespace stretto::python
