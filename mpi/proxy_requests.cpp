// SPDX-License-Identifier: BSD-3-Clause
#include "proxy_requests.hpp"

#include "failure.hpp"
#include "host.hpp"

namespace stretto::mpi {

namespace {
constexpr int kTags = 1 << 15; // that any library has (MPI 4.1, 9.1.2: MPI_TAG_UB)
} // namespace

ProxyRequest ProxyRequests::receive() {
    {
        const std::lock_guard lock(mutex_);
        if (!pending_.empty()) {
            const ProxyRequest proxy = pending_.back();
            pending_.pop_back();
            return proxy;
        }
    }
    return make(MpiLibrary::get().Irecv);
}

ProxyRequest ProxyRequests::receive_init() {
    return make(MpiLibrary::get().Recv_init);
}

template<class Function>
ProxyRequest ProxyRequests::make(Function post) {
    ProxyRequest proxy;
    {
        const std::lock_guard lock(mutex_);
        const Place free = place();
        proxy = {0, free.comm, free.tag};
    }
    if (post(nullptr, 0, MpiLibrary::get().abi().byte, 0, proxy.tag, proxy.comm, &proxy.request) !=
        0)
        throw Failure(STRETTO_ERR_SYSTEM, "the MPI library gives no request");
    return proxy;
}

// The caller holds the lock.
ProxyRequests::Place ProxyRequests::place() {
    if (!places_.empty()) {
        const Place place = places_.back();
        places_.pop_back();
        return place;
    }
    if (comms_.empty() || next_tag_ == kTags) {
        const MpiLibrary &host = MpiLibrary::get();
        Handle comm = 0;
        // Not a duplicate of MPI_COMM_SELF, which would have the program's attributes as well.
        if (host.Comm_split(host.abi().comm_self, 0, 0, &comm) != 0)
            throw Failure(STRETTO_ERR_SYSTEM, "the MPI library makes no communicator of one rank");
        comms_.push_back(comm);
        next_tag_ = 0;
    }
    return {comms_.back(), next_tag_++};
}

void ProxyRequests::end(const ProxyRequest &proxy) {
    const MpiLibrary &host = MpiLibrary::get();
    host.Send(nullptr, 0, host.abi().byte, 0, proxy.tag, proxy.comm);
}

void ProxyRequests::give_back(const ProxyRequest &proxy, Receive receive) {
    {
        const std::lock_guard lock(mutex_);
        if (receive == Receive::pending && pending_.size() < kMostKept) {
            pending_.push_back(proxy);
            return;
        }
    }
    if (receive == Receive::pending)
        finish(proxy);
    const std::lock_guard lock(mutex_);
    places_.push_back({proxy.comm, proxy.tag});
}

// Ends the library's receive.
void ProxyRequests::finish(ProxyRequest proxy) {
    end(proxy);
    MpiLibrary::get().Wait(&proxy.request, MpiLibrary::get().abi().status_ignore);
}

void ProxyRequests::finish() {
    const std::lock_guard lock(mutex_);
    for (const ProxyRequest &proxy : pending_)
        finish(proxy);
    pending_.clear();
    places_.clear();
    for (Handle &comm : comms_)
        MpiLibrary::get().Comm_free(&comm);
    comms_.clear();
}

} // namespace stretto::mpi
