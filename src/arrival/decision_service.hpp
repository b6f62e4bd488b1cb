// SPDX-License-Identifier: BSD-3-Clause
// Decisions that all ranks of a job share, as calls need them: one rank, the coordinator, decides
// for a key, and all ranks get the value that it has decided.
//
// A rank that computes holds up nobody: the thread of its membership agent collects what ranks
// tell, and a thread in the background does what takes long.  So a rank that prices candidates or
// compiles a plan answers other ranks at once as well.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "arrival/notices.hpp"
#include "membership/agent.hpp"

namespace stretto::arrival {

class DecisionService {
public:
    virtual ~DecisionService() = default;

    // What the clocks of the job's ranks are apart, once that is known.
    virtual std::optional<membership::Offsets> clocks() const = 0;
    // This rank tells the coordinator of a key, a rank of the job, a number: for a call to come, by
    // how many nanoseconds it will come later than expected.  It may say so again.  Waits for
    // nobody.
    virtual void notify(std::uint64_t key, int coordinator, std::int64_t number) = 0;

    struct Heard {
        Deviations told; // by ranks that know something beforehand
        int from;        // which rank of the job asks; or nobody: it is time
        std::uint64_t now;
        Notices &notices; // what was told of other keys
    };
    // Finds the value in the background.  If it throws, the value is "".
    using Work = std::function<std::string()>;
    using Outcome = std::variant<membership::Answer, Work>;
    using Decision = std::function<Outcome(const Heard &heard)>;
    // At the coordinator: how it decides for a key, whenever a rank asks, until there is an answer
    // or work.  The agent's thread calls it: it looks at what was heard, and leaves to the work
    // whatever takes long.
    virtual void decide_by(std::uint64_t key, Decision decision) = 0;
    // At the coordinator: it decides before that time of now_ns(), unasked, but as late as
    // the time that earlier decisions took allows.
    virtual void decide_before(std::uint64_t key, std::uint64_t time) = 0;
    // Does something in the background with the decided value, as soon as this rank has it.
    using Consequence = std::function<void(const std::string &decided)>;
    virtual void when_decided(std::uint64_t key, Consequence consequence) = 0;
    // The decided value, or "": the same for all ranks that ask.  They wait for the coordinator's
    // agent and its work at most, and do something else now and then.  Throws Error(revoked) if the
    // epoch ends first.
    virtual std::string decided(std::uint64_t key, int coordinator,
                                const std::function<void()> &meanwhile) = 0;
    // Nobody asks for keys from the first one up to, but without, the other any more.
    virtual void forget(std::uint64_t from, std::uint64_t below) = 0;

    // Does something in the background.
    virtual void soon(std::function<void()> job) = 0;
    // The agent's thread does at this time of now_ns() what is due for communicators.
    virtual void come_round(std::uint64_t time) = 0;
};

} // namespace stretto::arrival
