// SPDX-License-Identifier: BSD-3-Clause
// A member of a host: greets the leader, and attaches to the segment that the leader hands out.
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <new>
#include <optional>
#include <utility>

#include "base/interrupted.hpp"
#include "bootstrap/local/local_segment.hpp"
#include "bootstrap/local/packets.hpp"

namespace stretto::bootstrap {

using transport::Segment;

namespace {

Error other_version() {
    return Error(Status::mismatch,
                 "the ranks of this job run different versions of Stretto; install one version");
}

Error no_word(const LocalMeeting &meeting, bool welcome) {
    const Identity &me = meeting.me;
    const std::string rank = "rank " + std::to_string(me.rank), leader = meeting.leader_name();
    if (welcome)
        return Error(Status::timeout, me.words() + " was not complete within " +
                                          meeting.patience.seconds() + "; " + leader + " has let " +
                                          rank +
                                          " in, and knows who is missing: look at its output");
    return Error(Status::timeout, rank + " has called " + leader + " of " + me.words() +
                                      ", which has not answered within " +
                                      meeting.patience.seconds() + "; is it stopped?");
}

// What a leader hands out.
struct HandOut {
    int leader = 0;
    Packet packet; // the memory of the job; of several hosts the table
};

HandOut check_hand_out(const LocalMeeting &meeting, Packet packet, const std::string &message) {
    HandOut handed;
    const char *end = message.data() + message.size();
    const auto read = std::from_chars(message.data(), end, handed.leader);
    if (read.ec != std::errc() || read.ptr != end || handed.leader < 0 ||
        handed.leader >= meeting.me.size)
        throw other_version();
    const std::size_t expected = meeting.hosts == nullptr ? 1 : 2;
    if (packet.descriptor_count != expected)
        throw Error(Status::system, "rank " + std::to_string(meeting.me.rank) +
                                        " has no descriptors left for the shared memory of its "
                                        "host; raise the limit of open files (ulimit -n)");
    handed.packet = std::move(packet);
    return handed;
}

// Nothing, if the other side has closed the connection before it has admitted this rank.  Throws
// what the leader says instead.
std::optional<HandOut> greet(const LocalMeeting &meeting, int socket) {
    const std::vector<std::byte> greeting = write(own_record(meeting));
    const ssize_t sent =
        uninterrupted([&] { return send(socket, greeting.data(), greeting.size(), MSG_NOSIGNAL); });
    // If the leader has closed the connection, it may have said why before.
    if (sent < 0 && errno != EPIPE && errno != ECONNRESET)
        throw_errno("cannot talk to " + meeting.leader_name());
    for (bool welcome = false;;) {
        constexpr int kPollMs = 100;
        while (!readable(socket, kPollMs)) {
            meeting.patience.watch();
            if (meeting.patience.ended_for_word())
                throw no_word(meeting, welcome);
        }
        std::array<std::byte, kAnswerBytes> bytes;
        Packet packet = receive(socket, bytes);
        if (packet.size == 0 && !welcome)
            return std::nullopt;
        if (packet.size == 0)
            throw Error(Status::peer, meeting.leader_name() + " has died before " +
                                          meeting.me.words() + " was complete; look at its output");
        const auto answer = packet.size == bytes.size() ? parse_answer(bytes) : std::nullopt;
        if (!answer)
            throw other_version();
        if (answer->status != Status::ok)
            throw Error(answer->status, answer->message);
        if (answer->message != kWelcome)
            return check_hand_out(meeting, std::move(packet), answer->message);
        welcome = true;
    }
}

LocalSegment attach(const LocalMeeting &meeting, HandOut handed, Descriptor &socket) {
    LocalSegment local{nullptr, std::vector<Descriptor>(static_cast<std::size_t>(meeting.me.size)),
                       handed.leader};
    auto &[memory, table] = handed.packet.descriptors;
    const transport::Placement placement =
        meeting.hosts != nullptr ? meeting.hosts->read(table.get()) : transport::Placement();
    local.segment = Segment::attach(std::move(memory), placement);
    local.sockets[static_cast<std::size_t>(local.leader)] = std::move(socket);
    return local;
}

} // namespace

std::optional<LocalSegment> join_leader(const LocalMeeting &meeting, Descriptor socket) {
    try {
        auto handed = greet(meeting, socket.get());
        if (!handed)
            return std::nullopt;
        return attach(meeting, std::move(*handed), socket);
    } catch (const Error &error) {
        send_answer(socket.get(), error.status(), error.what());
        throw;
    } catch (const std::bad_alloc &) {
        char why[64];
        std::snprintf(why, sizeof(why), "rank %d has no memory to join the job", meeting.me.rank);
        send_answer(socket.get(), Status::memory, why);
        throw;
    }
}

} // namespace stretto::bootstrap
