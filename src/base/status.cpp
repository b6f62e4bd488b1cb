// SPDX-License-Identifier: BSD-3-Clause
#include "base/status.hpp"

#include <cerrno>
#include <cstring>
#include <sys/resource.h>

namespace stretto {

const char *name(Status status) {
    switch (status) {
    case Status::ok: return "ok";
    case Status::argument: return "wrong argument";
    case Status::mismatch: return "mismatched collectives";
    case Status::peer: return "peer failed";
    case Status::timeout: return "timeout";
    case Status::unsupported: return "unsupported";
    case Status::memory: return "out of memory";
    case Status::system: return "system error";
    case Status::revoked: return "communicator revoked";
    case Status::internal: return "internal error";
    case Status::truncated: return "message truncated";
    case Status::operation: return "operation failed";
    case Status::excluded: return "excluded";
    case Status::interrupted: return "interrupted";
    case Status::aborted: return "aborted";
    }
    return "unknown status";
}

void throw_errno(const std::string &what) {
    const int code = errno;
    const Status status = (code == ENOMEM || code == ENOSPC) ? Status::memory : Status::system;
    std::string remedy;
    struct rlimit limit{};
    if (code == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
        remedy = "; raise the limit of open files (ulimit -n), which is " +
                 std::to_string(limit.rlim_cur);
    throw Error(status, what + ": " + std::strerror(code) + remedy);
}

} // namespace stretto
