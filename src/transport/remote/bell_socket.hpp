// SPDX-License-Identifier: BSD-3-Clause
// The bell of a rank that sleeps on its event set: a datagram socket, since a futex is no
// descriptor.  Other ranks of the host ring it by its name.
#pragma once

#include <cstdint>

#include "base/descriptor.hpp"

namespace stretto::transport {

class BellSocket {
public:
    // `key`: of the segment, which makes names unique.  Throws if the name is taken.
    BellSocket(std::uint64_t key, int rank);

    int descriptor() const { return socket_.get(); }
    // Rings the bell of `rank`.  Takes no memory, since ranks are woken in the middle of calls.
    void ring(int rank) const;
    // Takes the rings that have come.
    void silence() const;

private:
    const std::uint64_t key_;
    Descriptor socket_;
};

} // namespace stretto::transport
