// SPDX-License-Identifier: BSD-3-Clause
// The mailbox path of LinkedPeers.  All functions need the lock.
#include <algorithm>

#include "transport/remote/linked_peers.hpp"

namespace stretto::transport {

// A reader reports to the writer after it has read this much of a mailbox.
static constexpr std::uint64_t kReportReadBytes = kMailRingBytes / 4;

// Sends the new bytes of this rank's mailbox to `rank`, each lap of its ring by itself, and in
// packets that are as long as the links take them.
void LinkedPeers::post_mail(int rank) {
    Peer &to = peer(rank);
    if (to.out == nullptr)
        return;
    const std::uint64_t written = to.out->written.load(std::memory_order_acquire);
    const auto *ring = reinterpret_cast<const std::byte *>(to.out + 1);
    const std::uint64_t most = links_->most_mail_bytes();
    while (to.mailed != written) {
        const std::uint64_t at = to.mailed % kMailRingBytes;
        const auto length =
            static_cast<std::uint32_t>(std::min({written - to.mailed, kMailRingBytes - at, most}));
        const std::uint8_t more = to.mailed + length != written ? WireMessage::kMore : 0;
        send(rank, {WireMessage::mail, more, length, to.mailed, 0, 0}, ring + at);
        to.mailed += length;
    }
}

// Reports how far this rank has read the mailbox of `rank`, when the writer may need it.
void LinkedPeers::report_read(int rank) {
    Peer &from = peer(rank);
    if (from.in == nullptr)
        return;
    const std::uint64_t read = from.in->read.load(std::memory_order_acquire);
    const std::uint64_t released = from.in->released.load(std::memory_order_acquire);
    if (read - from.reported_read < kReportReadBytes &&
        released - from.reported_released < kReportReadBytes)
        return;
    from.reported_read = read;
    from.reported_released = released;
    send(rank, WireMessage::read, read, released);
}

void LinkedPeers::take_mail(int from, const WireMessage &packet) {
    Peer &sender = peer(from);
    if (sender.in == nullptr || (packet.flags & WireMessage::kMore) != 0)
        return;
    sender.in->written.store(packet.position + packet.length, std::memory_order_release);
    segment_.pending(rank_)[from / 64].fetch_or(1ull << (from % 64), std::memory_order_seq_cst);
}

} // namespace stretto::transport
