// SPDX-License-Identifier: BSD-3-Clause
// Engines of ranks that are threads of the test, on hosts that share no memory.
#pragma once

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <thread>
#include <unistd.h>
#include <vector>

#include "engine/engine.hpp"
#include "support/sums.hpp"
#include "transport/remote/delay.hpp"
#include "transport/remote/linked_peers.hpp"

namespace stretto::test {

struct World {
    std::vector<std::int32_t> host_of; // by rank
    std::size_t ring = 1 << 16, slice = 1 << 12;
    std::uint64_t delay_ns = 0;
    std::chrono::microseconds leave = transport::TransmitThread::kLeaveUs;
    std::uint64_t timeout_ns = 60'000'000'000;
    std::chrono::milliseconds late{2}; // of the rank whose turn it is
    bool in_place = false;             // the output holds the contribution
    bool reuse = false;                // callers overwrite their buffers after the last call
    bool meet = false;                 // after each call, where nobody answers anybody
    std::size_t warm = 0;              // bytes to each rank of another host before each call

    // The links of a rank to those of other hosts; and what sees them when the rank has left.
    using MakeLinks = std::function<std::unique_ptr<transport::Links>(transport::EventSet &,
                                                                      transport::Segment &, int)>;
    std::function<void(int)> ended = [](int) {};

    int ranks() const { return static_cast<int>(host_of.size()); }
};

// A view of the segment of each rank's host; the first of a host makes it.
inline std::vector<std::shared_ptr<transport::Segment>> segments(const World &world) {
    std::vector<std::shared_ptr<transport::Segment>> found;
    std::map<std::int32_t, std::shared_ptr<transport::Segment>> founders;
    for (int rank = 0; rank < world.ranks(); ++rank) {
        const std::int32_t host = world.host_of[static_cast<std::size_t>(rank)];
        transport::SegmentShape shape;
        shape.ranks = world.ranks();
        shape.ring_bytes = world.ring;
        shape.heap_bytes = 1 << 20;
        shape.key = static_cast<std::uint64_t>(getpid()); // tests may run side by side
        shape.placement = transport::Placement(world.host_of, host);
        if (std::shared_ptr<transport::Segment> &founder = founders[host]; founder)
            found.push_back(transport::Segment::attach(Descriptor(dup(founder->memory()->fd())),
                                                       shape.placement));
        else
            found.push_back(founder = transport::Segment::create(shape));
        found.back()->hold_life(rank);
    }
    return found;
}

// What the ranks have after `calls` calls, in which each comes late by turns.
inline std::vector<Vector> play(const World &world, const schedule::Schedule &schedule,
                                std::size_t count, int calls, const World::MakeLinks &links_of) {
    const std::vector<std::shared_ptr<transport::Segment>> views = segments(world);
    std::vector<Vector> outputs(views.size(), Vector(count, -1));
    std::barrier meeting(world.ranks());
    std::vector<std::future<void>> threads;
    for (int rank = 0; rank < world.ranks(); ++rank)
        threads.push_back(std::async(std::launch::async, [&, rank] {
            const auto &segment = views[static_cast<std::size_t>(rank)];
            auto events = std::make_unique<transport::EventSet>();
            auto links = links_of(*events, *segment, rank);
            if (world.delay_ns != 0)
                links =
                    std::make_unique<transport::Delay>(*events, std::move(links), world.delay_ns);
            transport::LinkedPeers linked_peers(*segment, rank, std::move(events), std::move(links),
                                                {.leave = world.leave});
            transport::Heap heap(segment, rank);
            engine::EngineOptions engine_options;
            engine_options.timeout_ns = world.timeout_ns;
            engine::Engine engine(
                segment, rank, heap, engine_options,
                [](const engine::CallDescriptor &) { return std::string("call"); });
            engine::PlanOptions options;
            options.count = count;
            options.element = 8;
            options.ring_bytes = world.ring;
            options.slice = world.slice;
            const auto plan = engine::compile(schedule, rank, options);
            Vector input(count);
            for (std::size_t i = 0; i < count; ++i)
                input[i] = contribution(rank, i);
            engine::Tally tally;
            for (int k = 0; k < calls; ++k) {
                if (k % world.ranks() == rank)
                    std::this_thread::sleep_for(world.late);
                for (int other = 0; world.warm > 0 && other < world.ranks(); ++other)
                    if (!segment->here(other))
                        linked_peers.warm(other, world.warm);
                engine::Call call;
                call.plan = plan.get();
                call.reduce = reduce::pass(Dtype::i64, ReduceOp::sum);
                Vector &output = outputs[static_cast<std::size_t>(rank)];
                if (world.in_place)
                    output = input;
                call.in_place = world.in_place;
                call.input = world.in_place ? output.data() : input.data();
                call.output = output.data();
                call.fingerprint = 1;
                try {
                    engine.play(call, tally);
                } catch (...) {
                    meeting.arrive_and_drop();
                    throw;
                }
                if (world.meet)
                    meeting.arrive_and_wait();
            }
            if (world.reuse)
                std::ranges::fill(input, -1);
            linked_peers.leave(10'000'000'000);
            world.ended(rank);
        }));
    for (std::future<void> &thread : threads)
        thread.get();
    return outputs;
}

} // namespace stretto::test
