// SPDX-License-Identifier: BSD-3-Clause
#include "presence.hpp"

#include <algorithm>
#include <vector>

#include "launcher.hpp"

namespace stretto::mpi {

namespace {

constexpr int kTag = 1; // on MPI_COMM_WORLD: in MPI_Init no rank receives anything else there

void send(const MpiLibrary &host, int value, int to) {
    host.Send(&value, sizeof value, host.abi().byte, to, kTag, host.abi().comm_world);
}

int receive(const MpiLibrary &host, int from) {
    int value = -1;
    host.Recv(&value, sizeof value, host.abi().byte, from, kTag, host.abi().comm_world,
              host.abi().status_ignore);
    return value;
}

} // namespace

Presence::Found Presence::agree(const MpiLibrary &host, int rank, int size) {
    const std::unique_ptr<Launcher> launcher = Launcher::find();
    if (launcher == nullptr)
        return {Answer::no_launcher, -1};
    // The number of a rank that lacks Stretto; -1: none.
    int missing = -1;
    std::vector<int> children;
    for (const int child : {2 * rank + 1, 2 * rank + 2}) {
        if (child >= size)
            continue;
        if (launcher->has(child))
            children.push_back(child);
        else
            missing = child;
    }
    for (const int child : children)
        missing = std::max(missing, receive(host, child));
    const int parent = (rank - 1) / 2;
    // Only the lowest rank that has Stretto reports the result; on the others this becomes 1.
    int reported = 0;
    if (rank > 0 && launcher->has(parent)) {
        send(host, missing, parent);
        missing = receive(host, parent);
        reported = receive(host, parent);
    } else if (rank > 0) {
        missing = parent;
        for (int before = 0; before < rank && reported == 0; ++before)
            reported = launcher->has(before, Launcher::Ask::briefly) ? 1 : 0;
    }
    for (const int child : children) {
        send(host, missing, child);
        send(host, 1, child);
    }
    if (missing < 0)
        return {Answer::all, -1};
    return {reported == 0 ? Answer::some : Answer::reported, missing};
}

} // namespace stretto::mpi
