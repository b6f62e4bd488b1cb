// SPDX-License-Identifier: BSD-3-Clause
// How what goes wrong on one rank becomes the failure of all.
#pragma once

#include <functional>
#include <string>

#include "base/status.hpp"
#include "transport/segment.hpp"

namespace stretto::engine {

// Made in good times: with no memory left there is none for an error either.
// `rank`: as messages name it, "rank 3".
Error no_memory(const std::string &rank);

// To be called where an exception is handled.  The others wait for this rank, which cannot go on:
// so its exception is posted as the failure of the communicator, unless that has failed already.
// Gives the failure; `exhausted` is no_memory(), for when there is none.
Error post_exception(transport::Segment &segment, int rank, const Error &exhausted);

// The failure as the caller of one rank gets it: with what that rank was at, so that each can tell
// which of its calls it has to repeat.
class Interrupted : public Error {
public:
    using Error::Error;
    explicit Interrupted(const Error &failure) noexcept : Error(failure) {}
};
// `who`: this rank, as it is called in errors.  One who has found the failure out is named in it
// already.  Without memory for more words, the failure as it is.
Interrupted interrupted(const Error &failure, const std::string &who,
                        const std::function<std::string()> &at);

inline constexpr const char *kNoStandardException =
    "a function of the program threw an exception that is no std::exception";

// The failure that was posted, or `exhausted` if there is no memory for it.
Error posted(const transport::Segment &segment, const Error &exhausted);

} // namespace stretto::engine
