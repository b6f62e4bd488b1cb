// SPDX-License-Identifier: BSD-3-Clause
// All collectives in the order of a stream, all in flight at once on the same two buffers.
#include "doctest.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "device/on_device.hpp"
#include "device/streams_of_program.hpp"
#include "stretto/embedding.h"
#include "support/world.hpp"

namespace {

using test::check;
using test::Pinned;

constexpr std::size_t kPart = 111; // elements that a rank has of what is divided

std::int32_t given(int rank, std::size_t i) {
    return static_cast<std::int32_t>((101 * static_cast<std::size_t>(rank) + i) % 1009);
}

struct Ordered {
    std::function<stretto_status()> begin;
    std::size_t results; // elements that this rank gets
    std::function<std::int32_t(std::size_t i)> expected;
};

std::vector<Ordered> all_collectives(stretto_comm comm, const std::int32_t *send,
                                     std::int32_t *recv) {
    const int rank = stretto_rank(comm), ranks = stretto_size(comm), root = ranks - 1;
    const auto before = kPart * static_cast<std::size_t>(rank);
    const auto all = kPart * static_cast<std::size_t>(ranks);
    const auto sum = [=](std::size_t i) {
        std::int32_t found = 0;
        for (int each = 0; each < ranks; ++each)
            found += given(each, i);
        return found;
    };
    const auto gathered = [](std::size_t i) {
        return given(static_cast<int>(i / kPart), i % kPart);
    };
    const auto at_root = [&](std::size_t count) { return rank == root ? count : 0; };
    const auto type = STRETTO_INT32;
    const auto op = STRETTO_SUM;
    return {
        {[=] { return stretto_iallreduce(comm, send, recv, all, type, op, nullptr); }, all, sum},
        {[=] { return stretto_ireduce(comm, send, recv, all, type, op, root, nullptr); },
         at_root(all), sum},
        {[=] { return stretto_ireduce_scatter(comm, send, recv, kPart, type, op, nullptr); }, kPart,
         [=](std::size_t i) { return sum(before + i); }},
        {[=] { return stretto_ibarrier(comm, nullptr); }, 0, sum},
        {[=] { return stretto_iallgather(comm, send, recv, kPart, type, nullptr); }, all, gathered},
        {[=] { return stretto_igather(comm, send, recv, kPart, type, root, nullptr); },
         at_root(all), gathered},
        {[=] { return stretto_iscatter(comm, send, recv, kPart, type, root, nullptr); }, kPart,
         [=](std::size_t i) { return given(root, before + i); }},
        // Of what the scatter has left in the root's buffer.
        {[=] { return stretto_ibroadcast(comm, recv, kPart, type, root, nullptr); }, kPart,
         [=](std::size_t i) { return given(root, kPart * static_cast<std::size_t>(root) + i); }},
        {[=] { return stretto_ialltoall(comm, send, recv, kPart, type, nullptr); }, all,
         [=](std::size_t i) { return given(static_cast<int>(i / kPart), before + i % kPart); }},
    };
}

} // namespace

TEST_CASE("all collectives are ordered by a stream") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    for (const int ranks : {1, 2, 3, 8})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            const auto all = kPart * static_cast<std::size_t>(ranks);
            const std::size_t bytes = all * sizeof(std::int32_t);
            auto *const send = reinterpret_cast<std::int32_t *>(device.allocate(bytes, true));
            auto *const recv = reinterpret_cast<std::int32_t *>(device.allocate(bytes, true));
            Pinned numbers(all);
            for (std::size_t i = 0; i < all; ++i)
                numbers.data()[i] = given(stretto_rank(comm), i);
            const std::vector<Ordered> calls = all_collectives(comm, send, recv);
            std::vector<std::unique_ptr<Pinned>> results;
            test::Stream stream;
            stream.copy(send, numbers.data(), bytes);
            check(stretto_stream_begin(stream.handle()));
            for (const Ordered &call : calls) {
                check(call.begin());
                results.push_back(std::make_unique<Pinned>(all));
                if (call.results != 0)
                    stream.copy(results.back()->data(), recv, call.results * sizeof(std::int32_t));
            }
            check(stretto_stream_end());
            stream.open();
            check(stretto_stream_synchronize(send, stream.handle()));
            for (std::size_t k = 0; k < calls.size(); ++k) {
                CAPTURE(k);
                std::size_t wrong = 0;
                for (std::size_t i = 0; i < calls[k].results; ++i)
                    wrong += results[k]->data()[i] != calls[k].expected(i);
                CHECK(wrong == 0);
            }
            device.free(reinterpret_cast<std::byte *>(send));
            device.free(reinterpret_cast<std::byte *>(recv));
        });
}
