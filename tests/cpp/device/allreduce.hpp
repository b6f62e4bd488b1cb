// SPDX-License-Identifier: BSD-3-Clause
// The call that tests of the pipeline make.
#pragma once

#include <cstddef>

#include "support/forms.hpp"

namespace test {

inline Call allreduce(std::size_t count) {
    Call call;
    call.count = count;
    call.dtype = STRETTO_INT32;
    return call;
}

} // namespace test
