// SPDX-License-Identifier: BSD-3-Clause
// The receive path of UcxLinks.
#include "transport/ucx/ucx_links.hpp"

#include <cstring>
#include <utility>

namespace stretto::transport {

// Called by UCX within progress(), as is on_received().
ucp::Status UcxLinks::on_came(void *argument, const void *header, std::size_t header_length,
                              void *data, std::size_t length,
                              const ucp::MessageParameters *parameters) {
    auto &all = *static_cast<UcxLinks *>(argument);
    UcxMessage message;
    if (header_length != sizeof(message)) {
        ++all.ignored_;
        return ucp::Status::ok;
    }
    std::memcpy(&message, header, sizeof(message));
    ucp::Status status = ucp::Status::ok;
    all.guarded([&] {
        status = all.take(message, data, length,
                          (parameters->set & ucp::MessageParameters::kRendezvousFlag) != 0);
    });
    return status;
}

ucp::Status UcxLinks::take(const UcxMessage &header, void *data, std::size_t length, bool is_long) {
    if (header.sender >= links_.size()) {
        ++ignored_;
        return ucp::Status::ok;
    }
    Link &from = links_[header.sender];
    if (!from.open || ending_ || !same(header.token, from.tokens.in)) {
        ++ignored_;
        return ucp::Status::ok;
    }
    if (header.kind == kHelloKind) {
        from.heard = header.position;
        from.arrivals = {};
        from.arrivals.delivered(); // later turns wait for a receiver
        return ucp::Status::ok;
    }
    if (header.kind == kOfferKind && !is_long) {
        take_offer(from, header.position, {static_cast<const std::byte *>(data), length});
        return ucp::Status::ok;
    }
    if (header.kind == kRefusalKind) {
        from.refused = puts_due_ = true;
        return ucp::Status::ok;
    }
    if (!from.failure.empty())
        return ucp::Status::ok; // what comes after an invalid message is not looked at
    if (receiver_ == nullptr) {
        const auto *const bytes = static_cast<const std::byte *>(data);
        waiting_.push_back({header, {}, is_long ? data : nullptr});
        if (!is_long)
            waiting_.back().payload.assign(bytes, bytes + length);
        return is_long ? ucp::Status::in_progress : ucp::Status::ok;
    }
    const WireMessage packet = header.packet();
    const bool placed = is_placed(packet);
    if (length != (placed ? 0 : packet.length) || (placed && from.window == nullptr) ||
        (header.turn == 0) != may_overtake(packet) || (is_long && header.turn != 0)) {
        invalid(from);
        return ucp::Status::ok;
    }
    if (is_long)
        return take_long(from, packet, data);
    if (header.turn == 0) {
        deliver(from, packet, data);
        return ucp::Status::ok;
    }
    if (!from.arrivals.is_next(header.turn)) {
        const auto *const bytes = static_cast<const std::byte *>(data);
        from.arrivals.keep(header.turn, {packet, {bytes, bytes + length}});
        return ucp::Status::ok;
    }
    from.arrivals.delivered();
    deliver(from, packet, data);
    for (Early early; from.failure.empty() && from.arrivals.take_next(early);) {
        from.arrivals.delivered();
        deliver(from, early.packet, early.payload.data());
    }
    return ucp::Status::ok;
}

void UcxLinks::take_waiting() {
    for (Waiting &each : std::exchange(waiting_, {})) {
        const bool is_long = each.message != nullptr;
        const ucp::Status status =
            take(each.header, is_long ? each.message : each.payload.data(),
                 is_long ? each.header.length : each.payload.size(), is_long);
        if (is_long && status == ucp::Status::ok)
            library_.release(worker_->get(), each.message);
    }
}

void UcxLinks::deliver(Link &link, const WireMessage &packet, const void *payload) {
    if (packet.length != 0 && !is_placed(packet)) {
        std::byte *const place = receiver_->place(link.rank, packet);
        if (place == nullptr)
            return invalid(link);
        std::memcpy(place, payload, packet.length);
        if (packet.kind == WireMessage::cell) {
            ++counts_.copies;
            counts_.copied_bytes += packet.length;
        }
    }
    receiver_->arrived(link.rank, packet);
    any_ = true;
}

// `in_progress`: UCX fetches the payload.  `ok`: it drops the message.
ucp::Status UcxLinks::take_long(Link &link, const WireMessage &packet, void *message) {
    std::byte *const place = receiver_->place(link.rank, packet);
    if (place == nullptr) {
        invalid(link);
        return ucp::Status::ok;
    }
    // The receiver names the same memory again and again.
    auto receiving = std::make_unique<Receiving>(Receiving{
        &link, packet, buffers_ != nullptr ? buffers_->take(place, packet.length) : nullptr});
    ucp::RequestParameters parameters;
    parameters.set = ucp::RequestParameters::kCallbackFlag | ucp::RequestParameters::kUserDataFlag |
                     ucp::RequestParameters::kMemoryTypeFlag;
    parameters.received = &on_received;
    parameters.user_data = receiving.get();
    parameters.use(receiving->to != nullptr ? receiving->to->get() : nullptr);
    const ucp::Request request =
        library_.receive(worker_->get(), message, place, packet.length, &parameters);
    if (ucp::is_error(request)) {
        on_failed(&link, link.endpoint, ucp::error_of(request));
    } else if (request != nullptr) {
        (void)receiving.release(); // on_received() has it
    } else {
        receiver_->arrived(link.rank, packet);
        any_ = true;
    }
    return ucp::Status::in_progress;
}

void UcxLinks::on_received(ucp::Request request, ucp::Status status, std::size_t, void *receiving) {
    const std::unique_ptr<Receiving> own(static_cast<Receiving *>(receiving));
    UcxLinks &all = *own->link->all;
    all.library_.request_free(request);
    if (!own->link->open || !own->link->failure.empty() || all.receiver_ == nullptr)
        return;
    if (status != ucp::Status::ok)
        return on_failed(own->link, own->link->endpoint, status);
    all.guarded([&] {
        all.receiver_->arrived(own->link->rank, own->packet);
        all.any_ = true;
    });
}

void UcxLinks::invalid(Link &link) {
    if (link.failure.empty())
        link.failure =
            "rank " + std::to_string(link.rank) + " (" + link.place + ") sent an invalid message";
}

} // namespace stretto::transport
