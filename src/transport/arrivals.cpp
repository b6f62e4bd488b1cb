// SPDX-License-Identifier: BSD-3-Clause
// What a carrier does with what comes from other hosts: all of it with the lock.
#include <algorithm>

#include "transport/carrier.hpp"

namespace stretto::transport {

namespace {

void raise(std::atomic<std::uint64_t> &value, std::uint64_t to) {
    std::uint64_t known = value.load(std::memory_order_relaxed);
    while (known < to && !value.compare_exchange_weak(known, to, std::memory_order_release,
                                                      std::memory_order_relaxed)) {
    }
}

} // namespace

std::byte *Carrier::place(int from, const Parcel &parcel) {
    Peer &sender = peer(from);
    switch (parcel.kind) {
    case Parcel::cell: {
        if (parcel.length > segment_.ring_bytes() - kCellHeader || parcel.position % kLine != 0)
            return nullptr;
        const std::uint64_t cell = parcel.position & (segment_.ring_bytes() - 1);
        if ((parcel.flags & Parcel::kBulk) != 0 || parcel.length >= Payloads::kLeast) {
            segment_.open_mirror(from, cell, kCellHeader);
            return payloads_[static_cast<std::size_t>(from)].place(parcel);
        }
        segment_.open_mirror(from, cell, kCellHeader + parcel.length);
        return segment_.cells(from) + cell + kCellHeader;
    }
    case Parcel::mail: {
        const std::uint64_t at = parcel.position % kMailRing;
        if (parcel.length > kMailRing - at)
            return nullptr;
        if (sender.in == nullptr) {
            segment_.open_mailbox(from, rank_);
            sender.in = reinterpret_cast<MailboxHead *>(segment_.mailbox(from, rank_));
        }
        return reinterpret_cast<std::byte *>(sender.in + 1) + at;
    }
    case Parcel::failure:
        if (parcel.length > sizeof(Board::message))
            return nullptr;
        sender.failure.resize(parcel.length);
        return reinterpret_cast<std::byte *>(sender.failure.data());
    case Parcel::entries:
        return parcel.length == sizeof(Account) ? reinterpret_cast<std::byte *>(&sender.account)
                                                : nullptr;
    case Parcel::padding:
        padding_.resize(kPadding);
        return parcel.length <= kPadding ? padding_.data() : nullptr;
    default: return nullptr; // has no payload
    }
}

void Carrier::arrived(int from, const Parcel &parcel) {
    if (parcel.kind == Parcel::padding)
        return;
    Peer &sender = peer(from);
    LineBlock &lines = segment_.lines(from);
    sender.received += parcel.length;
    if (traffic_ != nullptr && parcel.length != 0)
        traffic_->received(from, parcel.length, sender.received);
    switch (parcel.kind) {
    case Parcel::cell: take_cell(from, parcel); break;
    case Parcel::want:
        // If there are too many, the sender asks.
        if (const auto free = std::find(sender.marks.begin(), sender.marks.end(), 0);
            free != sender.marks.end())
            *free = parcel.position;
        tell(from);
        break;
    case Parcel::await:
        sender.awaited = parcel.position; // one at a time
        tell(from);
        break;
    case Parcel::progress: raise(lines.progress, parcel.position); break;
    case Parcel::mail: take_mail(from, parcel); break;
    case Parcel::read:
        if (sender.out != nullptr) {
            sender.out->read.store(parcel.position, std::memory_order_release);
            sender.out->released.store(parcel.flag, std::memory_order_release);
        }
        break;
    case Parcel::failure: segment_.fail(static_cast<Status>(parcel.flag), sender.failure); break;
    case Parcel::inquire: answer(from); break;
    case Parcel::entries: take_account(from, parcel.position); break;
    case Parcel::leave:
        raise(lines.progress, parcel.position);
        lines.left.store(1, std::memory_order_release);
        break;
    default: break;
    }
}

void Carrier::take_cell(int from, const Parcel &parcel) {
    const std::uint64_t mask = segment_.ring_bytes() - 1;
    if (parcel.position % kLine != 0)
        return;
    if (parcel.length == 0) // nobody has asked for a place
        segment_.open_mirror(from, parcel.position & mask, kCellHeader);
    auto &cell = *reinterpret_cast<Cell *>(segment_.cells(from) + (parcel.position & mask));
    const std::byte *const payload = payloads_[static_cast<std::size_t>(from)].at(parcel.position);
    cell.where =
        payload != nullptr ? at(Where::bulk, payload - segment_.bulk(from)) : at(Where::here);
    publish(cell, parcel.flag);
    peer(from).come = parcel.position + 1;
}

void Carrier::broken(int rank, const std::string &) {
    segment_.lines(rank).lost.store(1, std::memory_order_release);
}

void Carrier::take_account(int from, std::uint64_t progress) {
    Peer &sender = peer(from);
    sender.inquired = false;
    LineBlock &lines = segment_.lines(from);
    raise(lines.progress, progress);
    for (std::size_t i = 0; i < kEntries; ++i) {
        const Account::Said &said = sender.account.calls[i];
        Entry &entry = lines.entries[i];
        if (said.sequence > entry.sequence.load(std::memory_order_relaxed))
            enter(entry,
                  {said.sequence, said.signature, said.count, said.what, 0, said.parameters});
    }
    lines.standing.store(sender.account.standing | Standing::kAnswered, std::memory_order_release);
}

} // namespace stretto::transport
