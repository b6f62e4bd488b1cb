// SPDX-License-Identifier: BSD-3-Clause
#include "engine/failure.hpp"

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "base/call_scope.hpp"
#include "transport/remote/remote_peers.hpp"

namespace stretto::engine {

Error no_memory(const std::string &rank) {
    return {Status::memory,
            rank + " has no memory to go on with a call; the communicator has failed"};
}

static Error classified(const transport::Segment &segment, int rank, const Error &exhausted) {
    const auto on_this_rank = [&](Status status, const char *what) {
        const bool named = std::string_view(what).starts_with("rank ");
        return Error(status, named ? what : segment.names().of(rank) + ": " + what);
    };
    try {
        try {
            throw;
        } catch (const Interruption &interruption) { // it names the rank
            return interruption;
        } catch (const Error &error) {
            return on_this_rank(error.status(), error.what());
        } catch (const std::system_error &error) { // for instance, no thread could be started
            return on_this_rank(Status::system, error.what());
        } catch (const std::bad_alloc &) {
            return exhausted;
        } catch (const std::exception &error) {
            return on_this_rank(Status::internal, error.what());
        } catch (...) { // only the program's own functions throw such things
            return on_this_rank(Status::operation, kNoStandardException);
        }
    } catch (const std::bad_alloc &) { // while the message was made
        return exhausted;
    }
}

Interrupted interrupted(const Error &failure, const std::string &who,
                        const std::function<std::string()> &at) {
    try {
        const std::string text = failure.what();
        if (text.find(who + " in ") == std::string::npos)
            return {failure.status(), text + "; here: " + who + " " + at()};
    } catch (const std::bad_alloc &) {
    }
    return Interrupted(failure);
}

Error post_exception(transport::Segment &segment, int rank, const Error &exhausted) {
    if (!segment.failed()) {
        const Error error = classified(segment, rank, exhausted);
        segment.fail(error.status(), error.what());
    } else {
        // The rank that posted it has reported to its own links.
        if (transport::RemotePeers *const remote_peers = segment.remote_peers())
            remote_peers->failed();
        try {
            throw;
        } catch (const Interrupted &failure) {
            return failure;
        } catch (...) {
        }
    }
    return posted(segment, exhausted); // the first, if another rank was faster
}

Error posted(const transport::Segment &segment, const Error &exhausted) {
    try {
        return segment.failure();
    } catch (const std::bad_alloc &) {
        return exhausted;
    }
}

} // namespace stretto::engine
