// SPDX-License-Identifier: BSD-3-Clause
#include "calls/internal_calls.hpp"

#include <algorithm>

#include "base/mix.hpp"
#include "engine/plan.hpp"

namespace stretto::calls {

void InternalCalls::count_next(std::uint64_t ahead) {
    constexpr std::size_t kManyCalls = 1024;
    if (numbers_.size() >= kManyCalls)
        queue_.while_still([&] {
            const auto later = std::lower_bound(numbers_.begin(), numbers_.end(), completed_());
            before_ += static_cast<std::uint64_t>(later - numbers_.begin());
            numbers_.erase(numbers_.begin(), later);
        });
    numbers_.push_back(engine_.calls() + ahead);
}

std::uint64_t InternalCalls::completed_by_callers() const {
    std::uint64_t calls = completed_();
    const auto own = std::lower_bound(numbers_.begin(), numbers_.end(), calls);
    calls -= before_ + static_cast<std::uint64_t>(own - numbers_.begin());
    return calls - std::min(calls, first_call_);
}

void InternalCalls::play(const std::string &name, const MakeSchedule &make, void *data,
                         std::size_t bytes) {
    const engine::Plan &plan = plans_.plan(name + ", " + std::to_string(bytes), [&] {
        engine::PlanOptions options;
        options.count = bytes / kInternalElementBytes;
        options.element = kInternalElementBytes;
        options.slice = kInternalSliceBytes;
        options.ring_bytes = segment_.ring_bytes();
        options.cores = segment_.header().cores;
        options.output_everywhere = false;
        return engine::compile(make(), rank_, options);
    });
    engine::Call call;
    call.plan = &plan;
    call.input = call.output = data;
    call.in_place = true;
    call.descriptor = {static_cast<std::uint64_t>(schedule::Collective::custom),
                       bytes / kInternalElementBytes};
    call.fingerprint =
        mix(mix(mix(segment_.header().key, call.descriptor.packed), call.descriptor.count),
            plan.identity);
    engine::Tally tally;
    engine_.play(call, tally);
}

} // namespace stretto::calls
