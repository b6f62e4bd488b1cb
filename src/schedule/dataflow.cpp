// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/dataflow.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/index.hpp"
#include "base/number_map.hpp"
#include "base/status.hpp"
#include "schedule/check.hpp"
#include "schedule/dependencies.hpp"
#include "schedule/json.hpp"
#include "schedule/messages.hpp"

namespace stretto::schedule {

namespace {

std::vector<std::vector<std::int32_t>>
reversed(const std::vector<std::vector<std::int32_t>> &before) {
    std::vector<std::vector<std::int32_t>> dependents(before.size());
    for (std::size_t i = 0; i < before.size(); ++i)
        for (const std::int32_t earlier : before[i])
            dependents[at(earlier)].push_back(static_cast<std::int32_t>(i));
    return dependents;
}

} // namespace

bool Dataflow::Observer::travels(const Op &) const {
    return true;
}
void Dataflow::Observer::message(OpRef, OpRef) {}
void Dataflow::Observer::local(OpRef) {}

Dataflow::Dataflow(const Schedule &schedule, std::int32_t token_value) {
    check_frame(schedule);
    constexpr std::size_t most_waits = 1u << 27; // bytes for all positions
    std::size_t waits = 0;
    std::vector<Program> programs;
    for (Position p = 0; p < schedule.ranks; ++p) {
        programs.push_back(schedule.program(p));
        check_program(schedule, p, programs.back());
        paths_.push_back(schedule::path(programs.back(), token_value));
        before_.push_back(dependencies(paths_.back(), programs.back().open));
        for (const auto &each : before_.back())
            waits += each.size();
        if (waits > most_waits)
            throw Error(Status::argument, "the ops wait for one another in more than " +
                                              std::to_string(most_waits) + " pairs");
        dependents_.push_back(reversed(before_.back()));
    }
    partner_ = match(paths_, schedule.partition);
    knowledge_ = Knowledge(schedule, programs, before_);
}

const Op &Dataflow::op(OpRef ref) const {
    return paths_[at(ref.position)][at(ref.index)];
}

std::string Dataflow::describe(OpRef ref) const {
    return "position " + std::to_string(ref.position) + ", op " + std::to_string(ref.index) + " (" +
           to_text(op(ref)) + ")";
}

// The state of one play.
class Dataflow::Player {
public:
    Player(const Dataflow &flow, Observer &observer)
        : flow_(flow), observer_(observer), knowledge_(flow.knowledge_) {
        for (std::size_t p = 0; p < flow.paths_.size(); ++p) {
            states_.emplace_back(flow.paths_[p].size());
            for (std::size_t i = 0; i < states_[p].size(); ++i) {
                const OpRef ref{static_cast<Position>(p), static_cast<std::int32_t>(i)};
                states_[p][i].waits = static_cast<std::int32_t>(flow.before_[p][i].size()) +
                                      (behind_gate(ref) ? 1 : 0);
                ++left_;
            }
        }
    }

    std::int64_t run() {
        for (std::size_t p = 0; p < states_.size(); ++p)
            for (std::size_t i = 0; i < states_[p].size(); ++i)
                if (states_[p][i].waits == 0)
                    start({static_cast<Position>(p), static_cast<std::int32_t>(i)});
        std::int64_t level = 0;
        for (;;) {
            while (!now_.empty()) {
                const OpRef op = now_.back();
                now_.pop_back();
                finish(op);
            }
            if (next_.empty())
                break;
            ++level;
            std::swap(now_, next_);
        }
        if (left_ > 0)
            throw Error(Status::argument, deadlock());
        return level;
    }

private:
    struct State {
        std::int32_t waits = 0;
        bool started = false;
        bool complete = false;
    };

    State &state(OpRef ref) { return states_[at(ref.position)][at(ref.index)]; }

    bool behind_gate(OpRef ref) const {
        return knowledge_.gated(ref) && !knowledge_.knows(ref.position);
    }

    OpRef partner(OpRef ref) const {
        return {flow_.op(ref).peer, flow_.partner_[at(ref.position)][at(ref.index)]};
    }

    // Everything that the op waits for is complete.
    void start(OpRef ref) {
        state(ref).started = true;
        const Op &op = flow_.op(ref);
        if (op.kind == OpKind::reduce || op.kind == OpKind::copy) {
            now_.push_back(ref);
            return;
        }
        const OpRef other = partner(ref);
        if (!state(other).started)
            return;
        const OpRef send = op.kind == OpKind::send ? ref : other;
        (observer_.travels(flow_.op(send)) ? next_ : now_).push_back(send);
    }

    // A local op, or a message (named by its send).
    void finish(OpRef ref) {
        if (flow_.op(ref).kind != OpKind::send) {
            observer_.local(ref);
            complete(ref, false);
            return;
        }
        const OpRef recv = partner(ref);
        const bool carried = knowledge_.carries(ref, flow_.before_);
        observer_.message(ref, recv);
        complete(ref, false);
        complete(recv, carried);
    }

    void complete(OpRef ref, bool carried) {
        state(ref).complete = true;
        --left_;
        const bool knew = knowledge_.knows(ref.position);
        knowledge_.complete(ref, carried, flow_.before_);
        for (const std::int32_t later : flow_.dependents_[at(ref.position)][at(ref.index)])
            release({ref.position, later});
        if (!knew && knowledge_.knows(ref.position))
            for (std::int32_t i = knowledge_.gate(ref.position);
                 at(i) < states_[at(ref.position)].size(); ++i)
                release({ref.position, i});
    }

    void release(OpRef ref) {
        if (--state(ref).waits == 0)
            start(ref);
    }

    // The event that a stuck op waits for; nothing if it waits for the token.
    std::optional<OpRef> blocker(OpRef ref) {
        if (state(ref).started)
            return partner(ref);
        for (const std::int32_t earlier : flow_.before_[at(ref.position)][at(ref.index)])
            if (!state({ref.position, earlier}).complete)
                return OpRef{ref.position, earlier};
        return std::nullopt;
    }

    OpRef first_stuck() {
        for (Position p = 0; p < flow_.ranks(); ++p)
            for (std::int32_t i = 0; at(i) < states_[at(p)].size(); ++i)
                if (!state({p, i}).complete)
                    return {p, i};
        return {};
    }

    // Follows the waits until they close a cycle or end at the token.
    std::string deadlock() {
        std::vector<OpRef> chain = {first_stuck()};
        NumberMap<std::size_t> places; // in the chain
        const auto key = [](OpRef ref) {
            return static_cast<std::uint64_t>(ref.position) << 32 |
                   static_cast<std::uint32_t>(ref.index);
        };
        for (;;) {
            places.try_emplace(key(chain.back()), chain.size() - 1);
            const std::optional<OpRef> next = blocker(chain.back());
            if (!next)
                return "deadlock: " + flow_.describe(chain.back()) +
                       " waits for the token, which does not surely reach its position";
            if (const std::size_t *const seen = places.find(key(*next)); seen != nullptr) {
                chain.erase(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(*seen));
                break;
            }
            chain.push_back(*next);
        }
        constexpr std::size_t most_shown = 12;
        std::string text = "deadlock of " + std::to_string(left_) + " ops: ";
        for (std::size_t i = 0; i < std::min(most_shown, chain.size()); ++i)
            text += flow_.describe(chain[i]) + " waits for ";
        if (chain.size() > most_shown)
            text += "... (a circle of " + std::to_string(chain.size()) + " ops) ... ";
        return text + "position " + std::to_string(chain.front().position) + ", op " +
               std::to_string(chain.front().index);
    }

    const Dataflow &flow_;
    Observer &observer_;
    Knowledge knowledge_;
    std::vector<std::vector<State>> states_;
    std::vector<OpRef> now_, next_; // sends and local ops that may end on this, the next level
    std::int64_t left_ = 0;
};

std::int64_t Dataflow::play(Observer &observer) const {
    return Player(*this, observer).run();
}

} // namespace stretto::schedule
