// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pass_delegation.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "transport/wait/doorbell.hpp"

namespace stretto::engine {

using transport::DelegatedPass;
using transport::DelegatedPlace;
using transport::Delegation;
using transport::DevicePlace;
using transport::Presence;
using transport::SharedDevice;

namespace {

// About what two turns of a device cost (docs/gpu.md): a rank that waits longer for its delegate
// gains nothing.
constexpr std::uint64_t kPatienceNs = 300'000, kLongPatienceNs = 10'000'000'000;
constexpr std::uint32_t kLongestRestPasses = 64;
constexpr std::uint64_t kLooksNs = 10'000'000; // between two looks whether a delegate lives

bool same_process(const transport::LineBlock &a, const transport::LineBlock &b) {
    return same_processes(a, b) &&
           a.pid.load(std::memory_order_relaxed) == b.pid.load(std::memory_order_relaxed);
}

} // namespace

PassDelegation::PassDelegation(transport::Segment &segment, int rank, SharedDevice *devices,
                               Executor &executor, Launches launches)
    : segment_(segment), signals_(segment.header().signals), rank_(rank), devices_(devices),
      mine_(devices[rank].delegations), executor_(executor), launches_(launches) {
    taken_.reserve(kMostTakenPasses);
    for (std::size_t k = 0; k < kMostTakenPasses; ++k)
        spare_.push_back(std::make_unique<Taken>());
    ins_.reserve(DelegatedPass::kMostPlaces);
    outs_.reserve(DelegatedPass::kMostPlaces);
    mine_.launches.store(launches != Launches::own, std::memory_order_release);
}

PassDelegation::~PassDelegation() {
    mine_.launches.store(0, std::memory_order_release);
    settle();
}

// Whether a rank launches the pass for this one, which is of the same device.
bool PassDelegation::can_launch(int rank) const {
    const SharedDevice &its = devices_[rank];
    const std::uint32_t device = devices_[rank_].device.load(std::memory_order_relaxed);
    if (its.delegations.launches.load(std::memory_order_acquire) == 0 ||
        its.device.load(std::memory_order_acquire) != device ||
        segment_.lines(rank).left.load(std::memory_order_relaxed) != 0 ||
        !same_processes(segment_.lines(rank), segment_.lines(rank_)))
        return false;
    const std::uint64_t opened = its.opened.load(std::memory_order_acquire);
    return std::all_of(next_.places.data(), next_.places.data() + next_.ins + next_.outs,
                       [&](const DelegatedPlace &each) {
                           const SharedDevice &owner = devices_[each.rank];
                           return owner.device.load(std::memory_order_acquire) == device &&
                                  (same_process(segment_.lines(each.rank), segment_.lines(rank)) ||
                                   owner.allocations[DevicePlace(each.place).slot()].number() <=
                                       opened);
                       });
}

int PassDelegation::find_delegate() const {
    for (int rank = 0; rank < rank_; ++rank)
        if (segment_.here(rank) && can_launch(rank))
            return same_process(segment_.lines(rank), segment_.lines(rank_)) ? rank_ : rank;
    return rank_;
}

std::optional<std::uint32_t> PassDelegation::post() {
    const int delegate = find_delegate();
    if (delegate == rank_)
        return std::nullopt;
    if (rest_ != 0) {
        --rest_;
        return std::nullopt;
    }
    const auto number = static_cast<std::uint32_t>(std::countr_one(in_flight_));
    in_flight_ |= 1u << number;
    const std::uint64_t now = now_ns();
    posted_[number] = {now, now};
    mine_.slots[number].post(delegate, next_);
    mine_.in_use.store(in_flight_, std::memory_order_release);
    devices_[delegate].delegations.posted.fetch_add(1, std::memory_order_seq_cst);
    if (transport::anybody_sleeps(signals_))
        transport::Doorbell(segment_, delegate).ring();
    return number;
}

// The delegate was late.  Passes that were posted before are late for the same reason.
void PassDelegation::rest(std::uint64_t posted_ns) {
    if (posted_ns >= missed_ns_) {
        last_rest_ = std::clamp(2 * last_rest_, 1u, kLongestRestPasses);
        missed_ns_ = now_ns();
    }
    rest_ = last_rest_;
}

PassDelegation::Fate PassDelegation::look(std::uint32_t number) {
    Delegation &delegation = mine_.slots[number];
    Posted &posted = posted_[number];
    const auto end = [&](Fate fate) {
        delegation.free();
        in_flight_ &= ~(1u << number);
        return fate;
    };
    switch (delegation.state()) {
    case Delegation::State::done: last_rest_ = 0; return end(Fate::complete);
    case Delegation::State::failed: {
        const Error why = delegation.why();
        error_.emplace(why.status(), segment_.names().of(delegation.delegate()) +
                                         " has launched the pass of this rank: " + why.what());
        return end(Fate::failed);
    }
    case Delegation::State::declined: rest(posted.since_ns); return end(Fate::returned);
    case Delegation::State::posted:
        if (now_ns() - posted.since_ns <
            (launches_ == Launches::always_one ? kLongPatienceNs : kPatienceNs))
            return Fate::pending;
        if (!delegation.cancel())
            return Fate::pending;
        rest(posted.since_ns);
        return end(Fate::returned);
    case Delegation::State::taken: break;
    case Delegation::State::free: return Fate::pending;
    }
    if (const std::uint64_t now = now_ns(); now - posted.looked_ns >= kLooksNs) {
        posted.looked_ns = now;
        if (const Presence presence = segment_.presence(delegation.delegate());
            presence != Presence::here && delegation.state() == Delegation::State::taken) {
            error_.emplace(Status::peer, segment_.names().of(delegation.delegate()) + " " +
                                             transport::words(presence) +
                                             ", which has launched the pass of this rank");
            return end(Fate::failed);
        }
    }
    return Fate::pending;
}

bool PassDelegation::withdraw(std::uint32_t number) {
    Delegation &delegation = mine_.slots[number];
    if (delegation.state() == Delegation::State::taken ||
        (delegation.state() == Delegation::State::posted && !delegation.cancel()))
        return false;
    delegation.free();
    in_flight_ &= ~(1u << number);
    return true;
}

void PassDelegation::withdraw_and_wait(std::uint32_t number) {
    for (const std::uint64_t since = now_ns(); !withdraw(number);) {
        if (now_ns() - since > kStuckNs || segment_.presence(delegate_of(number)) != Presence::here)
            return;
        report(); // this rank may launch passes for others
        std::this_thread::sleep_for(kDeviceNap);
    }
}

void PassDelegation::serve() {
    const std::uint64_t posted = mine_.posted.load(std::memory_order_acquire);
    if (posted == seen_)
        return;
    if (take_posted())
        seen_ = posted;
    executor_.start_issued();
}

// False if there was no room for all.
bool PassDelegation::take_posted() {
    for (int rank = 0; rank < segment_.ranks(); ++rank) {
        if (rank == rank_ || !segment_.here(rank))
            continue;
        transport::Delegations &its = devices_[rank].delegations;
        for (std::uint32_t bits = its.in_use.load(std::memory_order_acquire); bits != 0;
             bits &= bits - 1) {
            if (spare_.empty())
                return false; // looks again when some have ended
            consider(rank, its.slots[static_cast<std::size_t>(std::countr_zero(bits))]);
        }
    }
    return true;
}

// Where this process finds the memory of the pass; false if it does not.
bool PassDelegation::translate(const DelegatedPass &pass) {
    ins_.clear();
    outs_.clear();
    try {
        for (std::size_t i = 0; i < pass.ins + pass.outs; ++i) {
            const DelegatedPlace &each = pass.places[i];
            void *const here = each.rank < 0 || each.rank >= segment_.ranks()
                                   ? nullptr
                                   : executor_.find_shared(devices_[rank_], devices_[each.rank],
                                                           DevicePlace(each.place));
            if (here == nullptr)
                return false;
            if (i < pass.ins)
                ins_.push_back(here);
            else
                outs_.push_back(here);
        }
    } catch (const Error &) { // its context is gone
        return false;
    }
    return true;
}

// After a failure ranks wait for passes in their memory (Engine::left_alone), so a pass is
// announced before it is taken, and none is taken once the communicator has failed.
void PassDelegation::consider(int poster, Delegation &delegation) {
    const std::optional<std::uint64_t> word = delegation.posted(rank_, pass_);
    if (!word)
        return;
    if (!translate(pass_)) {
        (void)delegation.take(*word, Delegation::State::declined);
        return;
    }
    taken_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    announce();
    if (signals_.failed.load(std::memory_order_seq_cst) == 0 &&
        delegation.take(*word, Delegation::State::taken)) {
        Taken &taken = *taken_.back();
        taken.delegation = &delegation;
        taken.poster = poster;
        launch(taken, pass_);
        if (taken.delegation != nullptr)
            return;
    }
    spare_.push_back(std::move(taken_.back()));
    taken_.pop_back();
    announce();
}

// If the pass is not under way afterwards, it has ended.
void PassDelegation::launch(Taken &taken, const DelegatedPass &pass) {
    const Kernel kernel{.reduces = pass.reduces,
                        .dtype = pass.dtype,
                        .op = pass.op,
                        .rounding =
                            pass.rounds_each ? reduce::Rounding::each : reduce::Rounding::once};
    const Work work{.outs = outs_,
                    .ins = ins_,
                    .bytes = pass.bytes,
                    .kernel = kernel,
                    .only_there = true,
                    .may_gather = true};
    Delegation &delegation = *std::exchange(taken.delegation, nullptr);
    try {
        taken.completion.arm();
        switch (executor_.issue(work, taken.completion)) {
        case Executor::Issued::pending: taken.delegation = &delegation; return;
        case Executor::Issued::complete: delegation.end(Delegation::State::done); return;
        case Executor::Issued::refused: delegation.end(Delegation::State::declined); return;
        }
    } catch (const Error &error) {
        delegation.fail(error.status(), error.what());
    } catch (const std::exception &error) {
        delegation.fail(Status::memory, error.what());
    }
}

void PassDelegation::report() {
    if (taken_.empty())
        return;
    executor_.poll();
    const std::size_t before = taken_.size();
    for (std::size_t k = 0; k < taken_.size();) {
        Taken &taken = *taken_[k];
        if (taken.completion.pending()) {
            ++k;
            continue;
        }
        if (const std::optional<Error> &why = taken.completion.error())
            taken.delegation->fail(why->status(), why->what());
        else
            taken.delegation->end(Delegation::State::done);
        if (transport::anybody_sleeps(signals_))
            transport::Doorbell(segment_, taken.poster).ring();
        std::swap(taken_[k], taken_.back());
        spare_.push_back(std::move(taken_.back()));
        taken_.pop_back();
    }
    if (taken_.size() != before)
        announce();
}

void PassDelegation::settle() {
    for (report(); !taken_.empty(); report())
        executor_.wait(taken_.front()->completion);
}

} // namespace stretto::engine
