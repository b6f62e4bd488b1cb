// SPDX-License-Identifier: BSD-3-Clause
// Passes that ranks delegate to another one (transport/shm/delegation.hpp): those that this rank
// has posted, and those that it launches for others.
//
// Ranks need not agree.  The delegate of a pass is the lowest rank of its device that launches for
// others and has opened all memory of the pass.  If that is this rank or one of its process, or if
// there is none, the rank launches the pass itself.  It does so as well if the delegate does not
// take the pass soon.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/executor.hpp"
#include "transport/shm/delegation.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::engine {

// Which ranks of a device launch passes.
enum class Launches : std::uint8_t {
    own,         // each its own
    one_process, // one for all, if it takes them soon
    always_one   // the same, and waits longer for it
};

// Whether the driver of a rank sees the process of another one, so not in another container.
inline bool same_processes(const transport::LineBlock &mine, const transport::LineBlock &its) {
    const std::uint64_t space = mine.pid_namespace.load(std::memory_order_relaxed);
    return space != 0 && space == its.pid_namespace.load(std::memory_order_relaxed);
}

// Nothing here locks anything: one thread at a time, as in the engine.
class PassDelegation {
public:
    PassDelegation(transport::Segment &segment, int rank, transport::SharedDevice *devices,
                   Executor &executor, Launches launches);
    ~PassDelegation();
    PassDelegation(const PassDelegation &) = delete;
    PassDelegation &operator=(const PassDelegation &) = delete;

    // Whether this rank may post a pass now: looked at before one is described.
    bool may_post() const { return launches_ != Launches::own && rank_ != 0 && ~in_flight_ != 0; }
    // Room for the pass that is delegated next.
    transport::DelegatedPass &next() { return next_; }
    // Posts it, if may_post(); its number.  Nothing: this rank launches the pass itself.
    std::optional<std::uint32_t> post();
    // What has become of a pass.  When it is not pending, its number is free again.
    enum class Fate : std::uint8_t {
        pending,
        complete,
        failed,   // error() says why
        returned, // this rank launches the pass itself
    };
    Fate look(std::uint32_t number);
    const std::optional<Error> &error() const { return error_; }
    int delegate_of(std::uint32_t number) const { return mine_.slots[number].delegate(); }
    // The call is abandoned: takes the pass back; false if its delegate has taken it, and it has
    // not ended.
    bool withdraw(std::uint32_t number);
    // The same, and waits for that, unless the delegate dies or is stuck.
    void withdraw_and_wait(std::uint32_t number);

    // Launches what others have posted.  For threads that look again soon.
    void serve();
    // Tells those whose passes have ended.  For any thread that moves calls.
    void report();
    // Returns when all have ended.
    void settle();
    std::size_t launching() const { return taken_.size(); }

private:
    struct Taken {
        transport::Delegation *delegation = nullptr;
        int poster = 0;
        Completion completion;
    };
    struct Posted {
        std::uint64_t since_ns = 0, looked_ns = 0;
    };
    bool can_launch(int rank) const;
    int find_delegate() const;
    void rest(std::uint64_t posted_ns);
    bool take_posted();
    void consider(int poster, transport::Delegation &delegation);
    bool translate(const transport::DelegatedPass &pass);
    void launch(Taken &taken, const transport::DelegatedPass &pass);
    void announce() {
        mine_.launching.store(static_cast<std::uint32_t>(taken_.size()), std::memory_order_seq_cst);
    }

    transport::Segment &segment_;
    const transport::Signals &signals_;
    const int rank_;
    transport::SharedDevice *const devices_;
    transport::Delegations &mine_;
    Executor &executor_;
    const Launches launches_;

    // As a poster.
    transport::DelegatedPass next_;
    std::array<Posted, transport::Delegations::kSlots> posted_{};
    std::uint32_t in_flight_ = 0; // bit set
    std::optional<Error> error_;
    // Passes that this rank launches itself before it delegates the next one, since its delegate
    // was late, and how many it was the last time.
    std::uint32_t rest_ = 0, last_rest_ = 0;
    std::uint64_t missed_ns_ = 0;

    // As a delegate.
    static constexpr std::size_t kMostTakenPasses = 64;
    std::vector<std::unique_ptr<Taken>> taken_, spare_;
    std::uint64_t seen_ = 0; // of the passes that were posted for this rank
    transport::DelegatedPass pass_;
    std::vector<const void *> ins_;
    std::vector<void *> outs_;
};

} // namespace stretto::engine
