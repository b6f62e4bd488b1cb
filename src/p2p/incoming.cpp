// SPDX-License-Identifier: BSD-3-Clause
// Receiving: every frame is taken out of a mailbox at once, wanted or not.
#include "p2p/messenger.hpp"

#include <algorithm>
#include <cstring>

namespace stretto::p2p {

using transport::Frame;
using transport::Payload;

void Messenger::begin(Receive &receive) {
    auto *const message = static_cast<Arrived *>(matcher_->post(receive));
    if (message == nullptr)
        return;
    if (waits_for_order(receive)) [[unlikely]]
        return keep(receive, *message);
    take(receive, message);
}

// Until its order has come to the receive.
void Messenger::keep(Receive &receive, Arrived &message) {
    receive.kept = &message;
    receive.matched = true;
    receive.taken.source = message.envelope.source;
}

void Messenger::take(Receive &receive, Arrived *message) {
    const auto again = [this](Arrived *what) { recycle(what); };
    const std::unique_ptr<Arrived, decltype(again)> arrived(message, again);
    const int source = arrived->envelope.source;
    if (arrived->own != nullptr) {
        deliver_own(receive, *arrived->own);
    } else {
        const Payload payload{arrived->payload.data(), nullptr, arrived->payload.size(), 0};
        deliver(receive, source, arrived->frame, payload);
        if (source == rank_)
            own_stored_ -= transport::frame_bytes(arrived->payload.size());
        else if (arrived->frame.kind == Frame::message)
            peer(source).in.release(transport::frame_bytes(arrived->payload.size()));
    }
}

bool Messenger::drain_all() {
    bool moved = false;
    for (int first = 0; first < segment_->ranks(); first += 64) {
        std::atomic<std::uint64_t> &pending = segment_->pending(rank_)[first / 64];
        if (pending.load(std::memory_order_relaxed) == 0)
            continue;
        // Clears the bits before it looks into the mailboxes: see Outbox::put.
        for (std::uint64_t bits = pending.exchange(0, std::memory_order_seq_cst); bits != 0;
             bits &= bits - 1) {
            const int source = first + std::countr_zero(bits);
            if (!drain(source)) // it has more frames: other mailboxes come first
                pending.fetch_or(bits & -bits, std::memory_order_relaxed);
            moved = true;
        }
    }
    return moved;
}

// True if nothing is left.
bool Messenger::drain(int source) {
    constexpr int kFrames = 64; // at a time: all other threads of this rank wait for the lock
    transport::Inbox &in = peer(source).in;
    if (!in.is_open())
        in.open(*segment_, source, rank_);
    Frame frame;
    Payload payload;
    int frames = 0;
    for (; frames < kFrames && in.look(frame, payload); ++frames) {
        arrive(source, frame, payload);
        in.take(frame);
    }
    if (transport::anybody_sleeps(segment_->header().signals) &&
        (in.awaited() || !segment_->here(source))) [[unlikely]]
        transport::Doorbell(*segment_, source).ring();
    return frames < kFrames;
}

void Messenger::arrive(int source, const Frame &frame, const Payload &payload) {
    switch (frame.kind) {
    case Frame::message:
    case Frame::request: {
        Arrived *arrived = new_arrived();
        arrived->envelope = {frame.context, source, frame.tag};
        auto *const receive = static_cast<Receive *>(matcher_->arrive(*arrived));
        if (receive != nullptr && !waits_for_order(*receive)) {
            recycle(arrived);
            deliver(*receive, source, frame, payload);
            if (frame.kind == Frame::message)
                peer(source).in.release(transport::frame_bytes(frame.payload));
            return;
        }
        if (receive != nullptr)
            keep(*receive, *arrived);
        else
            note_unexpected();
        arrived->frame = frame;
        arrived->payload.resize(frame.payload);
        payload.copy(arrived->payload.data(), frame.payload);
        return;
    }
    case Frame::grant:
        if (const auto found = unanswered_.find(frame.id); found != unanswered_.end()) {
            Send &send = *found->second;
            send.granted += frame.bytes;
            send.where = frame.where;
            send.partly = frame.context != 0;
            if (send.device != nullptr) {
                if (!send.copied) {
                    make_room_for_copied();
                    list_copied(&send, nullptr, *send.device);
                }
            } else {
                send.ready = send.granted;
                queue(send);
            }
            if (!send.partly)
                unanswered_.erase(found);
        }
        return;
    case Frame::taken:
        if (const auto found = unanswered_.find(frame.id); found != unanswered_.end()) {
            Send &send = *found->second;
            unanswered_.erase(found);
            end(send);
        }
        return;
    case Frame::data:
        if (const auto found = coming_.find(frame.id); found != coming_.end()) {
            Receive &receive = *found->second;
            if (receive.device != nullptr)
                return take_piece(receive, payload, frame.payload);
            require_wait(receive);
            payload.copy(receive.data + receive.moved, frame.payload);
            receive.moved += frame.payload;
            if (receive.moved == receive.granted) {
                coming_.erase(found);
                end(receive);
            }
        }
        return;
    }
}

// Matches a receive with a message.  False if the sizes are in conflict, which ends the receive.
bool Messenger::accept(Receive &receive, int source, const Envelope &envelope, std::size_t bytes) {
    receive.matched = true;
    receive.taken = {source, envelope.tag, bytes};
    if (receive.purpose.exact() && bytes != receive.capacity) {
        segment_->fail(Status::mismatch, "in " + std::string(receive.purpose.name) + " (call " +
                                             std::to_string(receive.purpose.call) + ") rank " +
                                             std::to_string(source) + " sends " +
                                             std::to_string(bytes) + " bytes to rank " +
                                             std::to_string(rank_) + ", which expects " +
                                             std::to_string(receive.capacity) +
                                             "; both must give the same count and type");
        receive.error = engine::posted(*segment_, exhausted_);
        end(receive);
        return false;
    }
    if (bytes > receive.capacity)
        receive.error = Error(Status::truncated,
                              describe(receive) + ": the message from rank " +
                                  std::to_string(source) + " with tag " +
                                  std::to_string(envelope.tag) + " has " + std::to_string(bytes) +
                                  " bytes, which do not fit; its beginning was received");
    return true;
}

void Messenger::deliver(Receive &receive, int source, const Frame &frame,
                        const Payload &payload) try {
    if (!accept(receive, source, {frame.context, source, frame.tag}, frame.bytes))
        return;
    const std::size_t wanted = std::min<std::size_t>(frame.bytes, receive.capacity);
    if (receive.device != nullptr && wanted != 0)
        return deliver_to_device(receive, source, frame, payload, wanted);
    if (frame.kind == Frame::message) {
        payload.copy(receive.data, wanted);
    } else if (const std::byte *const data = in_heap(source, frame, wanted); data != nullptr) {
        std::memcpy(receive.data, data, wanted);
    } else if (wanted != 0) {
        receive.granted = wanted;
        answer(source, Frame::grant, frame.id, wanted, next_id_);
        coming_.emplace(next_id_++, &receive); // last, so that it is not there if answer() throws
        return;
    }
    if (frame.id != 0)
        answer(source, Frame::taken, frame.id);
    end(receive);
} catch (...) {
    fail_transfers({&receive});
}

void Messenger::deliver_own(Receive &receive, Send &send) try {
    if (!accept(receive, rank_, send.envelope, send.bytes))
        return end(send);
    const std::size_t wanted = std::min(send.bytes, receive.capacity);
    DeviceCopies *const by = receive.device != nullptr ? receive.device.get() : send.device.get();
    if (by != nullptr && wanted != 0)
        return copy_at_once(*by, receive, send.data, wanted, &send);
    if (wanted != 0)
        std::memmove(receive.data, send.data, wanted);
    end(receive);
    end(send);
} catch (...) {
    fail_transfers({&receive, &send});
}

// Where this rank reads the message in the sender's heap window; null if it does not lie there.
const std::byte *Messenger::in_heap(int source, const Frame &frame, std::size_t wanted) {
    const std::uint64_t window = segment_->header().heap_bytes;
    if (wanted == 0 || !segment_->here(source) || frame.where == 0 || frame.where > window ||
        wanted > window - (frame.where - 1))
        return nullptr;
    try {
        return segment_->heap(source) + (frame.where - 1);
    } catch (const Error &) {
        return nullptr; // no address space is left: it will travel through the mailbox
    }
}

// A message has arrived that no receive takes: threads in wait_for() look at it.
void Messenger::note_unexpected() {
    others_may_wait_ = others_may_wait_ || probing_ != 0;
}

Messenger::Arrived *Messenger::new_arrived() {
    if (idle_.empty())
        return new Arrived();
    Arrived *arrived = idle_.back();
    idle_.pop_back();
    return arrived;
}

void Messenger::recycle(Arrived *arrived) noexcept {
    arrived->own = nullptr;
    arrived->payload.clear();
    arrived->frame = {};
    if (idle_.size() < kMostIdleEntries)
        idle_.push_back(arrived);
    else
        delete arrived;
}

} // namespace stretto::p2p
