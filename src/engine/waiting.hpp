// SPDX-License-Identifier: BSD-3-Clause
// What a thread does while it waits in calls: moves them, and looks for the cause of a long wait.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "engine/engine.hpp"
#include "transport/wait/wait_policy.hpp"

namespace stretto::engine {

// Nothing here locks anything: if several threads may touch the engine, an heir's functions do.
class Engine::Waiting : public transport::Waitable {
public:
    // A helper thread (`caller` false) raises no alert.
    Waiting(Engine &engine, bool caller) : engine_(engine), caller_(caller) {}

    bool attempt() override;
    void diagnose(std::uint64_t waited_ns) override;
    std::uint64_t longest_nap() const override {
        constexpr std::uint64_t kUnheardNapNs = 20'000;
        const std::uint64_t unheard = engine_.unheard_ == 0 ? transport::kNoNap : kUnheardNapNs;
        const std::uint64_t others =
            engine_.companion_ == nullptr ? transport::kNoNap : engine_.companion_->longest_nap();
        const std::uint64_t delegated =
            engine_.launching() == 0 ? transport::kNoNap : engine_.sharer_->longest_nap();
        return std::min({engine_.nap_ns_, unheard, others, delegated});
    }
    // A thread that plays several calls together, of which one may wait for data and another for
    // room, is woken by progress always.
    bool awaits_progress() const override { return true; }

    // The wait is over.
    void end();

protected:
    // Does the work that is possible now; true if there was any.
    virtual bool step() = 0;
    // The oldest call that waits; null if none does any more.
    virtual Run *oldest() = 0;

    Engine &engine_;

private:
    const bool caller_;
    std::uint64_t since_ticks_ = now_ticks(); // the time until then is counted
    std::uint64_t asks_at_ = 0;               // the wait's length at the next question
    // The call, and since when it waits, once the wait is investigated.
    bool stands_ = false;
    CallDescriptor descriptor_;
    std::uint64_t since_ns_ = 0;
};

} // namespace stretto::engine
