// SPDX-License-Identifier: BSD-3-Clause
// Statuses of the C API become exceptions of stretto.errors.
#pragma once

#include "base/status.hpp"
#include "stretto/stretto.h"

namespace stretto::python {

// Throws stretto::Error with the message of this thread's last failure, unless the status is OK.
inline void check(stretto_status status) {
    if (status != STRETTO_OK)
        throw Error(static_cast<Status>(status), stretto_last_error());
}

// From now on a stretto::Error that leaves a bound function is raised as the class of
// stretto.errors that belongs to its status.
void translate_errors();
// Sets Python's error to that of a status.  Needs the GIL.
void set_error(Status status, const char *message);

} // namespace stretto::python
