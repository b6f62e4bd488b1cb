// SPDX-License-Identifier: BSD-3-Clause
#include "failure.hpp"

#include <cstdio>

#include "host.hpp"

namespace stretto::mpi {

void check(stretto_status status) {
    if (status != STRETTO_OK) [[unlikely]]
        throw Failure(status, stretto_last_error());
}

int raise(Handle comm, const char *call, const std::string &message) noexcept {
    const Host &host = Host::get();
    int code = host.abi().error_other;
    try {
        constexpr std::size_t kMost = 255; // characters that every library takes
        const std::string text = std::string(call) + ", served by Stretto: " + message;
        int made = 0;
        if (host.Add_error_code(host.abi().error_other, &made) == 0 &&
            host.Add_error_string(made, text.substr(0, kMost).c_str()) == 0)
            code = made;
        say(text);
    } catch (const std::exception &) { // no memory: the code has to do
    }
    host.Comm_call_errhandler(comm, code);
    return code;
}

void say(const std::string &text) noexcept {
    std::fprintf(stderr, "stretto: %s\n", text.c_str());
}

} // namespace stretto::mpi
