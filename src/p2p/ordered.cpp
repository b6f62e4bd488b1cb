// SPDX-License-Identifier: BSD-3-Clause
// Messages in an order: how they begin, wait, go on and end (ordering.hpp).
#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "p2p/messenger.hpp"

namespace stretto::p2p {

using State = Ordering::State;

std::unique_ptr<Ordering> Messenger::prepare_in_order(std::span<const Message> messages) {
    auto order = std::make_unique<Ordering>();
    prepare_together([&] {
        order->transfers.reserve(messages.size());
        for (const Message &message : messages) {
            const Purpose &why = message.purpose;
            if (message.receives) {
                auto receive = std::make_unique<Receive>(
                    message.data, message.bytes,
                    Envelope{message.context, message.peer, message.tag}, why);
                prepare(*receive, message.memory);
                order->transfers.push_back(receive.release());
            } else {
                auto send = std::make_unique<Send>(message.data, message.bytes,
                                                   Envelope{message.context, rank_, message.tag},
                                                   message.peer, why);
                prepare_in_order(*send, message);
                order->transfers.push_back(send.release());
            }
        }
        for (const Transfer *transfer : order->transfers)
            if (transfer->device != nullptr && transfer->is_receive)
                transfer->device->executor.open_shared();
        const std::lock_guard lock(mutex_);
        for (const Transfer *transfer : order->transfers)
            if (transfer->device != nullptr)
                (transfer->is_receive ? received_ : sent_).prepare(transfer->device->executor);
    });
    return order;
}

// Nothing is read yet.
void Messenger::prepare_in_order(Send &send, const Message &message) {
    prepare(static_cast<Transfer &>(send), message.memory);
    if (message.aside || (send.device != nullptr && send.bytes <= kEagerBytes))
        send.host_copy = std::make_unique_for_overwrite<std::byte[]>(send.bytes);
    else
        offer_piece(send);
}

std::vector<Transfer *> Messenger::begin_in_order(std::unique_ptr<Ordering> prepared,
                                                  std::shared_ptr<engine::Gate> gate) {
    if (prepared->transfers.empty()) {
        gate->ended();
        return {};
    }
    using Owner = std::unique_ptr<Transfer, decltype(&free_transfer)>;
    std::vector<Transfer *> begun;
    std::vector<Owner> owners; // until nothing can fail any more
    begin_together([&] {
        Ordering &order = *prepared;
        begun = order.transfers;
        owners.reserve(begun.size());
        // Another thread may have closed its gate later, and begun before.
        const std::uint64_t place = gate->place();
        const auto later = std::ranges::find_if(
            orders_, [&](const auto &each) { return each->gate_place > place; });
        orders_.insert(later, std::shared_ptr<Ordering>(std::move(prepared)));
        order.gate = std::move(gate);
        order.gate_place = place;
        order.unended = begun.size();
        order.state = State::closed;
        for (std::size_t i = 0; i < begun.size(); ++i) {
            owners.emplace_back(begun[i], &free_transfer);
            begun[i]->ordering = &order;
            begun[i]->place = i;
        }
        for (Transfer *transfer : begun) {
            attend(*transfer);
            if (transfer->is_receive)
                begin(static_cast<Receive &>(*transfer));
            else
                begin(static_cast<Send &>(*transfer));
        }
        set_nap();
        others_may_wait_ = true; // the other threads of this rank sleep less from now on
        advance_if_needed();
    });
    for (Owner &owner : owners)
        (void)owner.release();
    return begun;
}

// The progress thread moves it, and does so at once if no caller does.
void Messenger::attend(Transfer &transfer) {
    transfer.unattended = true;
    progress_thread_.add_transfer();
    hurry(transfer);
}

// A send waits for its order, or behind one that does.
bool Messenger::hold_back(Send &send) {
    const bool waits = waits_for_order(send);
    if (!waits && (held_back_.empty() || !held_back_.contains(likeness(send))))
        return false;
    held_back_[likeness(send)].push_back(&send);
    send.held_back = true;
    return true;
}

// Of sends that are alike, lets those go that wait no longer.
void Messenger::let_go(const Likeness &like) {
    const auto found = held_back_.find(like);
    if (found == held_back_.end())
        return;
    std::deque<Send *> &sends = found->second;
    while (!sends.empty() && !waits_for_order(*sends.front())) {
        Send &send = *sends.front();
        sends.pop_front();
        send.held_back = false;
        send.released_ns = now_ns();
        go(send);
    }
    if (sends.empty())
        held_back_.erase(found);
}

// Asks gates, each only after those before it in its order.  True if any was open.
bool Messenger::look_at_orders() {
    if (orders_.empty()) [[likely]]
        return false;
    bool moved = false;
    closed_.clear();
    for (std::size_t i = 0; i < orders_.size(); ++i) {
        Ordering &order = *orders_[i];
        if (order.gate == nullptr)
            continue;
        const void *const name = order.gate->order();
        if (order.state == State::closed &&
            (name == nullptr || std::ranges::find(closed_, name) == closed_.end())) {
            if (order.gate->open()) {
                set_aside(order);
                moved = true;
            } else if (name != nullptr) {
                closed_.push_back(name);
            }
        }
        if (order.state == State::setting_aside && order.unset == 0) {
            open(order);
            moved = true;
        }
    }
    moved = forget_ended_orders() || moved;
    set_nap();
    return moved;
}

// True if there were any.
bool Messenger::forget_ended_orders() {
    const bool any =
        std::erase_if(orders_, [](const auto &order) { return order->unended == 0; }) != 0;
    if (orders_.empty() && published_ != 0) {
        std::uint64_t ours = std::exchange(published_, 0);
        segment_->lines(rank_).wait_state.compare_exchange_strong(ours, 0,
                                                                  std::memory_order_relaxed);
    }
    return any;
}

void Messenger::set_aside(Ordering &order) {
    order.state = State::setting_aside;
    order.release(now_ns());
    for (Transfer *const transfer : order.transfers)
        if (transfer != nullptr && !transfer->is_receive &&
            static_cast<Send &>(*transfer).host_copy != nullptr &&
            !set_aside(static_cast<Send &>(*transfer)))
            ++order.unset;
}

// The order has come to these messages, and nothing that they overwrite is needed any more.
void Messenger::open(Ordering &order) {
    order.state = State::open;
    order.release(now_ns());
    for (std::size_t i = 0; i < order.transfers.size(); ++i) {
        Transfer *const transfer = order.transfers[i];
        if (transfer == nullptr) // cancelled, or the other side of a message to oneself ended both
            continue;
        require_wait(*transfer);
        if (!transfer->is_receive)
            let_go(likeness(static_cast<Send &>(*transfer)));
        else if (auto &receive = static_cast<Receive &>(*transfer); receive.kept != nullptr)
            take(receive, static_cast<Arrived *>(std::exchange(receive.kept, nullptr)));
    }
}

// Called when a message ends.
void Messenger::leave_order(Transfer &transfer) {
    Ordering &order = *std::exchange(transfer.ordering, nullptr);
    order.transfers[transfer.place] = nullptr;
    if (order.gate != nullptr && !transfer.error)
        try { // its last copy may have been kept from the device
            order.gate->require_wait();
        } catch (const Error &why) {
            transfer.error = why;
        }
    if (--order.unended == 0 && order.gate != nullptr)
        std::exchange(order.gate, nullptr)->ended();
}

// The communicator has failed; what is on its way to or from a device follows later.
void Messenger::abandon_orders() {
    for (auto &[like, sends] : held_back_)
        for (Send *send : sends)
            abandon(*send);
    held_back_.clear();
    const auto for_each = [this](const auto &body) {
        for (const auto &order : orders_)
            for (std::size_t i = 0; i < order->transfers.size(); ++i)
                if (order->transfers[i] != nullptr)
                    body(*order->transfers[i]);
    };
    // First these: what a receive keeps may be a send of another order.
    for_each([this](Transfer &transfer) {
        if (!transfer.is_receive)
            return;
        auto &receive = static_cast<Receive &>(transfer);
        if (auto *const kept = static_cast<Arrived *>(std::exchange(receive.kept, nullptr)))
            abandon(*kept);
    });
    for_each([this](Transfer &transfer) { abandon(transfer); });
}

// After a failure, copies may be behind streams that wait for these messages.  If none ends for so
// long, the streams go on, or nothing ever would.
void Messenger::free_stuck_orders() {
    const std::uint64_t now = now_ns();
    if (copied_.size() != stuck_copies_) {
        stuck_copies_ = copied_.size();
        stuck_since_ns_ = now;
    }
    if (stuck_copies_ == 0 || now - stuck_since_ns_ <= engine::kStuckNs)
        return;
    for (const auto &order : orders_)
        if (order->gate != nullptr)
            std::exchange(order->gate, nullptr)->ended();
}

// What a caller that waits long would do for its own message (diagnosis.cpp).  The time in which a
// message waits for its order does not count: what the order does then is not known here.
void Messenger::diagnose_orders() {
    constexpr std::uint64_t kLookNs = 50'000'000;
    struct Look {
        std::shared_ptr<const Ordering> order; // it lives as long as this
        std::size_t place;
        int awaited;
        std::uint64_t quiet_ns;
        std::string words;
        Purpose purpose;
    };
    std::vector<Look> looks;
    {
        const std::lock_guard lock(mutex_);
        const std::uint64_t now = now_ns();
        if (failure_ || orders_.empty() || now - orders_looked_ns_ < kLookNs)
            return;
        orders_looked_ns_ = now;
        for (const auto &order : orders_) {
            const Transfer *const first = most_doubtful(*order);
            if (first == nullptr)
                continue;
            std::uint64_t moved = 0;
            for (const Transfer *transfer : order->transfers)
                moved += transfer != nullptr ? transfer->moved + 1 : 0;
            if (moved != order->moved_before) {
                order->moved_before = moved;
                order->still_since_ns = now;
            }
            const std::uint64_t since = std::max(order->still_since_ns, first->released_ns);
            looks.push_back({order, first->place, awaited_by(*first),
                             waits_here(*first) ? 0 : now - since, progress_of(*first),
                             first->purpose});
        }
        if (!looks.empty()) {
            const Transfer &oldest = *looks[0].order->transfers[looks[0].place];
            publish_for_orders(oldest.is_receive, looks[0].awaited);
        }
    }
    for (const Look &look : looks) {
        const auto over = [&] {
            const std::lock_guard lock(mutex_);
            return look.order->transfers[look.place] == nullptr;
        };
        check_peers(look.awaited, look.words, look.quiet_ns, over, By::threads);
        if (look.purpose.exact() && !over())
            judge_(look.purpose.call);
    }
}

// Of these messages, the first that waits for a rank that is gone, or else the first that its order
// has come to, or else the first.
const Transfer *Messenger::most_doubtful(const Ordering &order) const {
    const Transfer *first = nullptr;
    for (const Transfer *transfer : order.transfers) {
        if (transfer == nullptr)
            continue;
        if (first == nullptr || (waits_here(*first) && !waits_here(*transfer)))
            first = transfer;
        if (const int awaited = awaited_by(*transfer);
            awaited != kAny && segment_->presence(awaited) != transport::Presence::here)
            return transfer;
    }
    return first;
}

// If no thread of this rank waits: one that does publishes what it waits for itself.
void Messenger::publish_for_orders(bool receives, int awaited) {
    std::atomic<std::uint64_t> &published = segment_->lines(rank_).wait_state;
    std::uint64_t now = published.load(std::memory_order_relaxed);
    const std::uint64_t ours =
        wait_state(receives ? transport::WaitState::incoming : transport::WaitState::outgoing,
                   awaited)
            .packed();
    if ((now == transport::WaitState{}.packed() || now == published_) &&
        published.compare_exchange_strong(now, ours, std::memory_order_relaxed))
        published_ = ours;
}

} // namespace stretto::p2p
