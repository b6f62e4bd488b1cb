// SPDX-License-Identifier: BSD-3-Clause
#include "calls/call_hook.hpp"

#include <cstddef>

#include "base/mix.hpp"
#include "calls/call_cache.hpp"
#include "calls/call_descriptor.hpp"

namespace stretto::calls {

// Gives the number of hooks whose before() was called, without those that were removed: they are
// the first ones of the entry.
static std::size_t ask(HookedCall &call) {
    std::vector<std::unique_ptr<CallHook>> &hooks = call.entry.hooks;
    std::size_t asked = 0;
    while (asked < hooks.size()) {
        const CallHook::Then then = hooks[asked]->before(call);
        if (then == CallHook::Then::detach) {
            hooks.erase(hooks.begin() + static_cast<std::ptrdiff_t>(asked));
            continue;
        }
        ++asked;
        if (then == CallHook::Then::play)
            break;
    }
    return asked;
}

void play_with_hooks(HookedCall call, CallCache &calls, engine::Queue &queue) {
    CallEntry &entry = call.entry;
    const CallCache::Pin pin(calls);
    const std::size_t asked = ask(call);
    engine::Call made = calls.call(call.request, entry);
    if (call.as_ranks_arrive) {
        made.descriptor.packed = entry.packed | kAsRanksArriveFlag;
        made.fingerprint = mix(made.fingerprint, kAsRanksArriveFlag);
    }
    const auto played = [&] {
        for (std::size_t hook = asked; hook-- > 0;)
            entry.hooks[hook]->played(call);
    };
    if (call.companion) {
        queue.play_with(made, entry.tally, call.companion->call, call.companion->tally, played,
                        call.order);
    } else {
        queue.play(made, entry.tally, call.order);
        played();
    }
    call.order.take();
    for (std::size_t hook = asked; hook-- > 0;)
        entry.hooks[hook]->after(call);
}

engine::Queue::InFlightCall *start_with_hooks(HookedCall call, const CallCache &calls,
                                              engine::Queue &queue) {
    for (const auto &hook : call.entry.hooks)
        hook->starts(call);
    engine::Queue::InFlightCall *const flight =
        queue.start(calls.call(call.request, call.entry), call.entry.tally, call.request.gate);
    for (const auto &hook : call.entry.hooks)
        hook->started(call, flight);
    return flight;
}

} // namespace stretto::calls
