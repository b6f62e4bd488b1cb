// SPDX-License-Identifier: BSD-3-Clause
#include "failure.hpp"

#include <cstdio>

#include "host.hpp"

namespace stretto::mpi {

void check(stretto_status status) {
    if (status != STRETTO_OK) [[unlikely]]
        throw Failure(status, stretto_last_error());
}

namespace {

// An error code of this class whose text is `text`; 0 if the library cannot make one.
int code_for(const MpiLibrary &host, int error_class, const std::string &text) {
    int code = 0, length = 0;
    char found[2048] = ""; // no library's MPI_MAX_ERROR_STRING is more than a quarter of it
    if (host.Add_error_code(error_class, &code) != 0 ||
        host.Add_error_string(code, text.c_str()) != 0 ||
        host.Error_string(code, found, &length) != 0 || text != found)
        return 0;
    return code;
}

int code_for(const MpiLibrary &host, const std::string &text) {
    if (const int code = code_for(host, host.abi().error_other, text); code != 0)
        return code;
    // MPICH 4.0 gives such a code a text of its own, unless its class is the program's.
    int own_class = 0;
    if (host.Add_error_class(&own_class) != 0)
        return 0;
    return code_for(host, own_class, text);
}

} // namespace

int raise(Handle comm, const char *call, const std::string &message) noexcept {
    const MpiLibrary &host = MpiLibrary::get();
    int code = host.abi().error_other;
    try {
        constexpr std::size_t kMost = 255; // characters that every library takes
        const std::string text = std::string(call) + ", run by Stretto: " + message;
        if (const int made = code_for(host, text.substr(0, kMost)); made != 0)
            code = made;
        say(text);
    } catch (const std::exception &) { // no memory for the text: only the code is reported
    }
    host.Comm_call_errhandler(comm, code);
    return code;
}

void say(const std::string &text) noexcept {
    std::fprintf(stderr, "stretto: %s\n", text.c_str());
}

} // namespace stretto::mpi
