// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/agent_decisions.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace stretto::bootstrap {

namespace {

// The time to allow for, after one more measurement: the longest, which fades with later ones.
std::uint64_t longest(std::uint64_t so_far, std::uint64_t time) {
    return std::max(time, so_far - so_far / 8);
}

// The key is looked at again when its work is done.
membership::Answer when_computed() {
    return membership::Answer::not_before(UINT64_MAX);
}

} // namespace

void AgentDecisions::add_to(membership::Hooks &hooks) {
    hooks.noticed = [this](int from, std::uint64_t key, std::int64_t number) {
        notices_.add(key, from, number);
    };
    hooks.choose = [this](std::uint64_t key, int from, const std::string &) {
        return choose(key, from);
    };
    hooks.decided = [this](std::uint64_t key, const std::string &value) {
        value_decided(key, value);
    };
}

void AgentDecisions::decide_by(std::uint64_t key, Decision decision) {
    const std::lock_guard lock(mutex_);
    decisions_.insert_or_assign(key, std::move(decision));
}

void AgentDecisions::when_decided(std::uint64_t key, Consequence consequence) {
    const std::lock_guard lock(mutex_);
    consequences_.insert_or_assign(key, std::move(consequence));
}

void AgentDecisions::decide_before(std::uint64_t key, std::uint64_t time) {
    constexpr std::uint64_t kSpreadNs = 5'000'000; // until all ranks have it, on busy machines
    const std::uint64_t now = now_ns(), left = time > now ? time - now : 0;
    // Announcements that arrive until then count: at least half of the time left is for them.
    agent_->decide_at(key, now + left -
                               std::min(left / 2, 2 * (decided_in_ + followed_in_) + kSpreadNs));
}

// The agent's thread.  If this rank is asked before it has left the call before, it has no decision
// to make yet: the selected plan stays.
membership::Answer AgentDecisions::choose(std::uint64_t key, int from) {
    std::map<std::uint64_t, Decision>::node_type decision;
    {
        const std::lock_guard lock(mutex_);
        if (auto computed = computed_.extract(key))
            return std::move(computed.mapped());
        if (computing_.contains(key))
            return when_computed();
        decision = decisions_.extract(key);
    }
    if (!decision)
        return std::string();
    const std::uint64_t start = now_ns();
    Outcome outcome = membership::Answer(std::string());
    try {
        outcome = decision.mapped()({notices_.take(key), from, start, notices_});
    } catch (...) { // no memory: all stays as it is, and the agent goes on
    }
    if (Work *const work = std::get_if<Work>(&outcome)) {
        {
            const std::lock_guard lock(mutex_);
            computing_.insert(key);
        }
        background_.submit(
            [this, key, start, work = std::move(*work)] { compute(key, start, work); });
        const std::lock_guard lock(mutex_);
        auto computed = computed_.extract(key); // if it is there already, perhaps by this thread
        return computed ? membership::Answer(std::move(computed.mapped())) : when_computed();
    }
    auto &answer = std::get<membership::Answer>(outcome);
    if (answer.value) {
        decided_in_ = longest(decided_in_, now_ns() - start);
    } else {
        const std::lock_guard lock(mutex_);
        decisions_.insert(std::move(decision));
    }
    return std::move(answer);
}

// In the background.
void AgentDecisions::compute(std::uint64_t key, std::uint64_t start, const Work &work) {
    std::string value;
    try {
        value = work();
    } catch (...) { // no memory: all stays as it is
    }
    {
        const std::lock_guard lock(mutex_);
        if (computing_.erase(key) == 0)
            return; // forgotten meanwhile
        computed_.insert_or_assign(key, std::move(value));
    }
    decided_in_ = longest(decided_in_, now_ns() - start);
    agent_->decide_at(key, now_ns());
}

// The agent's thread has a value.
void AgentDecisions::value_decided(std::uint64_t key, const std::string &value) {
    std::map<std::uint64_t, Consequence>::node_type consequence;
    {
        const std::lock_guard lock(mutex_);
        consequence = consequences_.extract(key);
    }
    if (!consequence)
        return;
    background_.submit([this, value, start = now_ns(), then = std::move(consequence.mapped())] {
        try {
            then(value);
        } catch (...) { // no memory: the rank does itself what this was to spare it
        }
        followed_in_ = longest(followed_in_, now_ns() - start);
    });
}

void AgentDecisions::forget(std::uint64_t from, std::uint64_t below) {
    agent_->forget_decisions(from, below);
    const std::lock_guard lock(mutex_);
    const auto erase = [&](auto &all) { all.erase(all.lower_bound(from), all.lower_bound(below)); };
    erase(decisions_);
    erase(consequences_);
    erase(computing_);
    erase(computed_);
}

} // namespace stretto::bootstrap
