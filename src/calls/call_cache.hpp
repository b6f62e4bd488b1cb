// SPDX-License-Identifier: BSD-3-Clause
// From a request to a call of the engine: finds the entry of a repeated call, and fills in the
// buffers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/memo.hpp"
#include "calls/call_descriptor.hpp"
#include "calls/call_entry.hpp"
#include "calls/plan_cache.hpp"
#include "calls/request.hpp"
#include "calls/selection.hpp"
#include "calls/shares.hpp"
#include "engine/queue.hpp"
#include "transport/shm/heap.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::calls {

// All of these outlive a cache.
struct CallCacheParts {
    const transport::Segment &segment;
    int rank;
    const transport::Heap &heap;
    engine::Queue &queue;
    const CallPolicies &policies;
    const Shares &shares;
    const Selection &selection;
    PlanCache &plans;
};

// A thread that uses it holds the call order of the queue.
class CallCache : private CallCacheParts {
public:
    explicit CallCache(const CallCacheParts &parts) : CallCacheParts(parts) {}

    // Entries that are made from now on have this source's hooks, behind the hooks of earlier
    // sources.
    void add(HookSource &source) { sources_.push_back(&source); }

    // The entry of a call that a caller makes.  If no plan or no executor can run the call, it is
    // announced to the other ranks before this throws.
    CallEntry &entry_of_call(const Request &request, engine::CallOrder::Hold &order) {
        make_room(request);
        try {
            return entry(request);
        } catch (const select::Unfit &) {
            announce_refusal(request, kOfFileFlag, order);
            throw;
        } catch (const engine::Unserved &) {
            announce_refusal(request, kRefusedFlag, order);
            throw;
        }
    }
    // The same for a call that is not made now.
    CallEntry &prepare(const Request &request) {
        make_room(request);
        return entry(request);
    }
    // The same within a call: forgets no entry, so references to entries stay valid.
    CallEntry &entry(const Request &request) {
        CallEntry &found = entries_.get(key_of(request), [&] { return make(request); });
        if (request.memory != MemoryKind::host) [[unlikely]] {
            auto &execution = found.executions[static_cast<std::size_t>(request.memory)];
            if (execution == nullptr)
                execution = make_execution(request.memory, request, found);
        }
        return found;
    }
    CallKey key_of(const Request &request) const {
        return {pack(request), request.count,
                policies.number() | std::uint64_t{request.operation_number} << 32,
                shares_id(request)};
    }

    engine::Call call(const Request &request, const CallEntry &entry) const;

    // What the calls of an entry have taken so far, without those in flight.
    engine::Tally tally_of(const CallEntry &entry) const;

    // From now on `chosen` runs the calls of this entry.  `made`: its plan, if another thread has
    // made it.
    void select_plan(const Request &request, CallEntry &entry, const Chosen &chosen,
                     Planned made = nullptr);

    Stats stats();
    void reset_stats();

    // While one lives, entries stay, though its thread gives up the call order.
    class Pin {
    public:
        explicit Pin(CallCache &cache) : cache_(cache) { ++cache_.pins_; }
        ~Pin() { --cache_.pins_; }
        Pin(const Pin &) = delete;
        Pin &operator=(const Pin &) = delete;

    private:
        CallCache &cache_;
    };

private:
    CallEntry make(const Request &request);
    std::uint64_t descriptor(const Request &request) const;
    std::uint64_t fingerprint(const Request &request, const CallEntry &entry) const;
    std::unique_ptr<const engine::PrePost> pre_post(const Request &request,
                                                    const CallEntry &entry) const;
    std::unique_ptr<const engine::Execution> make_execution(MemoryKind kind, const Request &request,
                                                            const CallEntry &entry) const;
    std::unique_ptr<const engine::WholeCall> whole_call(const Request &request) const;
    bool may_be_one_pass(const Request &request, const CallEntry &entry) const;
    void announce_refusal(const Request &request, std::uint64_t why,
                          engine::CallOrder::Hold &order);
    // Entries and plans are forgotten only at the beginning of a caller's call, before any part of
    // the call refers to one, and only if the call needs a new entry.
    void make_room(const Request &request) {
        if (plans.full() && !entries_.has(key_of(request))) [[unlikely]]
            forget();
    }
    void forget();

    std::vector<HookSource *> sources_;
    Memo<CallKey, CallEntry, CallKeyHash> entries_;
    std::atomic<int> pins_{0};
    Stats past_; // costs of entries that were forgotten, and of plans that entries had before
};

} // namespace stretto::calls
