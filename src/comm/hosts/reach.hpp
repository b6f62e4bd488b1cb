// SPDX-License-Identifier: BSD-3-Clause
// What a communicator of a job on several hosts has from the job, for itself and for those that are
// made of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/hosts/lobby.hpp"

namespace stretto::comm {

class PeerWatch;

struct Reach {
    std::shared_ptr<Lobby> lobby;     // null: all ranks of the job are on one host
    std::shared_ptr<PeerWatch> watch; // null likewise
    std::uint32_t epoch = 0;          // of the job's life, in which the communicator was made
    std::vector<int> ranks;           // of the job, by rank of the communicator
};

} // namespace stretto::comm
