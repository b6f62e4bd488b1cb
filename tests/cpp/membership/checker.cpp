// SPDX-License-Identifier: BSD-3-Clause
#include "membership/checker.hpp"

#include <stdexcept>

namespace test {

using namespace stretto;
using namespace stretto::membership;

namespace {

constexpr std::uint64_t kKey = 7; // of the choice that members may ask for

std::uint64_t code(Step::Kind kind, std::uint64_t detail) {
    return static_cast<std::uint64_t>(kind) << 28 | detail;
}

} // namespace

// ---- one member's step

const Outcomes &Checker::outcomes(std::uint32_t number, std::uint64_t what, const Event &event) {
    const auto [at, is_new] = played_.try_emplace(static_cast<std::uint64_t>(number) << 32 | what);
    if (is_new)
        at->second = play(locals_[number], event);
    return at->second;
}

const Outcomes &Checker::delivery(const State &state, int from, int to, std::size_t which) {
    const std::uint32_t message = on_the_way(state, from, to)[which];
    return outcomes(state.local[at(to)],
                    code(Step::deliver, message << 4 | static_cast<std::uint32_t>(from)),
                    event::Received{from, messages_[message]});
}

Outcomes Checker::play(const Local &before, const Event &event) {
    Outcomes result;
    const auto breaks = [&](const char *invariant) {
        if (result.broken == nullptr)
            result.broken = invariant;
    };
    Local after = before;
    const auto *received = std::get_if<event::Received>(&event);
    if (received != nullptr && !world_.wild_links &&
        !std::holds_alternative<DecidedView>(received->message.body) &&
        received->message.epoch > before.member.view().epoch)
        breaks("a member hears of an epoch before it hears from it");
    RankSet told(ranks_); // of the revocation, in this step
    if (received != nullptr)
        told.insert(received->from); // it knows
    told.insert(before.member.rank());
    for (const Action &each : after.member.step(event)) {
        if (const auto *send = std::get_if<action::Send>(&each)) {
            result.effects.push_back(
                {Effect::send, static_cast<std::uint32_t>(send->to), messages_.of(send->message)});
            if (std::holds_alternative<Revoke>(send->message.body))
                told.insert(send->to);
            if (const auto *prepare = std::get_if<Prepare>(&send->message.body))
                result.far = prepare->ballot.round >= static_cast<std::uint32_t>(world_.rounds);
        } else if (std::holds_alternative<action::Revoked>(each)) {
            // Excluded while it was away: then the others know more than it does.
            if (after.member.in_force() && !after.member.view().members.within(told))
                breaks("a member tells the others before its caller");
            result.effects.push_back({Effect::told});
        } else if (const auto *shrunk = std::get_if<action::Shrunk>(&each)) {
            if (!(after.called || std::holds_alternative<event::Shrink>(event)))
                breaks("who has not called shrink is in no view");
            after.answer.reset();
            if (shrunk->outcome == Outcome::succeeded) {
                after.completed = 0;
                after.called = false;
                after.questions = 0;
                told = RankSet(ranks_);
                told.insert(before.member.rank());
                result.effects.push_back({Effect::succeeded, 0, views_.of(shrunk->view)});
            } else {
                after.answer = shrunk->outcome;
                result.effects.push_back({Effect::ended});
            }
        } else if (const auto *decided = std::get_if<action::ValueDecided>(&each)) {
            result.effects.push_back(
                {Effect::decided, 0, static_cast<std::uint32_t>(decided->value[0])});
        }
    }
    if (std::holds_alternative<event::Shrink>(event) && after.member.revoked())
        after.called = true;
    if (std::holds_alternative<event::Decide>(event))
        ++after.questions;
    result.local = locals_.of(after);
    return result;
}

// ---- channels

void Checker::push(State &state, int from, int to, std::uint32_t message) {
    if (!listens(state, to))
        return;
    std::uint32_t &queue = state.channel[channel(from, to)];
    std::uint32_t &longer = pushed_[static_cast<std::uint64_t>(queue) << 32 | message];
    if (longer == 0) {
        std::vector<std::uint32_t> messages = queues_[queue];
        // With wild links their order is no matter.
        messages.insert(world_.wild_links ? std::ranges::upper_bound(messages, message)
                                          : messages.end(),
                        message);
        longer = queues_.of(messages);
    }
    queue = longer;
}

void Checker::pop(State &state, int from, int to, std::size_t which) {
    std::uint32_t &queue = state.channel[channel(from, to)];
    const auto [at, is_new] = popped_.try_emplace(static_cast<std::uint64_t>(queue) << 8 | which);
    if (is_new) {
        std::vector<std::uint32_t> rest = queues_[queue];
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(which));
        at->second = queues_.of(rest);
    }
    queue = at->second;
}

void Checker::nobody_listens(State &state, int rank) {
    for (int from = 0; from < ranks_; ++from)
        state.channel[channel(from, rank)] = 0;
}

// ---- steps of the world

void Checker::next(const State &state, std::vector<Step> &steps) {
    steps.clear();
    const auto add = [&](Step::Kind kind, int a, int b) {
        steps.push_back({kind, static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b)});
    };
    const auto alone = [&](Step::Kind kind, int a, int b) {
        steps.clear();
        add(kind, a, b);
    };
    if (state.over)
        return;
    for (int to = 0; to < ranks_; ++to) {
        const Local &it = local(state, to);
        if (!it.alive)
            continue;
        if (it.member.revoked() && !it.called) {
            if (world_.prompt)
                return alone(Step::shrink, to, to);
            add(Step::shrink, to, to);
        }
        if (!it.member.in_force())
            continue;
        for (int from = 0; from < ranks_; ++from) {
            if (from == to)
                continue;
            if (state.losses > 0 && listens(state, from))
                add(Step::lose, from, to);
            if (state.channel[channel(from, to)] == 0)
                continue;
            const std::vector<std::uint32_t> &messages = on_the_way(state, from, to);
            for (std::size_t i = 0; i < (world_.wild_links ? messages.size() : 1); ++i) {
                if (i > 0 && messages[i] == messages[i - 1])
                    continue;
                const Outcomes &result = delivery(state, from, to, i);
                const bool idle = result.local == state.local[at(to)] && result.effects.empty() &&
                                  result.broken == nullptr;
                const bool at_once = (world_.reduce && idle) ||
                                     (world_.quick_news &&
                                      std::holds_alternative<Revoke>(messages_[messages[i]].body));
                if (at_once)
                    alone(Step::deliver, from, to);
                else
                    add(Step::deliver, from, to);
                steps.back().which = static_cast<std::uint8_t>(i);
                if (at_once)
                    return;
            }
            if (!local(state, from).alive)
                add(Step::vanish, from, to);
        }
        const std::uint32_t epoch = it.member.view().epoch;
        for (const int other : it.member.view().members) {
            if (other == to)
                continue;
            if (!it.member.suspects(other) && (!local(state, other).alive || state.mistakes > 0))
                add(Step::suspect, to, other);
            if (state.beats > 0 && listens(state, other))
                add(Step::beat, to, other);
        }
        if (state.deaths > 0)
            add(Step::die, to, to);
        if (state.failures > 0 && !it.member.revoked() && epoch == 0)
            add(Step::fail, to, to);
        if (static_cast<int>(it.completed) < world_.calls && it.member.may_complete())
            add(Step::complete, to, to);
        if (it.questions < world_.questions && !it.member.revoked())
            add(Step::ask, to, to);
    }
}

const char *Checker::install(State &state, std::uint32_t number) {
    const View &view = views_[number];
    if (view.epoch >= kMostEpochs)
        throw std::runtime_error("a world with more epochs than the checker has room for");
    epochs_ = std::max(epochs_, static_cast<int>(view.epoch));
    std::uint32_t &known = state.view[view.epoch];
    if (known != 0)
        return known == number + 1 ? nullptr : "one view for each epoch";
    known = number + 1;
    // Counted here in another way than the protocol does.
    const std::uint32_t old = view.epoch == 1 ? 0 : state.view[view.epoch - 1];
    if (view.epoch > 1 && old == 0)
        return "a view follows a view";
    const RankSet members = old == 0 ? RankSet::all(ranks_) : views_[old - 1].members;
    int stay = 0, go = 0, first = kNoRank;
    for (int rank = ranks_ - 1; rank >= 0; --rank)
        if (members.has(rank)) {
            ++(view.members.has(rank) ? stay : go);
            first = rank;
        }
    if (!view.members.within(members) || stay < go || (stay == go && !view.members.has(first)))
        return "a majority of the old members is in each view";
    std::uint64_t least = UINT64_MAX;
    for (const int rank : view.members)
        if (local(state, rank).member.view().epoch + 1 == view.epoch)
            least = std::min<std::uint64_t>(least, local(state, rank).completed);
    if (least != view.completed)
        return "the completed calls of a view are the least of its members'";
    return nullptr;
}

const char *Checker::apply(State &state, int rank, const Outcomes &result, bool own) {
    if (result.broken != nullptr)
        return result.broken;
    const std::uint32_t epoch = local(state, rank).member.view().epoch;
    bool succeeded = false;
    // The number of calls is asked for before the member begins to count anew.
    for (const Effect &effect : result.effects)
        if (effect.kind == Effect::succeeded)
            if (const char *broken = install(state, effect.number))
                return broken;
    state.local[at(rank)] = result.local;
    for (const Effect &effect : result.effects) {
        switch (effect.kind) {
        case Effect::send: push(state, rank, static_cast<int>(effect.to), effect.number); break;
        case Effect::told:
            if (own || succeeded)
                state.raised |= static_cast<std::uint16_t>(1 << (epoch + (succeeded ? 1 : 0)));
            else if (listens(state, rank) && (state.raised >> epoch & 1) == 0)
                return "an epoch is revoked only for what happened in it";
            break;
        case Effect::succeeded: succeeded = true; break;
        case Effect::ended: break;
        case Effect::decided:
            std::uint8_t &decision = state.decision[epoch];
            if (decision != 0 && decision != effect.number + 1)
                return "a choice is decided once";
            decision = static_cast<std::uint8_t>(effect.number + 1);
            break;
        }
    }
    if (!listens(state, rank))
        nobody_listens(state, rank);
    state.over =
        state.over || result.far ||
        local(state, rank).member.view().epoch >= static_cast<std::uint32_t>(world_.epochs);
    return nullptr;
}

const char *Checker::take(State &state, Step step) {
    const int a = step.a, b = step.b;
    switch (step.kind) {
    case Step::deliver: {
        const Outcomes &result = delivery(state, a, b, step.which);
        const auto *revoke =
            std::get_if<Revoke>(&messages_[on_the_way(state, a, b)[step.which]].body);
        // Who leaves, leaves all epochs.
        const bool leaves = revoke != nullptr && revoke->reason.origin == revoke->reason.culprit;
        pop(state, a, b, step.which);
        return apply(state, b, result, leaves);
    }
    case Step::vanish: state.channel[channel(a, b)] = 0; return nullptr;
    case Step::die: {
        --state.deaths;
        // Of the dead it matters only how many calls they have completed.
        const Local &it = local(state, a);
        state.local[at(a)] = locals_.of(Local{Member(a, it.member.view(), world_.rules), false,
                                              it.completed, false, std::nullopt, 0});
        nobody_listens(state, a);
        return nullptr;
    }
    case Step::suspect:
        if (local(state, b).alive)
            --state.mistakes;
        return apply(
            state, a,
            outcomes(state.local[at(a)], code(Step::suspect, step.b), event::Suspect{b, "silent"}),
            true);
    case Step::fail:
        --state.failures;
        return apply(
            state, a,
            outcomes(state.local[at(a)], code(Step::fail, 0), event::Fail{0, Status::timeout, ""}),
            true);
    case Step::complete: {
        Local after = local(state, a);
        if (after.member.revoked())
            return "nobody completes a call once it was told that the epoch has ended";
        ++after.completed;
        state.local[at(a)] = locals_.of(after);
        return nullptr;
    }
    case Step::shrink:
        return apply(state, a,
                     outcomes(state.local[at(a)], code(Step::shrink, 0),
                              event::Shrink{local(state, a).completed}),
                     false);
    case Step::lose:
        --state.losses;
        state.channel[channel(a, b)] = 0;
        return apply(state, a,
                     outcomes(state.local[at(a)], code(Step::lose, step.b), event::Restored{b}),
                     false);
    case Step::beat:
        --state.beats;
        push(state, a, b, messages_.of(Message{local(state, a).member.view().epoch, Beat{}}));
        return nullptr;
    case Step::ask:
        return apply(state, a,
                     outcomes(state.local[at(a)], code(Step::ask, 0),
                              event::Decide{kKey, local(state, a).member.view().members.lowest(),
                                            std::string(1, static_cast<char>(a + 1))}),
                     false);
    }
    return nullptr;
}

const char *Checker::at_end(const State &state) const {
    if (world_.wild_links)
        return nullptr;
    if (state.over)
        return "histories come to an end";
    for (int rank = 0; rank < ranks_; ++rank) {
        const Local &it = local(state, rank);
        if (!it.alive)
            continue;
        if (it.called && !it.answer)
            return "who has called shrink gets an answer";
        for (int other = 0; other < ranks_; ++other) {
            const Local &that = local(state, other);
            if (!that.alive || !that.member.in_force())
                continue;
            // One goes on in an epoch that another knows has ended.
            const std::uint32_t epoch = it.member.view().epoch;
            const bool over = !it.member.in_force() && it.answer == Outcome::no_majority;
            if (that.member.view().epoch < epoch + (over ? 1 : 0))
                return "all who live are told that an epoch has ended";
        }
    }
    return nullptr;
}

std::string Checker::describe(const State &state, Step step) const {
    constexpr const char *names[] = {"gets",      "gets no more", "dies",  "suspects", "fails",
                                     "completes", "shrinks",      "loses", "beats",    "asks"};
    constexpr const char *kinds[] = {"beat",    "revoke", "prepare", "promise", "refuse",
                                     "propose", "accept", "decided", "ask",     "decision"};
    const std::string a = std::to_string(step.a), b = std::to_string(step.b);
    const char *name = names[step.kind];
    if (step.kind == Step::deliver) {
        const Message &message = messages_[on_the_way(state, step.a, step.b)[step.which]];
        std::string text = b + " " + name + " " + kinds[message.body.index()] + " of epoch " +
                           std::to_string(message.epoch) + " from " + a;
        if (const auto *revoke = std::get_if<Revoke>(&message.body))
            text += ": " + std::to_string(revoke->reason.origin) + " accuses " +
                    std::to_string(revoke->reason.culprit);
        if (const auto *decided = std::get_if<DecidedView>(&message.body))
            text += ": " + to_text(decided->view.members);
        if (const auto *propose = std::get_if<Propose>(&message.body))
            text += ": " + to_text(propose->vote.view.members);
        return text;
    }
    return a + " " + name + (step.a == step.b ? "" : " " + b);
}

} // namespace test
