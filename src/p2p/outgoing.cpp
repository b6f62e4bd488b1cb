// SPDX-License-Identifier: BSD-3-Clause
// Sending: announcements in the order of their sends, answers, and pieces of granted messages.
#include "p2p/messenger.hpp"

#include <algorithm>
#include <cstring>

namespace stretto::p2p {

using transport::Doorbell;
using transport::Frame;

void Messenger::open_outbox(int dest) {
    if (Peer &to = peer(dest); !to.out.is_open())
        to.out.open(*segment_, rank_, dest);
}

void Messenger::begin(Send &send) {
    if (!hold_back(send))
        go(send);
}

// If this throws, the send has ended.
void Messenger::go(Send &send) {
    Receive *taker = nullptr; // on this rank
    try {
        if (send.dest == rank_)
            taker = offer_to_self(send);
        else
            offer(send);
    } catch (...) {
        fail_transfers({&send});
    }
    if (taker != nullptr)
        deliver_own(*taker, send);
}

void Messenger::offer(Send &send) {
    const int dest = send.dest; // a send that was announced may be freed
    open_outbox(dest);
    Peer &to = peer(dest);
    if (to.announcements.empty() && announce(to, send))
        return wake(dest);
    to.announcements.push_back(&send);
    list(dest);
}

// Gives the receive that takes it now, if there is one.
Receive *Messenger::offer_to_self(Send &send) {
    Arrived *arrived = new_arrived();
    arrived->envelope = send.envelope;
    if (auto *const receive = static_cast<Receive *>(matcher_->arrive(*arrived))) {
        if (!waits_for_order(*receive)) {
            recycle(arrived);
            return receive;
        }
        keep(*receive, *arrived);
    } else {
        note_unexpected();
    }
    const std::size_t size = transport::frame_bytes(send.bytes);
    if (send.bytes > kEagerBytes || own_stored_ + size > kStoredBytes) {
        arrived->own = &send;
        arrived->frame.bytes = send.bytes;
        return nullptr;
    }
    own_stored_ += size;
    arrived->frame = {Frame::message,
                      send.envelope.context,
                      send.envelope.tag,
                      static_cast<std::uint32_t>(send.bytes),
                      send.bytes,
                      0,
                      0};
    arrived->payload.assign(send.data, send.data + send.bytes);
    end(send);
    return nullptr;
}

// Puts the first frame of a message into the receiver's mailbox; false if the mailbox is full.
bool Messenger::announce(Peer &to, Send &send) {
    const std::size_t size = transport::frame_bytes(send.bytes);
    // The receiver stores a limited number of bytes; beyond that, a message waits here for its CTS.
    const bool eager =
        send.bytes <= kEagerBytes && to.eager + size - to.out.released() <= kStoredBytes;
    const bool answered = !eager || send.purpose.exact();
    const transport::DevicePiece *const piece =
        send.device != nullptr && send.device->piece ? &*send.device->piece : nullptr;
    const std::size_t payload = eager ? send.bytes : piece != nullptr ? sizeof(*piece) : 0;
    const Frame frame{eager ? Frame::message : Frame::request,
                      send.envelope.context,
                      send.envelope.tag,
                      static_cast<std::uint32_t>(payload),
                      send.bytes,
                      answered ? next_id_ : 0,
                      eager ? 0 : heap_.offer(send.data, send.bytes)};
    if (!to.out.put(frame, eager ? send.data : reinterpret_cast<const std::byte *>(piece)))
        return false;
    if (eager)
        to.eager += size;
    if (answered)
        unanswered_.emplace(next_id_++, &send);
    else
        end(send);
    return true;
}

void Messenger::answer(int dest, Frame::Kind kind, std::uint64_t id, std::uint64_t bytes,
                       std::uint64_t where, bool partly) {
    open_outbox(dest);
    peer(dest).answers.push_back({kind, partly ? 1u : 0u, 0, 0, bytes, id, where});
    list(dest);
}

// Of a granted message, more bytes are ready.
void Messenger::queue(Send &send) {
    if (!send.queued)
        peer(send.dest).granted.push_back(&send);
    send.queued = true;
    list(send.dest);
}

// Puts as much output into the mailbox as has room; true if anything did.
bool Messenger::flush(int dest) {
    Peer &to = peer(dest);
    bool moved = false;
    for (; !to.answers.empty() && to.out.put(to.answers.front(), nullptr); moved = true)
        to.answers.pop_front();
    for (; !to.announcements.empty() && announce(to, *to.announcements.front()); moved = true)
        to.announcements.pop_front();
    // One piece of each message in turn, so that a long message does not block others.
    while (!to.granted.empty()) {
        Send &send = *to.granted.front();
        const std::size_t size = std::min<std::uint64_t>(send.ready - send.moved, kPieceBytes);
        const Frame frame{Frame::data, 0, 0, static_cast<std::uint32_t>(size), 0, send.where, 0};
        require_wait(send);
        if (!to.out.put(frame,
                        send.copied ? send.device->ring->at(send.moved) : send.data + send.moved))
            break;
        moved = true;
        send.moved += size;
        send.queued = send.moved != send.ready;
        if (send.queued)
            to.granted.push_back(&send);
        to.granted.pop_front();
        if (send.moved == send.granted && !send.partly && !send.copied)
            end(send);
    }
    if (moved)
        wake(dest);
    return moved;
}

bool Messenger::flush_all() {
    bool moved = false;
    std::erase_if(listed_, [&](int dest) {
        moved = flush(dest) || moved;
        Peer &to = peer(dest);
        to.listed = !to.answers.empty() || !to.announcements.empty() || !to.granted.empty();
        return !to.listed;
    });
    output_.store(!listed_.empty(), std::memory_order_relaxed);
    return moved;
}

void Messenger::list(int dest) {
    if (peer(dest).listed)
        return;
    peer(dest).listed = true;
    listed_.push_back(dest);
    output_.store(true, std::memory_order_relaxed);
}

void Messenger::wake(int rank) {
    if (transport::anybody_sleeps(segment_->header().signals)) [[unlikely]]
        Doorbell(*segment_, rank).ring();
}

} // namespace stretto::p2p
