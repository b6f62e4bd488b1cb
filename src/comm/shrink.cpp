// SPDX-License-Identifier: BSD-3-Clause
#include "comm/shrink.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>

#include "base/call_scope.hpp"
#include "bootstrap/network/failure_detector.hpp"
#include "transport/shm/shrink_agreement.hpp"

namespace stretto::comm {

namespace {

constexpr const char *kCall = "stretto_comm_shrink";

// How long to wait for a rank that lives and does not call; 0: for ever.  Ranks may differ: the
// first that has waited so long proposes to go on, and all see one answer.
std::uint64_t patience_ns(const Communicator &old) {
    const std::uint64_t timeout_ns = old.config().waits.timeout_ns;
    return timeout_ns != 0 ? timeout_ns : call_scope().limit_ns;
}

// Counts how often the same ranks have failed to make a communicator: the third time they give up.
// All of them count alike, since all see the same lists of members.
class Attempts {
public:
    // To be called where an exception is handled: rethrows it after the last attempt.
    void failed(const std::vector<int> &members) {
        constexpr int kMostFailures = 3;
        failures_ = members == members_ ? failures_ + 1 : 1;
        members_ = members;
        if (failures_ == kMostFailures)
            throw;
    }

private:
    std::vector<int> members_;
    int failures_ = 0;
};

// ---- on one host, by the shrink agreement

// Gives a function that throws if a member will not come, unless all have come and one of them has
// confirmed the round.
std::function<void()> watch(const std::shared_ptr<transport::Segment> &segment, int me,
                            const std::vector<int> &members,
                            const std::shared_ptr<transport::ShrinkAgreement> &agreement) {
    return [=] {
        if (agreement->given_up())
            throw Error(Status::peer,
                        "another rank has found that a rank was lost during " + std::string(kCall));
        for (const int rank : members)
            if (const auto presence = segment->presence(rank);
                rank != me && presence != transport::Presence::here && agreement->give_up())
                throw Error(Status::peer,
                            segment->names().of(rank) + " " + words(presence) + " during " + kCall);
    };
}

std::uint64_t on_one_host(Communicator &old, std::uint64_t completed,
                          const std::function<void(const Child &)> &join) {
    const std::shared_ptr<transport::Segment> &segment = old.segment();
    const auto agreement =
        std::make_shared<transport::ShrinkAgreement>(*segment, old.rank(), completed);
    const std::string key = std::to_string(segment->header().key);
    for (Attempts attempts;;) {
        const transport::ShrinkAgreement::List list = agreement->hold(patience_ns(old));
        const std::string name = "shrink " + std::to_string(list.round);
        try {
            Child child = child_of(old, list.members, name, key + " " + name, kCall);
            child.origin.kind = bootstrap::RegisteredCommunicator::Kind::job;
            child.same_policy = true;
            child.origin.watch = watch(segment, old.rank(), list.members, agreement);
            join(child);
            if (agreement->confirm())
                return list.completed;
            throw Error(Status::peer, "another rank was lost during " + std::string(kCall));
        } catch (const Interruption &) {
            (void)agreement->give_up();
            throw;
        } catch (...) {
            if (!agreement->give_up())
                throw; // the other members have made the communicator, without this rank
            attempts.failed(list.members);
        }
    }
}

// ---- among hosts, by the control agents

// The exception that is being handled, as the failure that the other ranks are sent.
Error current_error() {
    try {
        throw;
    } catch (const Error &error) {
        return error;
    } catch (const std::bad_alloc &) {
        return {Status::memory, "no memory to go on after a failure"};
    } catch (const std::exception &error) {
        return {Status::system, error.what()};
    }
}

std::vector<int> members_of(const Communicator &old, const membership::View &view) {
    std::vector<int> ranks;
    for (int rank = 0; rank < old.size(); ++rank)
        if (view.members.has(old.reach().ranks[static_cast<std::size_t>(rank)]))
            ranks.push_back(rank);
    return ranks;
}

// A rank that returns from here may find that the new communicator has failed already, and shrink
// that one while other ranks are still in this function.  All of them meet in the next epoch: the
// name by which they meet depends on the epoch only, not on the communicator that they shrink.  The
// ranks that are still here have completed no call of the new communicator, and say so: after the
// first agreement they contribute 0.
std::uint64_t among_hosts(Communicator &old, std::uint64_t completed,
                          const std::function<void(const Child &)> &join) {
    const std::shared_ptr<bootstrap::FailureDetector> watch = old.reach().watch;
    std::uint32_t epoch = old.reach().epoch;
    Error failure = old.segment()->failure();
    std::optional<std::uint64_t> least;
    for (Attempts attempts;;) {
        const membership::View view =
            watch->shrink(epoch, failure, least ? 0 : completed, patience_ns(old));
        least = least.value_or(view.completed);
        epoch = view.epoch;
        const std::vector<int> members = members_of(old, view);
        try {
            const std::string name = "shrink " + std::to_string(epoch);
            Child child = child_of(old, members, name, name, kCall);
            child.origin.kind = bootstrap::RegisteredCommunicator::Kind::job;
            child.same_policy = true;
            child.origin.reach.epoch = epoch;
            child.origin.watch = [watch, epoch] {
                if (const auto ended = watch->ended(epoch))
                    throw *ended;
            };
            join(child);
            return *least;
        } catch (const Interruption &interruption) {
            watch->fail(epoch, interruption);
            throw;
        } catch (...) {
            failure = current_error();
            watch->fail(epoch, failure);
            attempts.failed(members);
        }
    }
}

} // namespace

std::uint64_t shrink(Communicator &old, const std::function<void(const Child &)> &join) {
    if (!old.of_job())
        throw Error(Status::unsupported,
                    std::string("a communicator that was made of another cannot shrink; shrink the "
                                "one of stretto_init (or what an earlier ") +
                        kCall + " gave), and make this one of the result again");
    if (!old.segment()->failed())
        throw Error(Status::argument,
                    "the communicator has not failed: there is nothing to go on from");
    old.quiesce();
    const std::uint64_t completed = old.queue().order().run([&] { return old.completed(); });
    return old.reach().watch != nullptr ? among_hosts(old, completed, join)
                                        : on_one_host(old, completed, join);
}

} // namespace stretto::comm
