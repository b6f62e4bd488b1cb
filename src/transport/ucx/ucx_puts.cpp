// SPDX-License-Identifier: BSD-3-Clause
// Puts of UcxLinks: payloads that this rank writes into the memory of a peer.
//
//     put payload (two pieces at the end of a ring)  ...  flush  ...  message: cell, with its flag
//            put the next one                           ...  flush  ...  message
//                          held until a message has gone      put the third  ...
//
// The flag makes a cell valid, so it must not be there before the payload is.  UCX promises no
// order of puts, nor of a put and a message: they may go by different queues of a device.  What it
// promises is that puts are complete in the peer's memory when a flush that began after them ends.
// So the cell waits for a flush, and then goes as a message without payload, which the receiver
// publishes, and which wakes it if it sleeps.  Each payload has a flush of its own, which stands
// for all that was put before it began as well.  Payloads beyond the two that may be ahead of their
// flags are held, in their order.
//
// ucp_worker_fence() would order a put of the flag behind the payload without this rank's waiting,
// and no receiver would be needed at all.  But it may wait for the flush of all peers by itself
// (UCX 1.22 does), for as long as any of them is stopped, and with the lock of the communicator.
#include <bit>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "base/status.hpp"
#include "transport/ucx/ucx_links.hpp"
#include "transport/ucx/ucx_offer.hpp"

namespace stretto::transport {

void UcxLinks::offer(int rank, PutWindow window) {
    Link &peer = link(rank);
    std::exception_ptr why;
    if (window.first != nullptr && peer.endpoint != nullptr &&
        (put_anyhow_ || worker_->device_puts(peer.endpoint))) {
        try {
            peer.window = std::make_unique<ucp::RegisteredMemory>(
                worker_->context(), window.first, window.bytes(), ucp::MemoryUse::window);
            peer.offer = written({reinterpret_cast<std::uintptr_t>(window.first), window.ring_bytes,
                                  peer.window->key()});
            ++counts_.registrations;
            counts_.registered_bytes += window.bytes();
        } catch (const Error &) {
            peer.window.reset();
            why = std::current_exception();
        }
    }
    send(peer, {kOfferKind, 0, static_cast<std::uint32_t>(peer.offer.size()), mark_, 0, 0},
         peer.offer.data());
    if (why != nullptr)
        std::rethrow_exception(why);
}

void UcxLinks::register_rings(PutWindow own) {
    rings_ = std::make_shared<const ucp::RegisteredMemory>(worker_->context(), own.first,
                                                           own.bytes(), ucp::MemoryUse::rings);
    own_rings_ = own;
}

UcxLinks::Registered UcxLinks::in_rings(const std::byte *payload, std::size_t bytes) const {
    if (rings_ != nullptr)
        if (const std::byte *const own = in_own_window(own_rings_, payload, bytes))
            return {own, rings_};
    return {payload, nullptr};
}

// Within progress() of the worker, perhaps before there is a receiver, or even before the hello.
void UcxLinks::take_offer(Link &from, std::uint64_t mark, std::span<const std::byte> bytes) {
    if (std::exchange(from.puts.offered_by, mark) == mark)
        return;
    from.puts.offer.assign(bytes.begin(), bytes.end());
    puts_due_ = true;
}

void UcxLinks::send_long(Link &peer, const WireMessage &cell, const std::byte *payload) {
    if (peer.endpoint == nullptr || !peer.failure.empty() || failed_)
        return;
    if (peer.offered() && !can_put(peer) && peer.puts.held.empty())
        return send(peer, cell, payload);
    peer.puts.held.push_back(
        {cell, payload, buffers_ != nullptr ? buffers_->find(payload, cell.length) : nullptr});
    ++held_;
    puts_due_ = true; // by push()
}

void UcxLinks::drop_held(Link &link) noexcept {
    held_ -= link.puts.held.size();
    link.puts.held.clear();
}

// Registered here, so that the put finds it.
bool UcxLinks::sends_from(int to, const std::byte *payload, std::size_t bytes) {
    Link &peer = link(to);
    return buffers_ != nullptr && bytes >= kLeastPutBytes && peer.endpoint != nullptr &&
           peer.failure.empty() && peer.offered() && can_put(peer) &&
           buffers_->take(payload, bytes) != nullptr;
}

bool UcxLinks::device_puts(int rank) const {
    return link(rank).endpoint != nullptr && worker_->device_puts(link(rank).endpoint);
}

// By agreement: if this rank cannot use the window, it says so, and the peer takes it back.
bool UcxLinks::can_put(Link &peer) {
    Puts &puts = peer.puts;
    if (puts.key != nullptr || puts.offer.empty())
        return puts.key != nullptr;
    const std::vector<std::byte> bytes = std::exchange(puts.offer, {});
    if (const std::optional<UcxOffer> offer = read_offer(bytes);
        offer && std::has_single_bit(offer->ring_bytes) &&
        (put_anyhow_ || worker_->device_puts(peer.endpoint))) {
        try {
            puts.key = worker_->unpack(peer.endpoint, offer->key);
            puts.first = offer->first;
            puts.ring_bytes = static_cast<std::size_t>(offer->ring_bytes);
            return true;
        } catch (const Error &) { // no device reaches that memory
        }
    }
    send(peer, {kRefusalKind, 0, 0, 0, 0, 0}, nullptr);
    return false;
}

void UcxLinks::put(Link &peer, const Held &held) {
    const auto &[cell, payload, buffer] = held;
    for (const PutPiece &piece : payload_in_window(cell, peer.puts.ring_bytes)) {
        const std::byte *const first = payload + piece.from;
        const Registered from =
            buffer != nullptr ? Registered{first, buffer} : in_rings(first, piece.bytes);
        if (buffer != nullptr)
            counts_.put_from_buffers_bytes += piece.bytes;
        else if (from.registration != nullptr)
            counts_.put_from_rings_bytes += piece.bytes;
        put(peer, from, piece.bytes, piece.at);
    }
    ++counts_.put_cells;
    counts_.put_bytes += cell.length;
    ++peer.puts.put;
    peer.puts.cells.push_back(cell);
    peer.puts.cells.back().flags |= WireMessage::kPlaced;
    counts_.most_ahead_cells =
        std::max<std::uint64_t>(counts_.most_ahead_cells, peer.puts.cells.size());
    to_flush(peer);
}

void UcxLinks::put(Link &peer, const Registered &from, std::size_t bytes, std::uint64_t at) {
    if (free_puttings_.empty()) {
        free_puttings_.push_back(&puttings_.emplace_back());
        free_puttings_.reserve(puttings_.size()); // on_put() must not throw
    }
    Putting &putting = *free_puttings_.back();
    free_puttings_.pop_back();
    putting = {&peer, peer.endpoint, from.registration};
    auto parameters = ucp::RequestParameters::calling(&on_put, &putting);
    parameters.use(from.registration != nullptr ? from.registration->get() : nullptr);
    ++counts_.puts;
    const ucp::Request request = library_.put(peer.endpoint, from.first, bytes,
                                              peer.puts.first + at, peer.puts.key, &parameters);
    if (request != nullptr && !ucp::is_error(request)) {
        ++unsent_;
    } else {
        putting.from.reset();
        free_puttings_.push_back(&putting);
    }
    if (ucp::is_error(request))
        on_failed(&peer, peer.endpoint, ucp::error_of(request));
}

// Also when the link is closed and its puts have failed.
void UcxLinks::on_put(ucp::Request request, ucp::Status status, void *putting) {
    auto &own = *static_cast<Putting *>(putting);
    UcxLinks &all = *own.link->all;
    all.library_.request_free(request);
    own.from.reset();
    all.free_puttings_.push_back(&own);
    --all.unsent_;
    if (status != ucp::Status::ok)
        on_failed(own.link, own.endpoint, status);
}

void UcxLinks::advance_puts() {
    for (Link &each : links_) {
        if (std::exchange(each.refused, false))
            each.window.reset();
        if (each.endpoint == nullptr || !each.failure.empty())
            continue;
        Puts &puts = each.puts;
        for (; puts.first_is_placed() && each.failure.empty(); puts.cells.pop_front())
            send(each, puts.cells.front(), nullptr);
        while (each.offered() && !puts.held.empty() && each.failure.empty()) {
            const bool puttable = can_put(each);
            if (puttable && puts.full())
                break;
            const Held next = std::move(puts.held.front());
            puts.held.pop_front();
            --held_;
            if (puttable) {
                put(each, next);
                flush(each);
            } else {
                send(each, next.packet, next.payload);
            }
        }
        if (puts.put > puts.covered)
            flush(each);
    }
}

} // namespace stretto::transport
