// SPDX-License-Identifier: BSD-3-Clause
// Hooks of calls: trials of algorithms, late ranks and the report attach to calls by them.
//
// A hook belongs to the entry of a call.  The sources of a communicator (CallCache::add) make the
// hooks together with the entry.  A call of an entry without hooks pays one test for this.
//
//     before(call)      may give the entry another plan, and add a companion: a small call beside
//     ... the call ...
//     played(call)      the call is complete, the companion maybe not
//     after(call)       both are complete
//
// If a call throws, only before() was called.
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
    engine::CallOrder::Hold &order; // hooks are called while this thread has it
    std::uint64_t came = 0;    // when the caller came, by now_ns(), for the report; 0: not reported
    std::uint64_t arrived = 0; // when the arrival hook saw the call, by now_ns()

    // Hooks of blocking calls set the fields below.
    //
    // An arrival-aware plan runs the call.  Ranks compare this flag: all of them must set it.
    bool as_ranks_arrive = false;
    struct Companion {
        engine::Call call;
        engine::Tally &tally;
    };
    std::optional<Companion> companion = std::nullopt; // a small call that runs beside this one
    // A candidate on trial runs this call, so its time says nothing of the selected algorithm.
    bool on_trial = false;
};

class CallHook {
public:
    virtual ~CallHook() = default;

    enum class Then {
        next,   // calls before() of the next hook
        play,   // this hook has selected the plan of the call: later hooks are not called
        detach, // removes this hook from the entry, then calls before() of the next hook
    };
    virtual Then before(HookedCall &call) = 0;
    virtual void played(HookedCall &) {} // the thread may not have the call order
    virtual void after(HookedCall &call) = 0;

    // Before and after the start of a nonblocking call.
    virtual void starts(HookedCall &) {}
    virtual void started(HookedCall &, const engine::Queue::InFlightCall *) {}
};

// Makes the hooks of one kind.
class HookSource {
public:
    virtual ~HookSource() = default;
    // The hook of such calls, or null.  `chosen` is the choice of the library, or of a source
    // before this one.  A source that has selected another algorithm by earlier calls changes it.
    virtual std::unique_ptr<CallHook> hook_for(const Request &request, Chosen &chosen) = 0;
};

class CallCache;

// Runs, or starts, a call of an entry that has hooks.
//
// A call with hooks is played by one thread at a time, of all threads of the rank.
void play_with_hooks(HookedCall call, CallCache &calls, engine::Queue &queue);
engine::Queue::InFlightCall *start_with_hooks(HookedCall call, const CallCache &calls,
                                              engine::Queue &queue);

} // namespace stretto::calls
