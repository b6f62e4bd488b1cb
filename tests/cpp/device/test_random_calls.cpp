// SPDX-License-Identifier: BSD-3-Clause
// Random calls of all collectives: all ranks make the same ones, each in its own way.  Blocking or
// not, in the order of a stream, behind one, or in none; in place or not; at any address; with
// memory on the device, of several kinds, or in the host.  Ranks are processes.
#include "doctest.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/types.hpp"
#include "device/ordered_vector.hpp"
#include "stretto/communicators.h"
#include "support/environment.hpp"
#include "support/exact.hpp"
#include "support/tier.hpp"

using namespace test;

namespace {

// Memory of the kind that the test asks for next.
class MixedMemory final : public DeviceMemory {
public:
    enum class Kind { host, reused, fresh };
    Kind next = Kind::reused;

    MixedMemory() : reused_(OnDevice::Buffers::reused), fresh_(OnDevice::Buffers::all) {
        device_memory = this;
    }
    ~MixedMemory() override { device_memory = nullptr; }
    std::byte *allocate(std::size_t bytes, bool) override {
        if (next == Kind::host)
            return nullptr;
        OnDevice &from = next == Kind::reused ? reused_ : fresh_;
        std::byte *const memory = from.allocate(bytes, true);
        owners_[memory] = &from;
        return memory;
    }
    void free(std::byte *memory) override {
        OnDevice *const owner = owners_.at(memory);
        owners_.erase(memory);
        owner->free(memory);
    }
    void copy(std::byte *to, const std::byte *from, std::size_t bytes) override {
        reused_.copy(to, from, bytes);
        reused_.settle();
    }

private:
    OnDevice reused_, fresh_;
    std::map<std::byte *, OnDevice *> owners_;
};

class Chance {
public:
    explicit Chance(unsigned seed) : numbers_(seed) {}
    int below(int end) { return static_cast<int>(numbers_() % static_cast<unsigned>(end)); }
    bool one_of(int count) { return below(count) == 0; }
    template<class Value, std::size_t count>
    Value pick(const Value (&values)[count]) {
        return values[below(static_cast<int>(count))];
    }
    std::mt19937 &numbers() { return numbers_; }

private:
    std::mt19937 numbers_;
};

struct Started {
    std::unique_ptr<Played> played;
    std::string text;
    stretto_request request = nullptr;
};

class Rank {
public:
    Rank(stretto_comm comm, unsigned seed, bool mixed)
        : comm_(comm), mixed_(mixed), all_(seed),
          mine_(seed * 7919 + static_cast<unsigned>(stretto_rank(comm)) + 1) {
        check(stretto_set_mixed(comm, 1));
        for (void *&stream : streams_)
            stream = new_stream();
    }

    // Whether all results of some calls are right, which are in flight at once.
    bool batch() {
        const int count = all_.one_of(4) ? kMany : 1 + all_.below(9);
        on_device_ = !mixed_ || !all_.one_of(3);
        std::vector<Started> calls;
        for (int k = 0; k < count; ++k) {
            const Call call = next_call(count == kMany);
            memory_.next = next_memory();
            calls.push_back({prepare(comm_, call), label(call)});
        }
        if (mixed_)
            simulated_cuda::simulated_cuda_without_handles(mine_.one_of(10));
        for (Started &call : calls)
            if (start(call, count != kMany) != STRETTO_OK)
                return wrong(call, stretto_last_error());
        return end(calls);
    }

private:
    static constexpr int kMany = 90; // more than questions have places

    // The same on all ranks, but for what is the business of each.
    Call next_call(bool shorter) {
        constexpr Collective kAll[] = {Collective::allreduce, Collective::reduce,
                                       Collective::broadcast, Collective::reduce_scatter,
                                       Collective::allgather, Collective::gather,
                                       Collective::scatter,   Collective::alltoall};
        constexpr std::size_t kCounts[] = {0, 1, 2, 7, 33, 1009, 40'003};
        constexpr stretto_op kOps[] = {STRETTO_SUM, STRETTO_AVG,  STRETTO_MAX,
                                       STRETTO_BOR, STRETTO_LAND, STRETTO_PROD};
        Call call;
        call.collective = all_.pick(kAll);
        call.count = std::min(all_.pick(kCounts), shorter ? kCounts[5] : kCounts[6]);
        call.dtype = static_cast<stretto_dtype>(all_.below(15));
        const auto dtype = static_cast<stretto::Dtype>(call.dtype);
        do
            call.op = all_.pick(kOps);
        while (!stretto::supports(dtype, static_cast<stretto::ReduceOp>(call.op)));
        call.root = all_.below(stretto_size(comm_));
        call.salt = static_cast<std::size_t>(all_.below(100));
        if (takes_counts(call.collective) && all_.one_of(2))
            for (int rank = 0; rank < stretto_size(comm_); ++rank)
                call.counts.push_back(call.count * static_cast<std::size_t>(all_.below(3)));
        call.send_offset = stretto::size_of(dtype) * static_cast<std::size_t>(mine_.below(17));
        call.recv_offset = stretto::size_of(dtype) * static_cast<std::size_t>(mine_.below(17));
        call.in_place = mine_.one_of(2);
        return call;
    }
    MixedMemory::Kind next_memory() {
        const int chance = mine_.below(20);
        return chance == 0 && !on_device_ ? MixedMemory::Kind::host
               : chance < 3               ? MixedMemory::Kind::fresh
                                          : MixedMemory::Kind::reused;
    }

    stretto_status start(Started &call, bool may_block) {
        if (mine_.one_of(30))
            std::this_thread::sleep_for(std::chrono::milliseconds(mine_.below(5)));
        void *const stream = mine_.pick(streams_);
        const int how = mine_.below(4);
        if (how == 0 && may_block)
            return call.played->run();
        if (how == 1)
            check(stretto_stream_begin(stream));
        if (how == 2)
            check(stretto_stream_follow(stream));
        const bool nobody_waits = how == 1 && mine_.one_of(2);
        const stretto_status status = call.played->start(nobody_waits ? nullptr : &call.request);
        if (how == 1 || how == 2)
            check(stretto_stream_end());
        return status;
    }

    bool end(std::vector<Started> &calls) {
        std::vector<Started *> order;
        for (Started &call : calls)
            order.push_back(&call);
        std::ranges::shuffle(order, mine_.numbers());
        for (Started *const call : order)
            if (call->request != nullptr && stretto_wait(&call->request) != STRETTO_OK)
                return wrong(*call, stretto_last_error());
        for (void *const stream : streams_)
            if (cuStreamSynchronize(stream) != 0)
                return false;
        for (Started &call : calls)
            if (const std::string verdict = call.played->verdict(); verdict != "")
                return wrong(call, verdict);
        return true;
    }
    bool wrong(const Started &call, const std::string &why) const {
        std::fprintf(stderr, "rank %d, %s: %s\n", stretto_rank(comm_), call.text.c_str(),
                     why.c_str());
        return false;
    }

    const stretto_comm comm_;
    const bool mixed_; // some ranks have host memory, or memory without handles, at times
    bool on_device_ = true;
    Chance all_, mine_;
    MixedMemory memory_;
    void *streams_[3];
};

} // namespace

TEST_CASE("random calls, each rank in its own way") {
    const With limit("STRETTO_TIMEOUT", "100");
    const unsigned seeds = full_tier() ? 40 : sampled() ? 1 : 4;
    const int batches = sampled() ? 4 : 10;
    for (unsigned seed = 1; seed <= seeds; ++seed)
        for (const int ranks : {2, 3, 5, 8})
            for (const bool mixed : {false, true}) {
                CAPTURE(seed);
                CAPTURE(ranks);
                CAPTURE(mixed);
                const auto codes = on_processes(ranks, [&](stretto_comm comm) {
                    Rank rank(comm, seed, mixed);
                    for (int batch = 0; batch < batches; ++batch)
                        if (!rank.batch())
                            return kWrong;
                    check(stretto_barrier(comm));
                    return kRight;
                });
                CHECK(codes == std::vector<int>(static_cast<std::size_t>(ranks), kRight));
            }
}
