// SPDX-License-Identifier: BSD-3-Clause
// The messages of agents, and their bytes.
//
// Every message carries the epoch of its sender.  The sender has proved that it belongs to the job.
// The message is checked nevertheless: parse() accepts exactly the bytes that write() makes.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "membership/view.hpp"

namespace stretto::membership {

// The text of a reason or of a wait report; a longer one is cut.
inline constexpr std::size_t kMostTextBytes = 1024;
inline constexpr std::size_t kMostDecisionBytes = 1024; // a decided value

// ---- the protocol of members (member.hpp)

// "I am in this epoch."  If the receiver is in a later epoch, it answers with its view.
struct Beat {
    friend auto operator<=>(const Beat &, const Beat &) = default;
};
// The epoch has ended.  Flooded; each further one carries a further accusation.
struct Revoke {
    Reason reason;
    friend auto operator<=>(const Revoke &, const Revoke &) = default;
};
// The five messages of an agreement (agreement.hpp).
struct Prepare {
    Ballot ballot;
    friend auto operator<=>(const Prepare &, const Prepare &) = default;
};
struct Promise {
    Ballot ballot;
    std::uint64_t completed = 0; // calls that the sender has completed in this epoch
    std::optional<Vote> accepted;
    friend auto operator<=>(const Promise &, const Promise &) = default;
};
struct Refuse {
    Ballot promised; // the higher ballot that the sender has promised
    friend auto operator<=>(const Refuse &, const Refuse &) = default;
};
struct Propose {
    Vote vote;
    friend auto operator<=>(const Propose &, const Propose &) = default;
};
struct Accept {
    Ballot ballot;
    friend auto operator<=>(const Accept &, const Accept &) = default;
};
// The view that follows the message's epoch.  Flooded, and sent to a member that has missed it.
struct DecidedView {
    View view;
    friend auto operator<=>(const DecidedView &, const DecidedView &) = default;
};
// A shared decision (decision_log.hpp).
struct Ask {
    std::uint64_t key = 0;
    std::string value; // what the asker would choose
    friend auto operator<=>(const Ask &, const Ask &) = default;
};
struct DecidedValue {
    std::uint64_t key = 0;
    std::string value;
    friend auto operator<=>(const DecidedValue &, const DecidedValue &) = default;
};

// ---- services of the agent (agent.hpp)

// A heartbeat, and a reading of clocks: the answer repeats `sent`, a time by the sender's clock.
struct Ping {
    std::uint64_t sent = 0;
    friend auto operator<=>(const Ping &, const Ping &) = default;
};
struct Pong {
    std::uint64_t sent = 0;              // of the ping
    std::uint64_t arrived = 0, left = 0; // by the clock of the rank that answers
    friend auto operator<=>(const Pong &, const Pong &) = default;
};
// What to add to the sender's clock to get the reference's, in nanoseconds, give or take `error`.
struct Offset {
    std::int64_t offset = 0;
    std::uint64_t error = 0;
    friend auto operator<=>(const Offset &, const Offset &) = default;
};
// The table of all offsets, by rank (clocks.hpp).
struct Offsets {
    std::uint32_t version = 0;
    std::int32_t reference = kNoRank;
    std::vector<std::int64_t> of_rank;
    friend auto operator<=>(const Offsets &, const Offsets &) = default;
};
// Asks for a wait report; the answer is Here.
struct Where {
    std::uint64_t ticket = 0;
    friend auto operator<=>(const Where &, const Where &) = default;
};
struct WaitReport {
    std::uint64_t call = 0; // number of the collective call
    std::uint64_t steps = 0, of_steps = 0;
    std::int32_t waits_for = kNoRank;
    std::string what; // "allreduce of 1024 f32, ring"; "" if the rank is in no call
    friend auto operator<=>(const WaitReport &, const WaitReport &) = default;
};
struct Here {
    std::uint64_t ticket = 0;
    WaitReport wait_report;
    friend auto operator<=>(const Here &, const Here &) = default;
};
// The sender's last message: it leaves the job without a failure.
struct Bye {
    friend auto operator<=>(const Bye &, const Bye &) = default;
};

// A value for the coordinator of a shared decision, which it may use to decide.  Ignored if the
// decision is made already.
struct Notice {
    std::uint64_t key = 0;
    std::int64_t value = 0;
    friend auto operator<=>(const Notice &, const Notice &) = default;
};

// On the wire, a body's kind is its place in this list.
using Body = std::variant<Beat, Revoke, Prepare, Promise, Refuse, Propose, Accept, DecidedView, Ask,
                          DecidedValue, Ping, Pong, Offset, Offsets, Where, Here, Bye, Notice>;

struct Message {
    std::uint32_t epoch = 0; // of the sender; of DecidedView: the epoch that the view ends
    Body body;
    friend auto operator<=>(const Message &, const Message &) = default;
};

// The bytes of the longest message in a job of so many ranks.
std::size_t most_bytes(int ranks);

std::vector<std::byte> write(const Message &message);

struct Parsed {
    std::optional<Message> message;
    std::string_view error = ""; // why there is no message
};
// Reads a message of a job of so many ranks.
Parsed parse(std::span<const std::byte> bytes, int ranks);

} // namespace stretto::membership
