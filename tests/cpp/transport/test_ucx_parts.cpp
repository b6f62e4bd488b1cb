// SPDX-License-Identifier: BSD-3-Clause
// What UCX links are made of and needs no UCX: turns, tokens, lists of transports, devices.
#include "doctest.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/folder.hpp"
#include "transport/remote/put_window.hpp"
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

TEST_CASE("versions of UCX that abort where a peer fails are used by name only") {
    for (const char *old : {"1.12.1", "1.13.0", "1.13.1"})
        CHECK(transport::ucp::known_fault(old).starts_with(std::string("UCX ") + old + " aborts"));
    for (const char *fine : {"1.14.0", "1.22.0", "1.120.0", "2.0.0"})
        CHECK(transport::ucp::known_fault(fine) == "");
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

TEST_CASE("UCX copies nothing that is long enough to be put, unless the user wants it to") {
    using transport::ucp::Registers;
    const auto said = [](const std::string &printed, Registers registers = Registers::yes) {
        std::string all;
        for (const auto &[name, value] : transport::ucp::own_settings(printed, registers))
            all += name + "=" + value + " ";
        return all;
    };
    const std::string zcopy = "ZCOPY_THRESH=" + std::to_string(transport::kLeastPutBytes) + " ";
    CHECK(zcopy == "ZCOPY_THRESH=8192 "); // as docs/ucx.md says
    CHECK(said("UCX_TLS=rc,ud\nUCX_ZCOPY_THRESH=auto\n") == "TLS=rc,ud " + zcopy);
    CHECK(said("UCX_ZCOPY_THRESH=auto\nUCX_TLS=all\n") == "TLS=^tcp " + zcopy);
    for (const char *users : {"16K", "0", "inf"})
        CHECK(said("UCX_TLS=all\nUCX_ZCOPY_THRESH=" + std::string(users) + "\n") == "TLS=^tcp ");
    CHECK(said("") == "TLS=^tcp "); // a version without it
    // UCX's own cache of registrations goes only if Stretto's takes its place.
    CHECK(said("UCX_RCACHE_ENABLE=try\n") == "TLS=^tcp RCACHE_ENABLE=n ");
    CHECK(said("UCX_RCACHE_ENABLE=try\n", Registers::no) == "TLS=^tcp ");
    for (const char *users : {"y", "n"})
        CHECK(said("UCX_RCACHE_ENABLE=" + std::string(users) + "\n") == "TLS=^tcp ");
}

// As UCX 1.13 and 1.22 print them.
TEST_CASE("puts are for devices, and UCX says where it emulates them") {
    using transport::ucp::names_device_puts;
    CHECK(names_device_puts(
        "# UCP endpoint \n"
        "#   lane[0]:  3:sysv/memory.0 md[2] -> md[2]/sysv/sysdev[255] am am_bw#0\n"
        "#   lane[1]:  4:cma/memory.0 md[3]  -> md[3]/cma/sysdev[255] rma_bw#0\n"
        "#    rma_bw: mds rndv_rkey_size 9\n"));
    CHECK(!names_device_puts("# UCP endpoint \n"
                             "#   lane[0]:  1:tcp/lo.0 md[0] -> md[0]/tcp/sysdev[255] am am_bw#0 "
                             "keepalive wireup\n"
                             "#    rma_bw: mds rndv_rkey_size 9\n"));
    CHECK(
        !names_device_puts("#   lane[0]:  1:tcp/lo.0 md[0] -> md[0]/tcp/sysdev[255] seg 4294967295 "
                           "am keepalive wireup\n"));
}

// With rings of 4096 bytes.
TEST_CASE("a payload lies in a window at the place that it has in its sender's rings") {
    using transport::PutPiece;
    using transport::WireMessage;
    const auto pieces = [](const WireMessage &cell) {
        std::vector<std::vector<std::uint64_t>> found;
        for (const PutPiece &each : transport::payload_in_window(cell, 4096))
            found.push_back({each.at, each.from, each.bytes});
        return found;
    };
    using Pieces = std::vector<std::vector<std::uint64_t>>;
    constexpr std::uint64_t lap = 3 * 4096;
    CHECK(pieces({WireMessage::cell, 0, 100, lap + 64, 0, 0}) == Pieces{{80, 0, 100}});
    CHECK(pieces({WireMessage::cell, 0, 1000, lap + 4032, 0, 0}) ==
          Pieces{{4048, 0, 48}, {0, 48, 952}});
    CHECK(pieces({WireMessage::cell, 0, 48, lap + 4032, 0, 0}) == Pieces{{4048, 0, 48}});
    constexpr std::uint8_t bulk = WireMessage::kBulk;
    CHECK(pieces({WireMessage::cell, bulk, 4096, lap, 0, 0}) == Pieces{{4096, 0, 4096}});
    CHECK(pieces({WireMessage::cell, bulk, 4000, lap, 0, 1040}) ==
          Pieces{{5136, 0, 3056}, {4096, 3056, 944}});
    const auto where = [](const WireMessage &cell) {
        return transport::location_in_window(cell, 4096);
    };
    CHECK(where({WireMessage::cell, 0, 100, lap, 0, 0}).in() == transport::Location::In::cell);
    CHECK(where({WireMessage::cell, bulk, 100, lap, 0, 1040}).in() ==
          transport::Location::In::bulk);
    CHECK(where({WireMessage::cell, bulk, 100, lap, 0, 1040}).offset() == 1040);
}

// | cells | cells | bulk | bulk |, of which the two in the middle are the window.
TEST_CASE("bytes of a rank's own rings lie in its window, whichever view names them") {
    constexpr std::size_t ring = 4096;
    std::vector<std::byte> views(6 * ring); // and one before, and one behind
    const std::byte *const first = views.data() + ring;
    const transport::PutWindow own{views.data() + 2 * ring, ring};
    const auto at = [&](std::size_t place, std::size_t bytes) {
        const std::byte *const found = transport::in_own_window(own, first + place, bytes);
        return found == nullptr ? -1 : found - own.first;
    };
    CHECK(at(0, 1) == 0);
    CHECK(at(100, 3996) == 100);
    CHECK(at(ring + 100, 3996) == 100);
    CHECK(at(2 * ring, ring) == ring);
    CHECK(at(2 * ring + 100, 3996) == ring + 100);
    CHECK(at(3 * ring + 100, 3996) == ring + 100);
    for (std::size_t view = 0; view < 4; ++view)
        CHECK(at(view * ring + 100, 3997) == -1); // round the end
    CHECK(at(4 * ring, 1) == -1);
    CHECK(transport::in_own_window(own, first - 1, 1) == nullptr);
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
