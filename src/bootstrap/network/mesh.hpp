// SPDX-License-Identifier: BSD-3-Clause
// What connects the ranks of a communicator on several hosts: links for its data, by the transport
// that the job has agreed on, and connections for control.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/environment.hpp"
#include "bootstrap/network/job_context.hpp"
#include "net/connection.hpp"
#include "transport/remote/factory.hpp"
#include "transport/shm/placement.hpp"

namespace stretto::bootstrap {

using Connections = std::vector<std::unique_ptr<net::Connection>>; // by rank

struct Mesh {
    std::unique_ptr<transport::Connecting> data; // complete; links to ranks of other hosts
    // Of the job alone, for its agents.  Null for this rank itself: those of one host agree as all
    // others do.
    Connections control;
};
class Patience;
enum class Kinds { data, data_and_control };

// `epoch`: the key of the communicator; `watch`, called again and again, throws if a rank will not
// come.  Throws Error(timeout) that says which connections to what addresses this rank lacks, and
// why, when `patience` has ended.
Mesh connect_all(const Identity &me, const JobContext &reach, std::uint64_t epoch,
                 const transport::Placement &placement, Kinds kinds,
                 const std::function<void()> &watch, const Patience &patience);

// What STRETTO_FAKE_HOSTS, which is `names`, says of a rank of the job; "" if it says nothing.
std::string host_named(const std::string &names, int rank);

} // namespace stretto::bootstrap
