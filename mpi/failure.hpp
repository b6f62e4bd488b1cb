// SPDX-License-Identifier: BSD-3-Clause
// What went wrong in a call that Stretto serves, and how the program hears of it.
#pragma once

#include <exception>
#include <string>

#include "abi.hpp"
#include "stretto/stretto.h"

namespace stretto::mpi {

class Failure : public std::exception {
public:
    Failure(stretto_status status, std::string message, int code = 0)
        : status_(status), code_(code), message_(std::move(message)) {}
    stretto_status status() const { return status_; }
    // Of a call of the MPI library, which has told the program already; 0: it was none.
    int code() const { return code_; }
    const char *what() const noexcept override { return message_.c_str(); }

private:
    stretto_status status_;
    int code_;
    std::string message_;
};

// Throws the message of a call of Stretto in this thread, unless it went well.
void check(stretto_status status);

// Tells the program by the error handler of the communicator, as the library itself would; by
// default that ends the job.  Where it does not, gives the code that the call is to return, of
// which MPI_Error_string knows the message.
int raise(Handle comm, const char *call, const std::string &message) noexcept;

// One line on standard error, whose writer the program's user finds by its name.
void say(const std::string &text) noexcept;

} // namespace stretto::mpi
