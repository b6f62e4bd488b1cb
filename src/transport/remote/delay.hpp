// SPDX-License-Identifier: BSD-3-Clause
// Links with an added delay, for experiments with networks that are not at hand.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "base/descriptor.hpp"
#include "transport/remote/links.hpp"

namespace stretto::transport {

// Every packet leaves `delay_ns` later than it would, exact by timer; order is kept, and bandwidth
// is what it was.
class Delay final : public Links, private EventSource {
public:
    Delay(EventSet &events, std::unique_ptr<Links> links, std::uint64_t delay_ns);

    std::string place(int rank) const override { return links_->place(rank); }
    void send(int to, const WireMessage &packet, const std::byte *payload, bool more) override;
    std::size_t most_mail_bytes() const override { return links_->most_mail_bytes(); }
    bool sends_buffers() const override { return links_->sends_buffers(); }
    bool sends_from(int to, const std::byte *payload, std::size_t bytes) override {
        return links_->sends_from(to, payload, bytes);
    }
    void push(Which which) override;
    bool progress(Receiver &receiver, const EventSet::Ready &ready) override;
    void drop(int rank) override { links_->drop(rank); }
    bool sent() const override { return waiting_.empty() && links_->sent(); }
    bool delivered() const override { return waiting_.empty() && links_->delivered(); }

private:
    struct Waiting {
        std::uint64_t due;
        int to;
        WireMessage packet;
        const std::byte *payload;
        bool more;
    };

    // Events of the timer; the wrapped links have event sources of their own.
    Reports reports() const override { return Reports::by_descriptors; }
    void set_timer();

    const std::unique_ptr<Links> links_;
    const std::uint64_t delay_ns_;
    Descriptor timer_;
    std::deque<Waiting> waiting_; // in the order in which they are due
};

} // namespace stretto::transport
