// SPDX-License-Identifier: BSD-3-Clause
// The one error type.  Thrown inside the library, turned into a stretto_status at the C API.
#pragma once

#include <stdexcept>
#include <string>

namespace stretto {

enum class Status {
    ok = 0,
    argument = 1,
    mismatch = 2,
    peer = 3,
    timeout = 4,
    unsupported = 5,
    memory = 6,
    system = 7,
    revoked = 8,
    internal = 9,
    truncated = 10,
    operation = 11,
    excluded = 12,
    interrupted = 13,
    aborted = 14,
};
inline constexpr Status kLastStatus = Status::aborted;

const char *name(Status status);

class Error : public std::runtime_error {
public:
    Error(Status status, const std::string &message)
        : std::runtime_error(message), status_(status) {}
    Status status() const { return status_; }

private:
    Status status_;
};

// "what: strerror(errno)" and, where there is one, a remedy; as Status::system.
[[noreturn]] void throw_errno(const std::string &what);

} // namespace stretto
