// SPDX-License-Identifier: BSD-3-Clause
// One call of any collective on data of which the answer is known, and what was wrong with it.
#pragma once

#include <memory>
#include <string>

#include "support/forms.hpp"

namespace test {

// "reduce of 1009, dtype 1, op 2, root 3, in place, shared, at 0 and 60"
std::string label(const Call &call);

// A call with its buffers: filled at once, called or started when the test likes, then judged.
class Played {
public:
    virtual ~Played() = default;
    virtual stretto_status run() = 0;
    virtual stretto_status start(stretto_request *request) = 0;
    // Empty, or what was wrong.
    virtual std::string verdict() = 0;
};

std::unique_ptr<Played> prepare(stretto_comm comm, const Call &call);

// Empty, or what was wrong.
std::string play(stretto_comm comm, const Call &call);

} // namespace test
