// SPDX-License-Identifier: BSD-3-Clause
// Whatever else wants to know of calls: trials of algorithms, late ranks, the report.
//
// Hooks hang on the entry of a call.  They are made with it, by the sources that a communicator has
// (CallCache::add).  A call of an entry without hooks pays one test for this.
//
//     before(call)      may give the entry another plan, and add a small call that travels beside
//     ... the call ...
//     played(call)      the call is complete, what travels beside it maybe not
//     after(call)       all of it is complete
//
// A call that throws has only the first of these.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "calls/chosen.hpp"
#include "calls/request.hpp"
#include "engine/queue.hpp"

namespace stretto::calls {

struct CallEntry;

// A call of an entry that has hooks.
struct HookedCall {
    const Request &request;
    CallEntry &entry;
    std::uint64_t came = 0; // when the caller came, by now_ns(), for the report; 0: not reported

    // What hooks of a blocking call ask for.  All ranks of the call must play it by such a hook:
    // they compare that.
    bool as_ranks_arrive = false;
    struct Companion {
        engine::Call call;
        engine::Tally &tally;
    };
    std::optional<Companion> companion = std::nullopt; // a small call that travels beside this one
    // Another candidate than the selected one runs this call: what it takes says nothing of others.
    bool on_trial = false;
};

class CallHook {
public:
    virtual ~CallHook() = default;

    enum class Then {
        next,   // the hooks behind this one are asked as well
        play,   // they are not asked: this hook has selected the plan of the call
        detach, // this hook has nothing more to do with such calls; the next is asked
    };
    virtual Then before(HookedCall &call) = 0;
    virtual void played(HookedCall &) {}
    virtual void after(HookedCall &call) = 0;

    // Of a nonblocking call, which plays the plan of the entry.
    virtual void starts(HookedCall &) {}
    virtual void started(HookedCall &, const engine::Queue::InFlightCall *) {}
};

// Makes the hooks of one kind.
class HookSource {
public:
    virtual ~HookSource() = default;
    // The hook of such calls; null: there is none.  `chosen` is what sources before this one and
    // the library select.  A source that knows better, from earlier calls, changes it.
    virtual std::unique_ptr<CallHook> hook_for(const Request &request, Chosen &chosen) = 0;
};

class CallCache;

// Plays, or starts, a call of an entry that has hooks.
void play_with_hooks(HookedCall call, const CallCache &calls, engine::Queue &queue);
engine::Queue::InFlightCall *start_with_hooks(HookedCall call, const CallCache &calls,
                                              engine::Queue &queue);

} // namespace stretto::calls
