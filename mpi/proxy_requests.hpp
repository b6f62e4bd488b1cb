// SPDX-License-Identifier: BSD-3-Clause
// The MPI requests behind the program's requests: receives of empty messages of this rank from
// itself.
#pragma once

#include <mutex>
#include <vector>

#include "abi.hpp"

namespace stretto::mpi {

// A request of the library, and where a message goes that ends it and no other.
struct ProxyRequest {
    Handle request = 0;
    Handle comm = 0;
    int tag = 0;
};

// All are in communicators of this rank alone, in which the program sends nothing.
class ProxyRequests {
public:
    ProxyRequest receive();      // a receive that goes on
    ProxyRequest receive_init(); // a persistent one, inactive
    // The message: the library's request is complete.
    static void end(const ProxyRequest &proxy);
    // A proxy request that is no longer needed: its receive has ended in the library, or is still
    // pending.
    enum class Receive { ended, goes_on };
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

    // Of receives that go on, a library may look at every one for each message that comes: no more
    // of them than this wait to be needed again.
    static constexpr std::size_t kGoOn = 4;

    std::mutex mutex_;
    std::vector<Handle> comms_;
    int next_tag_ = 0;          // the first unused one of the last communicator
    std::vector<Place> places_; // that are free again
    std::vector<ProxyRequest> going_on_;
};

} // namespace stretto::mpi
