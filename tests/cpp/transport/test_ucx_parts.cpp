// SPDX-License-Identifier: BSD-3-Clause
// What UCX links are made of and needs no UCX: turns, tokens, lists of transports, devices.
#include "doctest.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/folder.hpp"
#include "transport/ucx/in_turn.hpp"
#include "transport/ucx/rdma_devices.hpp"
#include "transport/ucx/ucp_worker.hpp"
#include "transport/ucx/ucx_message.hpp"

using namespace stretto;
using transport::InTurn;
using transport::link_token;
using transport::same;

TEST_CASE("messages that overtook others are delivered in their turns") {
    for (const std::vector<std::uint32_t> &order : {std::vector<std::uint32_t>{1, 2, 3, 4, 5},
                                                    {2, 1, 5, 4, 3},
                                                    {5, 4, 3, 2, 1},
                                                    {3, 1, 2, 5, 4}}) {
        InTurn<std::uint32_t> turns;
        std::vector<std::uint32_t> delivered;
        for (const std::uint32_t turn : order) {
            if (!turns.is_next(turn)) {
                turns.keep(turn, turn);
                continue;
            }
            delivered.push_back(turn);
            turns.delivered();
            for (std::uint32_t next = 0; turns.take_next(next); turns.delivered())
                delivered.push_back(next);
        }
        CHECK(delivered == std::vector<std::uint32_t>{1, 2, 3, 4, 5});
    }
    CHECK(InTurn<int>::after(UINT32_MAX) == 1); // 0 is no turn
}

TEST_CASE("each direction of each link of each communicator of each job has a token of its own") {
    const net::Key key(net::Bytes32{std::byte{1}}), other(net::Bytes32{std::byte{2}});
    const transport::LinkToken token = link_token(key, 5, 0, 1);
    CHECK(same(token, link_token(key, 5, 0, 1)));
    CHECK(!same(token, link_token(other, 5, 0, 1)));
    CHECK(!same(token, link_token(key, 6, 0, 1)));
    CHECK(!same(token, link_token(key, 5, 1, 0)));
    CHECK(!same(token, link_token(key, 5, 0, 2)));
    CHECK(!same(token, link_token(key, 5, 2, 1)));
    CHECK(!same(token, transport::LinkToken{}));
}

TEST_CASE("UCX's own TCP is used only where it is named") {
    using namespace transport::ucp;
    CHECK(without_unnamed_tcp("all") == "^tcp");
    CHECK(without_unnamed_tcp("^ud") == "^ud,tcp");
    CHECK(without_unnamed_tcp("rc,self") == "rc,self");
    CHECK(without_unnamed_tcp("tcp,self") == "tcp,self");
    for (const char *list : {"tcp", "tcp,self", "rc,tcp", "rc,tcp,sm"})
        CHECK(names_tcp(list));
    for (const char *list : {"all", "^tcp", "rc", "rc,tcpx", "^ud,tcp", ""})
        CHECK(!names_tcp(list));
}

TEST_CASE("a device for RDMA needs a port that is active") {
    const test::Folder folder;
    const std::filesystem::path root(folder.path());
    const auto port = [&](const char *device, const char *number, const char *state) {
        const auto path = root / device / "ports" / number;
        std::filesystem::create_directories(path);
        std::ofstream(path / "state") << state << "\n";
    };
    const auto why = [&] { return transport::no_rdma_device(root); };
    CHECK(transport::no_rdma_device(root / "none").find("no device for RDMA") == 0);
    CHECK(why().find("no device for RDMA") == 0);
    port("mlx5_0", "1", "1: DOWN");
    CHECK(why().find("no device for RDMA") == 0);
    port("mlx5_1", "1", "1: DOWN");
    port("mlx5_1", "2", "4: ACTIVE");
    CHECK(why().find("no device for RDMA") != 0); // perhaps a limit
}
