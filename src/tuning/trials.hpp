// SPDX-License-Identifier: BSD-3-Clause
// Calls that repeat try the algorithms whose price is close (tuning/trial.hpp): a hook of their
// entries until the trial is over.
//
// To make the plans of candidates takes milliseconds, so a thread in the background begins with it
// some calls before the first needs them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "calls/call_hook.hpp"
#include "calls/calls.hpp"
#include "engine/queue.hpp"
#include "select/profile.hpp"
#include "tuning/trial.hpp"

namespace stretto::tuning {

class Trials final : public calls::HookSource {
public:
    // Does a job in the background, some time.
    using Background = std::function<void(std::function<void()> job)>;
    // `wanted`: else there is none.  The references outlive this.
    Trials(calls::Calls &calls, engine::Queue &queue, Background background, bool wanted)
        : calls_(calls), queue_(queue), background_(std::move(background)), wanted_(wanted) {}

    std::unique_ptr<calls::CallHook> hook_for(const calls::Request &request,
                                              calls::Chosen &chosen) override;
    // What the trial of such calls has found so far, in place of what was chosen.
    void resume(const calls::Request &request, calls::Chosen &chosen) const;
    // A profile, with what trials have found since.
    select::Profile with_findings(select::Profile profile) const;

private:
    class Hook;

    bool tries(const calls::Request &request, const calls::Chosen &chosen) const;
    // Null: there are too many.
    Trial *trial_of(const calls::Request &request);
    void conclude(calls::HookedCall &call, Trial &trial);

    calls::Calls &calls_;
    engine::Queue &queue_;
    const Background background_;
    const bool wanted_;
    // They outlive entries: ranks forget entries one by one, and must not forget these.
    static constexpr std::size_t kMostTrials = 1024;
    std::unordered_map<calls::CallKey, Trial, calls::CallKeyHash> trials_;
    // By trials that are over.  Choices do not go by it: a rank may make one anew at a moment when
    // the others do not, and must come to the same.
    std::vector<select::Measured> found_;
};

} // namespace stretto::tuning
