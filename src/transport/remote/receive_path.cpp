// SPDX-License-Identifier: BSD-3-Clause
// The receive path of LinkedPeers.  All functions need the lock, but those that take it.
#include <algorithm>
#include <exception>

#include "transport/remote/linked_peers.hpp"
#include "transport/remote/put_window.hpp"

namespace stretto::transport {

namespace {

void raise(std::atomic<std::uint64_t> &value, std::uint64_t to) {
    std::uint64_t known = value.load(std::memory_order_relaxed);
    while (known < to && !value.compare_exchange_weak(known, to, std::memory_order_release,
                                                      std::memory_order_relaxed)) {
    }
}

} // namespace

void LinkedPeers::add_memory_user(MemoryUser &user) {
    const std::lock_guard lock(mutex_);
    pool_.add_user(user);
    try { // what one rank may have on its way: later calls grow the pool only if more is
        pool_.reserve(segment_.ring_bytes());
    } catch (const std::exception &) { // payloads take as much as there is
    }
}

void LinkedPeers::remove_memory_user(MemoryUser &user) noexcept {
    const std::lock_guard lock(mutex_);
    pool_.remove_user(user);
}

std::byte *LinkedPeers::place(int from, const WireMessage &packet) {
    Peer &sender = peer(from);
    switch (packet.kind) {
    case WireMessage::cell: {
        if (packet.length > segment_.ring_bytes() - kCellHeaderBytes ||
            packet.position % kLineBytes != 0)
            return nullptr;
        const std::uint64_t cell = packet.position & (segment_.ring_bytes() - 1);
        if ((packet.flags & WireMessage::kBulk) != 0 ||
            packet.length >= RemotePayloads::kLeastBytes) {
            segment_.open_mirror(from, cell, kCellHeaderBytes);
            return payloads_[static_cast<std::size_t>(from)].place(packet);
        }
        segment_.open_mirror(from, cell, kCellHeaderBytes + packet.length);
        return segment_.cells(from) + cell + kCellHeaderBytes;
    }
    case WireMessage::mail: {
        const std::uint64_t at = packet.position % kMailRingBytes;
        if (packet.length > kMailRingBytes - at)
            return nullptr;
        if (sender.in == nullptr) {
            segment_.open_mailbox(from, rank_);
            sender.in = reinterpret_cast<MailboxHead *>(segment_.mailbox(from, rank_));
        }
        return reinterpret_cast<std::byte *>(sender.in + 1) + at;
    }
    case WireMessage::failure:
        if (packet.length > sizeof(FailureRecord::message))
            return nullptr;
        sender.failure.resize(packet.length);
        return reinterpret_cast<std::byte *>(sender.failure.data());
    case WireMessage::entries:
        return packet.length == sizeof(Account) ? reinterpret_cast<std::byte *>(&sender.account)
                                                : nullptr;
    case WireMessage::padding:
        padding_.resize(kPaddingBytes);
        return packet.length <= kPaddingBytes ? padding_.data() : nullptr;
    default: return nullptr; // has no payload
    }
}

void LinkedPeers::arrived(int from, const WireMessage &packet) {
    if (packet.kind == WireMessage::padding)
        return;
    Peer &sender = peer(from);
    LineBlock &lines = segment_.lines(from);
    sender.received += packet.length;
    if (traffic_ != nullptr && packet.length != 0)
        traffic_->received(from, packet.length, sender.received);
    switch (packet.kind) {
    case WireMessage::cell: take_cell(from, packet); break;
    case WireMessage::want:
        // If there are too many marks, the sender asks.
        if (const auto free = std::find(sender.marks.begin(), sender.marks.end(), 0);
            free != sender.marks.end())
            expect(from, *free, packet.position);
        break;
    case WireMessage::await: expect(from, sender.awaited, packet.position); break;
    case WireMessage::progress: raise(lines.progress, packet.position); break;
    case WireMessage::mail: take_mail(from, packet); break;
    case WireMessage::read:
        if (sender.out != nullptr) {
            sender.out->read.store(packet.position, std::memory_order_release);
            sender.out->released.store(packet.flag, std::memory_order_release);
        }
        break;
    case WireMessage::failure:
        segment_.fail(static_cast<Status>(packet.flag), sender.failure);
        break;
    case WireMessage::inquire: answer(from); break;
    case WireMessage::entries: take_account(from, packet.position); break;
    case WireMessage::leave:
        raise(lines.progress, packet.position);
        lines.left.store(1, std::memory_order_release);
        break;
    default: break;
    }
}

void LinkedPeers::take_cell(int from, const WireMessage &packet) {
    const std::uint64_t mask = segment_.ring_bytes() - 1;
    if (packet.position % kLineBytes != 0)
        return;
    if (packet.length == 0) // no place was requested for this payload
        segment_.open_mirror(from, packet.position & mask, kCellHeaderBytes);
    auto &cell = *reinterpret_cast<Cell *>(segment_.cells(from) + (packet.position & mask));
    if (is_placed(packet)) {
        cell.where = location_in_window(packet, segment_.ring_bytes());
    } else {
        const std::byte *const payload =
            payloads_[static_cast<std::size_t>(from)].at(packet.position);
        cell.where = payload != nullptr
                         ? Location{Location::In::bulk, payload - segment_.bulk(from)}
                         : Location{Location::In::cell};
    }
    publish(cell, packet.flag);
    peer(from).come = packet.position + 1;
}

void LinkedPeers::broken(int rank, const std::string &) {
    segment_.lines(rank).lost.store(1, std::memory_order_release);
}

void LinkedPeers::take_account(int from, std::uint64_t progress) {
    Peer &sender = peer(from);
    sender.inquired = false;
    LineBlock &lines = segment_.lines(from);
    raise(lines.progress, progress);
    for (std::size_t i = 0; i < kEntries; ++i) {
        const Account::SentCall &sent = sender.account.calls[i];
        Entry &entry = lines.entries[i];
        if (sent.sequence > entry.sequence.load(std::memory_order_relaxed))
            enter(entry,
                  {sent.sequence, sent.signature, sent.count, sent.packed, 0, sent.parameters});
    }
    lines.wait_state.store(sender.account.wait_state | WaitState::kAnsweredFlag,
                           std::memory_order_release);
}

} // namespace stretto::transport
