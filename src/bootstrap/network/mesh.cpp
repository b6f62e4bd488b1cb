// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/mesh.hpp"

#include <algorithm>
#include <poll.h>
#include <sstream>
#include <string>
#include <utility>

#include "base/call_scope.hpp"
#include "bootstrap/network/weaver.hpp"
#include "bootstrap/patience.hpp"
#include "bootstrap/phrases.hpp"
#include "membership/net_links.hpp"

namespace stretto::bootstrap {

namespace {

// Connections that a rank opens at a time.  Among many ranks all at once would be P^2 / 2
// handshakes, each of which waits for all the others' at the processors and links, and those that
// take too long for it would begin again.
constexpr std::size_t kAtOnceLinks = 16;

// What this rank lacks, and what it knows of why.
Error too_late(const Identity &me, const transport::Connecting &links, const Patience &patience) {
    return Error(Status::timeout,
                 rank_here(me.rank) + " lacks connections after " + patience.seconds() + ": " +
                     links.lacks() + "; " +
                     (me.address.empty()
                          ? "all ranks of the new communicator must call " + me.launcher
                          : links.remedy()));
}

} // namespace

std::string host_named(const std::string &names, int rank) {
    const auto commas = std::count(names.begin(), names.end(), ',');
    std::istringstream list(names);
    std::string name;
    for (auto skip = rank % (commas + 1); skip >= 0; --skip)
        std::getline(list, name, ',');
    return name;
}

Mesh connect_all(const Identity &me, const JobContext &reach, std::uint64_t epoch,
                 const transport::Placement &placement, Kinds kinds,
                 const std::function<void()> &watch, const Patience &patience) {
    transport::Group group{me.rank, reach.ranks, placement, epoch, kAtOnceLinks};
    std::unique_ptr<ControlWeaver> control;
    if (kinds == Kinds::data_and_control) {
        group.at_once /= 2; // of each
        control = std::make_unique<ControlWeaver>(
            reach.acceptor, group, std::vector{Line{net::ConnectionKind::control, 0}},
            membership::NetLinks::limits(me.size));
    }
    Mesh mesh;
    mesh.data = reach.transport->connect(group);
    std::vector<transport::Connecting *> missing{mesh.data.get()};
    if (control != nullptr)
        missing.push_back(control.get());
    for (std::vector<pollfd> descriptors;;) {
        for (transport::Connecting *each : missing)
            each->progress();
        std::erase_if(missing, [](const auto *each) { return each->complete(); });
        if (missing.empty())
            break;
        watch();
        interruption_point();
        const bool over = patience.ended();
        for (transport::Connecting *each : missing)
            each->check(over);
        if (over)
            throw too_late(me, *missing.front(), patience);
        descriptors.clear();
        for (const transport::Connecting *each : missing)
            each->waits_for(descriptors);
        constexpr int kPollMs = 5;
        (void)poll(descriptors.data(), descriptors.size(), kPollMs);
    }
    if (control != nullptr)
        mesh.control = std::move(control->take().front());
    return mesh;
}

} // namespace stretto::bootstrap
