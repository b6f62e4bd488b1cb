// SPDX-License-Identifier: BSD-3-Clause
// Failures in calls that Stretto runs, and how they are reported to the program.
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
    // The code of a call of the MPI library, which has reported it to the program already; 0: there
    // was none.
    int code() const { return code_; }
    const char *what() const noexcept override { return message_.c_str(); }

private:
    stretto_status status_;
    int code_;
    std::string message_;
};

// Throws the message of a call of Stretto in this thread, unless it went well.
void check(stretto_status status);

// Reports the failure through the communicator's error handler, as the library itself would; by
// default that ends the job.  If it does not, returns the code for the call to return, for which
// MPI_Error_string has the message.
int raise(Handle comm, const char *call, const std::string &message) noexcept;

// Prints one line on standard error, which begins with "stretto: ".
void say(const std::string &text) noexcept;

} // namespace stretto::mpi
