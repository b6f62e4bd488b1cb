// SPDX-License-Identifier: BSD-3-Clause
#include "net/connection_role.hpp"

#include <array>

namespace stretto::net {

namespace {

constexpr char kSameSecret[] =
    "all ranks need the same secret (STRETTO_SECRET, or the file that STRETTO_SECRET_FILE names), "
    "and the address at which they meet letter by letter the same (STRETTO_ADDR, or MASTER_ADDR "
    "and "
    "MASTER_PORT)";

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

} // namespace

std::string_view name(ConnectionKind kind) {
    switch (kind) {
    case ConnectionKind::rendezvous: return "rendezvous";
    case ConnectionKind::data: return "data";
    case ConnectionKind::control: return "control";
    }
    return "unknown";
}

std::string in_words(const ConnectionRole &purpose) {
    return std::string(name(purpose.kind)) + " connection " + number(purpose.channel) +
           " of rank " + number(purpose.from) + " to rank " + number(purpose.to);
}

std::string_view name(Refusal refusal) {
    constexpr std::array<std::string_view, kRefusals> names = {
        "stranger", "reflection", "secret", "protocol", "rank",        "epoch",
        "unwanted", "late",       "closed", "crowded",  "descriptors", "unreachable"};
    return names[static_cast<std::size_t>(refusal)];
}

std::string told_to_initiator(Refusal refusal, const Other &other) {
    switch (refusal) {
    case Refusal::stranger:
        return "is no rank of a Stretto job" +
               (other.first_bytes.empty() ? "" : " (it says '" + other.first_bytes + "')") +
               "; check the address and the port";
    case Refusal::reflection: return "sends back what it is sent; check the address and the port";
    case Refusal::secret:
        return std::string("does not know this job's secret, or knows another one; ") + kSameSecret;
    case Refusal::protocol:
        return "speaks version " + number(other.protocol) + " of the protocol, this rank version " +
               number(other.purpose.protocol) + "; install the same Stretto on all hosts";
    case Refusal::rank:
        return "is rank " + number(other.rank) + ", which does not take a " +
               in_words(other.purpose) + "; give every rank a listener of its own";
    case Refusal::epoch:
        return "is in epoch " + number(other.epoch) + " of the job, this rank in epoch " +
               number(other.purpose.epoch) +
               "; ranks that the job has gone on without cannot come back to it";
    case Refusal::unwanted:
        return "does not want a " + in_words(other.purpose) +
               "; most likely two processes say that they are rank " + number(other.purpose.from);
    case Refusal::late: return "did not answer in time; see whether it is stopped or overloaded";
    case Refusal::closed: return "closed the connection before it was agreed on";
    case Refusal::crowded: return "had no room for one more connection";
    case Refusal::descriptors: return "had no descriptors left; raise the limit (ulimit -n)";
    case Refusal::unreachable: return "could not be reached";
    }
    return "refused";
}

std::string told_to_responder(Refusal refusal, const Other &other) {
    const ConnectionRole &claim = other.purpose;
    switch (refusal) {
    case Refusal::stranger:
        return "it is no rank of a Stretto job" +
               (other.first_bytes.empty() ? "" : " (it says '" + other.first_bytes + "')");
    case Refusal::reflection: return "it sends back this rank's own greeting";
    case Refusal::secret:
        return "it says that it is rank " + number(claim.from) +
               ", but does not know this job's secret; " + kSameSecret;
    case Refusal::protocol:
        return "rank " + number(claim.from) + " speaks version " + number(claim.protocol) +
               " of the protocol, this rank version " + number(other.protocol) +
               "; install the same Stretto on all hosts";
    case Refusal::rank:
        return "it asks for a " + in_words(claim) + ", and this is rank " + number(other.rank);
    case Refusal::epoch:
        return "rank " + number(claim.from) + " is in epoch " + number(claim.epoch) +
               " of the job, this rank in epoch " + number(other.epoch);
    case Refusal::unwanted: return "it asks for a " + in_words(claim) + " that is not wanted";
    case Refusal::late: return "it did not prove in time that it knows this job's secret";
    case Refusal::closed: return "it closed the connection before it was agreed on";
    case Refusal::crowded: return "it had to make room for others that wait to be let in";
    case Refusal::descriptors:
        return "this process has no descriptors left; raise the limit (ulimit -n)";
    case Refusal::unreachable: return "it could not be reached";
    }
    return "refused";
}

} // namespace stretto::net
