// SPDX-License-Identifier: BSD-3-Clause
// The world of the model checker: its states, what can happen in each, and what must hold then.
//
// Members, messages and queues are known by numbers, equal ones by the same number, and what a
// member does with an event is computed once: exploring the world is then a matter of small
// integers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mix.hpp"
#include "membership/member.hpp"
#include "membership/model.hpp"

namespace test {

using stretto::mix;
using stretto::membership::Event;
using stretto::membership::Member;
using stretto::membership::Message;
using stretto::membership::RankSet;
using stretto::membership::View;
using stretto::membership::action::Outcome;

inline constexpr int kMostRanks = 9;
inline constexpr int kMostEpochs = 10;

// ---- numbers for things: equal things have equal numbers

template<class Thing>
class Numbers {
public:
    std::uint32_t of(const Thing &thing) {
        const auto [at, is_new] =
            numbers_.try_emplace(thing, static_cast<std::uint32_t>(things_.size()));
        if (is_new)
            things_.push_back(&at->first); // a map's elements stay where they are
        return at->second;
    }
    const Thing &operator[](std::uint32_t number) const { return *things_[number]; }
    std::size_t size() const { return things_.size(); }

private:
    std::map<Thing, std::uint32_t> numbers_;
    std::vector<const Thing *> things_;
};

// One member and its caller.
struct Local {
    Member member;
    bool alive = true;
    std::uint32_t completed = 0; // calls of this epoch
    bool called = false;         // shrink, in this epoch
    std::optional<Outcome> answer;
    int questions = 0;
    friend auto operator<=>(const Local &, const Local &) = default;
};

struct Effect {
    enum Kind : std::uint8_t { send, told, succeeded, ended, decided } kind;
    std::uint32_t to = 0;     // send: the rank
    std::uint32_t number = 0; // of the message, the view or the decided value
};

struct Outcomes {
    std::uint32_t local = 0;
    std::vector<Effect> effects;
    bool far = false; // a ballot of the last round
    const char *broken = nullptr;
};

struct Step {
    enum Kind : std::uint8_t {
        deliver,
        vanish,
        die,
        suspect,
        fail,
        complete,
        shrink,
        lose,
        beat,
        ask
    } kind;
    std::uint8_t a = 0, b = 0; // deliver, vanish, lose, beat: from a to b; suspect: a suspects b
    std::uint8_t which = 0;    // deliver: of the messages on their way, with wild links
};

// ---- the world

struct State {
    std::array<std::uint32_t, kMostRanks> local{};
    std::array<std::uint32_t, kMostRanks * kMostRanks> channel{}; // numbers of queues; 0: empty
    std::array<std::uint32_t, kMostEpochs> view{};                // by epoch: its number + 1
    std::array<std::uint8_t, kMostEpochs> decision{};             // by epoch: its value + 1
    std::uint16_t raised = 0; // bit e: epoch e was revoked for a reason
    std::uint8_t deaths = 0, mistakes = 0, failures = 0, losses = 0, beats = 0;
    bool over = false; // the history has got as far as it may
};

struct Fingerprint {
    std::uint64_t a = 0, b = 0;
};

// Open addressing; 128 bits of each state.
class Visited {
public:
    bool insert(Fingerprint print) {
        if (2 * (used_ + 1) > slots_.size())
            grow();
        print.a |= 1; // no fingerprint is all zeros
        Fingerprint &slot = find(print);
        if (slot.a != 0)
            return false;
        slot = print;
        ++used_;
        return true;
    }
    std::size_t size() const { return used_; }

private:
    Fingerprint &find(Fingerprint print) {
        for (std::size_t at = print.b;; ++at) {
            Fingerprint &slot = slots_[at & (slots_.size() - 1)];
            if (slot.a == 0 || (slot.a == print.a && slot.b == print.b))
                return slot;
        }
    }
    void grow() {
        std::vector<Fingerprint> old(std::max<std::size_t>(1024, 2 * slots_.size()));
        old.swap(slots_);
        for (const Fingerprint print : old)
            if (print.a != 0)
                find(print) = print;
    }
    std::vector<Fingerprint> slots_;
    std::size_t used_ = 0;
};

class Checker {
public:
    explicit Checker(const World &world) : world_(world), ranks_(world.ranks) { queues_.of({}); }

    State start() {
        State state;
        for (int rank = 0; rank < ranks_; ++rank)
            state.local[at(rank)] =
                locals_.of(Local{Member(rank, View{0, RankSet::all(ranks_), 0}, world_.rules), true,
                                 0, false, std::nullopt, 0});
        state.deaths = static_cast<std::uint8_t>(world_.deaths);
        state.mistakes = static_cast<std::uint8_t>(world_.mistakes);
        state.failures = static_cast<std::uint8_t>(world_.failures);
        state.losses = static_cast<std::uint8_t>(world_.losses);
        state.beats = static_cast<std::uint8_t>(world_.beats);
        return state;
    }

    // All that can happen next.
    void next(const State &state, std::vector<Step> &steps);
    // Does it; gives the invariant that breaks, or null.
    const char *take(State &state, Step step);
    // Of a state in which nothing can happen.
    const char *at_end(const State &state) const;
    std::string describe(const State &state, Step step) const;

    Fingerprint print(const State &state) const {
        Fingerprint sum{0x9d5c, 0x27b1};
        const auto add = [&](std::uint64_t word) {
            sum.a = mix(sum.a, word);
            sum.b = mix(word, sum.b ^ 0x5851f42d4c957f2dU);
        };
        for (int rank = 0; rank < ranks_; ++rank)
            add(state.local[at(rank)]);
        for (int from = 0; from < ranks_; ++from)
            for (int to = 0; to < ranks_; ++to)
                if (from != to)
                    add(state.channel[channel(from, to)]);
        for (int epoch = 1; epoch < kMostEpochs; ++epoch)
            add(state.view[at(epoch)]);
        for (const std::uint8_t each : state.decision)
            add(each);
        add(state.raised | static_cast<std::uint64_t>(state.deaths) << 16 |
            static_cast<std::uint64_t>(state.mistakes) << 24 |
            static_cast<std::uint64_t>(state.failures) << 32 |
            static_cast<std::uint64_t>(state.losses) << 40 |
            static_cast<std::uint64_t>(state.beats) << 48 |
            static_cast<std::uint64_t>(state.over) << 56);
        return sum;
    }
    std::size_t local_states() const { return locals_.size(); }
    int epochs() const { return epochs_; }

private:
    static std::size_t at(int index) { return static_cast<std::size_t>(index); }
    static std::size_t channel(int from, int to) { return at(from) * kMostRanks + at(to); }
    const Local &local(const State &state, int rank) const {
        return locals_[state.local[at(rank)]];
    }
    bool listens(const State &state, int rank) const {
        const Local &it = local(state, rank);
        return it.alive && it.member.in_force();
    }
    const std::vector<std::uint32_t> &on_the_way(const State &state, int from, int to) const {
        return queues_[state.channel[channel(from, to)]];
    }

    const Outcomes &outcomes(std::uint32_t local, std::uint64_t code, const Event &event);
    Outcomes play(const Local &local, const Event &event);
    const Outcomes &delivery(const State &state, int from, int to, std::size_t which);
    const char *apply(State &state, int rank, const Outcomes &outcomes, bool own);
    const char *install(State &state, std::uint32_t view);
    void push(State &state, int from, int to, std::uint32_t message);
    void pop(State &state, int from, int to, std::size_t which);
    void nobody_listens(State &state, int rank);

    World world_;
    int ranks_;
    int epochs_ = 0;
    Numbers<Local> locals_;
    Numbers<Message> messages_;
    Numbers<View> views_;
    Numbers<std::vector<std::uint32_t>> queues_;
    std::unordered_map<std::uint64_t, std::uint32_t> pushed_, popped_;
    std::unordered_map<std::uint64_t, Outcomes> played_;
};

} // namespace test
