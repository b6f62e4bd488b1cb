// SPDX-License-Identifier: BSD-3-Clause
// Turns an error on one rank into the failure of the communicator.
#pragma once

#include <functional>
#include <string>

#include "base/status.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::engine {

// The error for lack of memory.  It is made in advance, since it could not be made when no memory
// is left.  `rank`: as messages name it, "rank 3".
Error no_memory(const std::string &rank);

// Called in an exception handler.  The other ranks wait for this rank, which cannot continue.  So
// its exception is posted as the failure of the communicator, unless that has failed already.  When
// this returns, the links of this rank know of the failure, and begin to read no more of callers'
// buffers.  Returns the failure; `exhausted` is no_memory(), which is used if there is no memory.
Error post_exception(transport::Segment &segment, int rank, const Error &exhausted);

// The failure as returned to the caller of one rank: it says in which call the rank was, so that
// the caller knows which of its calls to repeat.
class Interrupted : public Error {
public:
    using Error::Error;
    explicit Interrupted(const Error &failure) noexcept : Error(failure) {}
};
// `who`: the name of this rank in errors.  The text already names the rank that found the failure.
// If there is no memory for more words, the failure is returned unchanged.
Interrupted interrupted(const Error &failure, const std::string &who,
                        const std::function<std::string()> &at);

inline constexpr const char *kNoStandardException =
    "a function of the program threw an exception that is no std::exception";

// The failure that was posted, or `exhausted` if there is no memory for it.
Error posted(const transport::Segment &segment, const Error &exhausted);

} // namespace stretto::engine
