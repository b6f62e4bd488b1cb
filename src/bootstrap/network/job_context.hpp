// SPDX-License-Identifier: BSD-3-Clause
// What a communicator of a job on several hosts has from the job, for itself and for those that are
// made of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bootstrap/network/connection_acceptor.hpp"
#include "transport/remote/factory.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::bootstrap {

class FailureDetector;

struct JobContext {
    std::shared_ptr<ConnectionAcceptor>
        acceptor; // null, and so are the next three: the job is on one host
    std::shared_ptr<transport::RemoteTransport> transport; // that the job has agreed on
    std::shared_ptr<FailureDetector> watch;
    std::shared_ptr<const transport::SegmentShape> job; // of the communicator of all its ranks
    std::uint32_t epoch = 0; // of the job's life, in which the communicator was made
    std::vector<int> ranks;  // of the job, by rank of the communicator
};

} // namespace stretto::bootstrap
