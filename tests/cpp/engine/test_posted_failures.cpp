// SPDX-License-Identifier: BSD-3-Clause
// A failure that another rank of the host has posted: the links of a rank know it before the call
// of that rank ends, as they may still send from its buffers.
#include "doctest.h"

#include <memory>

#include "engine/failure.hpp"
#include "engine/hosts_world.hpp"
#include "support/pipes.hpp"

using namespace stretto;
using transport::WireMessage;

TEST_CASE("a rank has sent a failure to other hosts before its call returns it") {
    stretto::test::World world;
    world.host_of = {0, 0, 1};
    const auto views = stretto::test::segments(world);
    stretto::test::Pipes pipes(3);
    auto events = std::make_unique<transport::EventSet>();
    auto links = pipes.links(*events, 0);
    const transport::LinkedPeers linked_peers(*views[0], 0, std::move(events), std::move(links));
    views[1]->fail(Status::peer, "rank 1 has found a failure"); // without links of its own
    CHECK(pipes.sent(WireMessage::failure) == 0);
    const Error exhausted = engine::no_memory("rank 0");
    try {
        throw views[0]->failure();
    } catch (...) {
        CHECK(engine::post_exception(*views[0], 0, exhausted).what() ==
              std::string("rank 1 has found a failure"));
    }
    CHECK(pipes.sent(WireMessage::failure) == 1);
}
