// SPDX-License-Identifier: BSD-3-Clause
// The MPI requests behind the program's requests: receives of empty messages of this rank from
// itself.
#pragma once

#include <mutex>
#include <vector>

#include "abi.hpp"

namespace stretto::mpi {

// A request of the library, and the communicator and tag of the message that completes it.
struct ProxyRequest {
    Handle request = 0;
    Handle comm = 0;
    int tag = 0;
};

// All are in communicators of this rank only, in which the program sends nothing.
class ProxyRequests {
public:
    ProxyRequest receive();      // a pending receive
    ProxyRequest receive_init(); // a persistent receive, inactive
    // Sends the message: the library completes the request.
    static void end(const ProxyRequest &proxy);
    // Gives back a proxy request that is no longer needed: its receive has ended in the library, or
    // is still pending and can be used again.
    enum class Receive { ended, pending };
    void give_back(const ProxyRequest &proxy, Receive receive);
    void finish();

private:
    struct Place {
        Handle comm;
        int tag;
    };
    Place place();
    static void finish(ProxyRequest proxy);
    template<class Function>
    ProxyRequest make(Function post);

    // Pending receives that are kept for the next calls.  Few, as a library may search all pending
    // receives for each message.
    static constexpr std::size_t kMostKept = 4;

    std::mutex mutex_;
    std::vector<Handle> comms_;
    int next_tag_ = 0;          // the first unused one of the last communicator
    std::vector<Place> places_; // that are free again
    std::vector<ProxyRequest> pending_;
};

} // namespace stretto::mpi
