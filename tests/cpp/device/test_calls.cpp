// SPDX-License-Identifier: BSD-3-Clause
// Which memory a call finds its buffers in, and what each rank may give.
#include "doctest.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "device/on_device.hpp"
#include "support/buffer.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"
#include "support/world.hpp"

namespace {

using test::check;
using Numbers = test::Buffer<std::int64_t>;

// Buffers of a rank of which each may be on the device.
struct Sum {
    Numbers send, recv;
    std::size_t count;

    Sum(stretto_comm comm, std::size_t size, bool sends_device, bool receives_device)
        : send(comm, size, false, 8, sends_device), recv(comm, size, false, 60, receives_device),
          count(size) {
        for (std::size_t i = 0; i < count; ++i)
            send.set(i, test::contribution<std::int64_t>(STRETTO_SUM, stretto_rank(comm), i));
    }
    void play(stretto_comm comm) {
        check(stretto_allreduce(comm, send.data(), recv.data(), count, STRETTO_INT64, STRETTO_SUM));
    }
    std::size_t wrong(stretto_comm comm) {
        std::size_t found = 0;
        for (std::size_t i = 0; i < count; ++i)
            found +=
                recv.get(i) != test::expected<std::int64_t>(STRETTO_SUM, stretto_size(comm), i);
        return found;
    }
};

} // namespace

TEST_CASE("each rank gives the memory that it has") {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    for (const int ranks : {1, 2, 3, 5, 8})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            // Bits of a number that differs by rank and call: send, and receive, on the device.
            for (int call = 0; call < 60; ++call) {
                const int kinds = (call * (stretto_rank(comm) + 1)) % 4;
                Sum sum(comm, call % 3 == 0 ? 20'011 : 1009, (kinds & 1) != 0, (kinds & 2) != 0);
                sum.play(comm);
                CHECK(sum.wrong(comm) == 0);
            }
        });
}

TEST_CASE("a batch takes pieces from everywhere") {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    test::with_ranks(3, [](stretto_comm comm) {
        for (const stretto_op op : {STRETTO_SUM, STRETTO_MAX}) {
            std::vector<std::unique_ptr<Numbers>> pieces;
            std::vector<stretto_part> parts;
            for (std::size_t k = 0; k < 7; ++k) {
                const std::size_t count = 100 * k;
                auto piece = std::make_unique<Numbers>(
                    comm, count, false, 0,
                    (k + static_cast<std::size_t>(stretto_rank(comm))) % 2 == 0);
                for (std::size_t i = 0; i < count; ++i)
                    piece->set(i, test::contribution<std::int64_t>(op, stretto_rank(comm), i + k));
                parts.push_back({STRETTO_IN_PLACE, piece->data(), count});
                pieces.push_back(std::move(piece));
            }
            check(stretto_allreduce_batch(comm, parts.data(), parts.size(), STRETTO_INT64, op));
            for (std::size_t k = 0; k < pieces.size(); ++k)
                for (std::size_t i = 0; i < parts[k].count; ++i)
                    CHECK(pieces[k]->get(i) ==
                          test::expected<std::int64_t>(op, stretto_size(comm), i + k));
        }
    });
}

TEST_CASE("copies of allocations that lie one behind the other") {
    constexpr int kRanks = 3;
    constexpr std::size_t kBytes = 64u << 10;
    const test::With by_steps("STRETTO_GPU_LAUNCH", "own");
    test::OnDevice device;
    std::vector<std::byte *> ins, outs;
    std::vector<std::byte> host(kRanks * kBytes);
    for (int rank = 0; rank < kRanks; ++rank) {
        ins.push_back(device.allocate(kBytes, true));
        std::fill_n(host.begin(), kBytes, static_cast<std::byte>(rank + 1));
        device.copy(ins.back(), host.data(), kBytes);
    }
    device.settle();
    for (int rank = 0; rank < kRanks; ++rank)
        outs.push_back(device.allocate(kRanks * kBytes, true));
    test::with_ranks(kRanks, [&](stretto_comm comm) {
        const auto rank = static_cast<std::size_t>(stretto_rank(comm));
        for (int call = 0; call < 4; ++call)
            check(stretto_allgather(comm, ins[rank], outs[rank], kBytes, STRETTO_INT8));
    });
    for (const std::byte *const out : outs) {
        device.copy(host.data(), out, kRanks * kBytes);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < host.size(); ++i)
            wrong += host[i] != static_cast<std::byte>(i / kBytes + 1);
        CHECK(wrong == 0);
    }
    for (const auto &buffers : {ins, outs})
        for (std::byte *const each : buffers)
            device.free(each);
}
