// SPDX-License-Identifier: BSD-3-Clause
// Messages whose buffer on this rank is in memory of a device.  Every thread that moves messages
// also asks the executor, and begins the next copies.  So a copy that ends is progress like a frame
// that comes; while copies are on their way, no thread of the rank sleeps longer than
// longest_nap().
#include <algorithm>
#include <thread>

#include "engine/plan.hpp"
#include "p2p/messenger.hpp"

namespace stretto::p2p {

using engine::Executor;
using transport::Frame;
using transport::Payload;
using Way = StagingRing::Way;

// Runs `body`, which copies for a message; an error of the executor becomes one of the message.
template<class Body>
bool Messenger::copying(const Transfer &transfer, const Body &body) {
    require_wait(transfer);
    try {
        return body();
    } catch (const Error &why) {
        throw copy_error(transfer, why);
    }
}

void Messenger::prepare(Transfer &transfer, MemoryKind memory) {
    if (memory == MemoryKind::host)
        return;
    transfer.device = std::make_unique<DeviceCopies>(*engine::executor_of(memory));
}

// The data of a short message are copied at once: then it is like one from host memory.
void Messenger::prepare(Send &send, MemoryKind memory) {
    if (memory == MemoryKind::host || send.bytes > kEagerBytes) {
        prepare(static_cast<Transfer &>(send), memory);
        return offer_piece(send);
    }
    send.host_copy = std::make_unique_for_overwrite<std::byte[]>(send.bytes);
    copying(send, [&] {
        engine::executor_of(memory)->copy(send.host_copy.get(), send.data, send.bytes);
        return true;
    });
    send.data = send.host_copy.get();
}

// A long message from a device may be read where it is, if a copy of the receiver's device pays:
// without MPS, its process waits for its turn first (docs/gpu.md).
void Messenger::offer_piece(Send &send) {
    if (send.device != nullptr && send.bytes >= engine::kLeastKeptVectorBytes &&
        send.dest != rank_ && shares_devices(send.dest))
        copying(send, [&] {
            send.device->piece = send.device->executor.piece_of(send.data, send.bytes);
            return true;
        });
}

// Without the lock: the executor's own work may take a while.
void Messenger::poll_executors() {
    if (!asks_.load(std::memory_order_relaxed))
        return;
    for (int kind = 0; kind < kMemoryKinds; ++kind)
        if (Executor *const executor = engine::executor_of(static_cast<MemoryKind>(kind));
            executor != nullptr)
            executor->poll();
}

// To be called before a message is begun that list_copied() lists.
void Messenger::make_room_for_copied() {
    if (bell_ == nullptr)
        bell_ = std::make_shared<engine::Bell>(segment_, rank_);
    if (copied_.size() == copied_.capacity())
        copied_.reserve(2 * copied_.size() + StagingRings::kMostRings);
}

void Messenger::list_copied(Send *send, Receive *receive, DeviceCopies &by) noexcept {
    copied_.push_back({send, receive, &by});
    if (send != nullptr)
        send->copied = true;
    if (receive != nullptr)
        receive->copied = true;
    set_nap();
    others_may_wait_ = true; // the other threads of this rank sleep less from now on
}

// Begins to copy the data of a send to its host_copy; true if they are there.
bool Messenger::set_aside(Send &send) {
    if (send.device == nullptr || send.bytes == 0) {
        require_wait(send);
        std::copy_n(send.data, send.bytes, send.host_copy.get());
        read_from_copy(send);
        return true;
    }
    make_room_for_copied();
    send.device->whole = true;
    copying(send, [&] {
        issue_copy(send.device->executor, send.device->copy, send.host_copy.get(), send.data,
                   send.bytes, bell_);
        return true;
    });
    list_copied(&send, nullptr, *send.device);
    return false;
}

void Messenger::read_from_copy(Send &send) {
    send.data = send.host_copy.get();
    send.device = nullptr;
}

// Copies all of a message to the buffer of the receive, from memory that this rank reads; `own`:
// the send of this rank that has it there.
void Messenger::copy_at_once(DeviceCopies &by, Receive &receive, const void *from,
                             std::size_t bytes, Send *own) {
    make_room_for_copied();
    by.whole = true;
    copying(receive, [&] {
        issue_copy(by.executor, by.copy, receive.data, from, bytes, bell_);
        return true;
    });
    list_copied(own, &receive, by);
}

// Whether this rank, or the other one, may read in the other's memory of a device.
bool Messenger::shares_devices(int rank) const {
    return options_.shares_devices && segment_->here(rank) &&
           engine::same_processes(segment_->lines(rank_), segment_->lines(rank));
}

// Where the executor of a receive finds the message on a device of the sender; null: it does not.
const void *Messenger::on_device(const Receive &receive, int source, const Frame &frame,
                                 const Payload &payload) {
    transport::DevicePiece piece;
    if (frame.payload != sizeof(piece) || !shares_devices(source))
        return nullptr;
    payload.copy(reinterpret_cast<std::byte *>(&piece), sizeof(piece));
    const void *found = nullptr;
    copying(receive, [&] {
        found = receive.device->executor.find_piece(piece, receive.data);
        return true;
    });
    return found;
}

void Messenger::deliver_to_device(Receive &receive, int source, const Frame &frame,
                                  const Payload &payload, std::size_t wanted) {
    DeviceCopies &by = *receive.device;
    by.wanted = wanted;
    by.answers = frame.id;
    if (frame.kind == Frame::message) {
        by.aside.resize(wanted);
        payload.copy(by.aside.data(), wanted);
        return copy_at_once(by, receive, by.aside.data(), wanted);
    }
    if (const std::byte *const data = in_heap(source, frame, wanted); data != nullptr)
        return copy_at_once(by, receive, data, wanted);
    if (const void *const data = on_device(receive, source, frame, payload); data != nullptr)
        return copy_at_once(by, receive, data, wanted);
    make_room_for_copied();
    by.id = next_id_++;
    coming_.emplace(by.id, &receive);
    list_copied(nullptr, &receive, by);
}

// The ring has room: no more bytes were granted.
void Messenger::take_piece(Receive &receive, const Payload &payload, std::size_t bytes) {
    payload.copy(receive.device->ring->at(receive.moved), bytes);
    receive.moved += bytes;
}

// Begins copies, and ends messages whose copies have ended; true if there was anything to do.
bool Messenger::advance_copies() {
    if (copied_.empty())
        return false;
    bool moved = false;
    for (Copied &each : copied_) {
        if (each.ended())
            continue;
        if (each.by->whole)
            moved = finish_copy(each) || moved;
        else if (each.send != nullptr)
            moved = advance_copied(*each.send, each) || moved;
        else
            moved = advance_copied(*each.receive, each) || moved;
    }
    std::erase_if(copied_, [](const Copied &each) { return each.ended(); });
    set_nap();
    return moved;
}

// Of a message that is copied at once, or set aside.
bool Messenger::finish_copy(Copied &each) {
    if (each.by->copy.pending())
        return false;
    if (each.receive == nullptr) {
        Send &send = *each.send;
        if (each.by->copy.error())
            throw copy_error(send, *each.by->copy.error());
        each = {};
        send.copied = false;
        read_from_copy(send);
        --send.ordering->unset;
        return true;
    }
    Receive &receive = *each.receive;
    if (each.by->copy.error())
        throw copy_error(receive, *each.by->copy.error());
    if (each.by->answers != 0)
        answer(receive.taken.source, Frame::taken, each.by->answers);
    Send *const own = each.send;
    each = {};
    end(receive);
    if (own != nullptr)
        end(*own);
    return true;
}

bool Messenger::advance_copied(Send &send, Copied &each) {
    StagingRing *&ring = each.by->ring;
    if (ring == nullptr && (ring = sent_.take(each.by->executor)) == nullptr)
        return false;
    bool moved = false;
    for (; copying(send, [&] { return ring->collect(); }); moved = true) {
        send.ready = ring->ended();
        queue(send);
    }
    const std::size_t used = send.moved / StagingRing::kSlotBytes * StagingRing::kSlotBytes;
    while (ring->issued() < send.granted && ring->issued() - used < StagingRing::kRingBytes) {
        const std::size_t bytes =
            std::min<std::size_t>(StagingRing::kSlotBytes, send.granted - ring->issued());
        moved = copying(send, [&] {
            auto *const data = const_cast<std::byte *>(send.data) + ring->issued();
            ring->issue(Way::in, data, bytes, bell_);
            return true;
        });
    }
    if (send.moved != send.granted || send.partly)
        return moved;
    sent_.give_back(*ring);
    each = {};
    end(send);
    return true;
}

bool Messenger::advance_copied(Receive &receive, Copied &each) {
    DeviceCopies &by = *each.by;
    if (by.ring == nullptr && (by.ring = received_.take(by.executor)) == nullptr)
        return false;
    StagingRing &ring = *by.ring;
    bool moved = false;
    while (copying(receive, [&] { return ring.collect(); }))
        moved = true;
    while (ring.issued() < receive.moved) {
        const std::size_t bytes = std::min(StagingRing::kSlotBytes, by.wanted - ring.issued());
        if (receive.moved - ring.issued() < bytes)
            break; // the rest of this slot has not come
        moved = copying(receive, [&] {
            ring.issue(Way::out, receive.data + ring.issued(), bytes, bell_);
            return true;
        });
    }
    if (ring.ended() == by.wanted) {
        coming_.erase(by.id);
        received_.give_back(ring);
        each = {};
        end(receive);
        return true;
    }
    // As many as there is room for; whole slots, unless they are the last.
    const std::size_t limit = std::min(by.wanted, ring.ended() + StagingRing::kRingBytes);
    if (limit != receive.granted) {
        answer(receive.taken.source, Frame::grant, by.answers, limit - receive.granted, by.id,
               limit != by.wanted);
        receive.granted = limit;
        moved = true;
    }
    return moved;
}

Error Messenger::copy_error(const Transfer &transfer, const Error &why) const {
    return {why.status(), options_.who + " in " + progress_of(transfer) +
                              ": a copy from or to the device failed: " + why.what()};
}

void Messenger::set_nap() {
    std::uint64_t nap = transport::kNoNap;
    for (const Copied &each : copied_)
        if (each.by->whole ||
            (each.by->ring != nullptr && each.by->ring->ended() != each.by->ring->issued()))
            nap = std::min(nap, each.by->executor.longest_nap());
    constexpr auto kGateNap = std::chrono::nanoseconds(engine::kDeviceNap);
    if (std::ranges::any_of(orders_, [](const auto &order) {
            return order->gate != nullptr && order->state == Ordering::State::closed;
        }))
        nap = std::min(nap, static_cast<std::uint64_t>(kGateNap.count()));
    nap_ns_.store(nap, std::memory_order_relaxed);
    asks_.store(!copied_.empty() || !orders_.empty(), std::memory_order_relaxed);
}

// The communicator has failed: ends the messages of which no copy is pending any more.
bool Messenger::end_abandoned_copies() {
    const auto end_unless_pending = [this](Copied &each) {
        if (each.ended())
            return true;
        if (each.by->pending())
            return false;
        if (StagingRing *const ring = each.by->ring; ring != nullptr)
            (each.send != nullptr ? sent_ : received_).give_back(*ring);
        const Copied ended = std::exchange(each, {});
        if (ended.receive != nullptr)
            end(*ended.receive);
        if (ended.send != nullptr)
            end(*ended.send);
        return true;
    };
    const bool any = std::erase_if(copied_, end_unless_pending) != 0;
    free_stuck_orders();
    forget_ended_orders();
    set_nap();
    return any;
}

// After a failure: returns when no executor touches the memory of messages.  Gives up the lock
// while it waits: other threads may need it to let the device go on.
void Messenger::await_copies(std::unique_lock<std::mutex> &lock) {
    for (end_abandoned_copies(); !copied_.empty(); end_abandoned_copies()) {
        lock.unlock();
        poll_executors();
        std::this_thread::sleep_for(engine::kDeviceNap);
        lock.lock();
    }
    wake(rank_);
}

} // namespace stretto::p2p
