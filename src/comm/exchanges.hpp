// SPDX-License-Identifier: BSD-3-Clause
// Collectives in which each pair of ranks alone knows how much travels between them (gatherv,
// scatterv, alltoallv): messages in a context of their own, tagged with the number of the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "base/inline_vector.hpp"
#include "base/memory_kind.hpp"
#include "base/status.hpp"
#include "base/types.hpp"
#include "calls/plan_cache.hpp"
#include "calls/request.hpp"
#include "engine/queue.hpp"
#include "p2p/messenger.hpp"
#include "schedule/contract.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::comm {

struct Exchange {
    // The part at `data` that is sent to, or received from, `peer`: this rank only in an order.
    struct Part {
        int peer = 0;
        void *data = nullptr;
        std::size_t bytes = 0;
        MemoryKind memory = MemoryKind::host;
        bool aside = false; // sent in an order, from where another part is received
    };
    schedule::Collective collective = schedule::Collective::alltoall; // or gather, scatter
    const char *name = "";                                            // "alltoallv", for errors
    Dtype dtype = Dtype::f32;
    int root = 0;
    std::vector<Part> sends, receives;
    std::shared_ptr<engine::Gate> gate = nullptr; // of its order; null: it begins at once
};

class Exchanges {
public:
    // All of these outlive this.
    Exchanges(transport::Segment &segment, int rank, engine::Engine &engine, engine::Queue &queue,
              p2p::Messenger &messenger, calls::PlanCache &plans);

    using Transfers = InlineVector<p2p::Transfer *, 1>;
    struct Begun {
        Transfers transfers;
        std::uint64_t call = 0; // its number
    };
    // Takes its turn among the collectives and starts the messages.  The messenger waits for these
    // and completes them; then ended() must be called.  An error that this throws has ended the
    // communicator.
    Begun start(const Exchange &exchange, engine::CallOrder::Hold &order);
    void ended(std::uint64_t call);
    // How many collectives are complete, exchanges among them, from the first on without a gap.
    std::uint64_t completed() const;

    // Adds the time of one exchange to the statistics.
    void add_seconds(schedule::Collective collective, double seconds);
    const calls::Stats &stats() const { return stats_; }
    void reset_stats() { stats_.clear(); }

private:
    Transfers start_at_once(const Exchange &exchange, engine::CallOrder::Hold &order,
                            const p2p::Purpose &purpose);
    Transfers start_in_order(const Exchange &exchange, engine::CallOrder::Hold &order,
                             const p2p::Purpose &purpose);
    void note_open(std::uint64_t call);
    void take_turn(const Exchange &exchange, engine::CallOrder::Hold &order);
    calls::Stat &stat(schedule::Collective collective);

    transport::Segment &segment_;
    const int rank_;
    engine::Engine &engine_;
    engine::Queue &queue_;
    p2p::Messenger &messenger_;
    calls::PlanCache &plans_;
    const Error exhausted_;
    calls::Stats stats_;
    mutable std::mutex mutex_;     // guards open_
    std::set<std::uint64_t> open_; // numbers of exchanges that have not ended
};

} // namespace stretto::comm
