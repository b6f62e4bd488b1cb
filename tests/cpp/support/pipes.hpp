// SPDX-License-Identifier: BSD-3-Clause
// Links between threads of the test: what is sent lies in a queue until the other side looks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "transport/remote/links.hpp"

namespace stretto::test {

class Pipes {
public:
    using Reports = stretto::transport::EventSource::Reports;

    // `tells`: how a rank learns that something has come.  When it has to arm, its descriptor shows
    // one event, as that of a completion queue does.
    explicit Pipes(int ranks, Reports tells = Reports::by_descriptors) : tells_(tells) {
        for (int rank = 0; rank < ranks; ++rank) {
            ends_.push_back(std::make_unique<End>());
            ends_.back()->event = stretto::Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        }
    }

    // `room`: bytes of payload that are sent at once, as a socket's buffer has; the rest waits.
    std::unique_ptr<stretto::transport::Links> links(stretto::transport::EventSet &events, int rank,
                                                     std::size_t room = 1 << 16) {
        auto links = std::make_unique<Links>(*this, rank, room);
        const auto source = events.add(*links);
        if (tells_ != Reports::in_memory)
            events.watch(source, end(rank).event.get());
        return links;
    }
    // How often ranks have armed.
    std::uint64_t armed() const { return armed_.load(std::memory_order_relaxed); }

    // Packets of a kind that have been sent so far.
    std::uint64_t sent(stretto::transport::WireMessage::Kind kind) const {
        return sent_[kind].load(std::memory_order_relaxed);
    }

private:
    using WireMessage = stretto::transport::WireMessage;
    struct Sent {
        int from;
        WireMessage packet;
        std::vector<std::byte> payload;
    };
    struct End {
        std::mutex mutex;
        std::deque<Sent> queue;
        std::size_t bytes = 0;
        std::set<int> blocked; // who waits for room
        bool room = false;     // there may be some again
        bool armed = true;     // the next event is shown
        stretto::Descriptor event;

        void ring(Reports tells) {
            if (!std::exchange(armed, tells != Reports::when_armed))
                return;
            const std::uint64_t one = 1;
            (void)!write(event.get(), &one, sizeof(one));
        }
        void clear() const {
            std::uint64_t count = 0;
            (void)!read(event.get(), &count, sizeof(count));
        }
    };

    class Links final : public stretto::transport::Links, public stretto::transport::EventSource {
    public:
        Links(Pipes &pipes, int rank, std::size_t room) : pipes_(pipes), rank_(rank), room_(room) {}

        std::string place(int) const override { return "a pipe away"; }
        void send(int to, const WireMessage &packet, const std::byte *payload, bool more) override {
            given_.push_back({to, packet, payload, more});
        }
        // What nobody pushes never goes, nor what has more behind it.
        void push(Which which) override {
            std::deque<Waiting> kept, goes;
            std::set<int> receivers;
            for (auto each = given_.rbegin(); each != given_.rend(); ++each) {
                if (!each->more || which == Which::all)
                    receivers.insert(each->to);
                (receivers.contains(each->to) ? goes : kept).push_front(*each);
            }
            waiting_.insert(waiting_.end(), goes.begin(), goes.end());
            given_.swap(kept);
            flush();
        }
        Reports reports() const override { return pipes_.tells_; }
        bool arm() override {
            pipes_.armed_.fetch_add(1, std::memory_order_relaxed);
            End &mine = end(rank_);
            const std::lock_guard lock(mine.mutex);
            mine.clear();
            mine.armed = true;
            return mine.queue.empty() && !mine.room;
        }
        bool progress(Receiver &receiver, const stretto::transport::EventSet::Ready &) override {
            std::deque<Sent> come;
            std::set<int> blocked;
            End &mine = end(rank_);
            {
                const std::lock_guard lock(mine.mutex);
                come.swap(mine.queue);
                blocked.swap(mine.blocked);
                mine.bytes = 0;
                mine.room = false;
                mine.clear();
            }
            for (const int rank : blocked) {
                const std::lock_guard lock(end(rank).mutex);
                end(rank).room = true;
                end(rank).ring(pipes_.tells_);
            }
            flush();
            for (const Sent &sent : come) {
                if (sent.packet.length != 0) {
                    std::byte *place = receiver.place(sent.from, sent.packet);
                    if (place == nullptr) {
                        receiver.broken(sent.from, "no packet");
                        continue;
                    }
                    std::memcpy(place, sent.payload.data(), sent.payload.size());
                }
                receiver.arrived(sent.from, sent.packet);
            }
            return !come.empty();
        }
        void drop(int rank) override {
            for (std::deque<Waiting> *packets : {&given_, &waiting_})
                std::erase_if(*packets, [rank](const Waiting &each) { return each.to == rank; });
        }
        bool sent() const override { return waiting_.empty(); }
        bool delivered() const override { return sent(); }

    private:
        struct Waiting {
            int to;
            WireMessage packet;
            const std::byte *payload;
            bool more = false;
        };

        // In order for each receiver; one that is full does not hold up the others.
        void flush() {
            std::vector<bool> full(pipes_.ends_.size(), false);
            std::deque<Waiting> still;
            for (const Waiting &each : waiting_) {
                End &to = pipes_.end(each.to);
                const std::lock_guard lock(to.mutex);
                const auto index = static_cast<std::size_t>(each.to);
                full[index] =
                    full[index] || (to.bytes != 0 && to.bytes + each.packet.length > room_);
                if (full[index]) {
                    to.blocked.insert(rank_);
                    still.push_back(each);
                    continue;
                }
                pipes_.sent_[each.packet.kind].fetch_add(1, std::memory_order_relaxed);
                to.bytes += each.packet.length;
                to.queue.push_back(
                    {rank_, each.packet,
                     std::vector<std::byte>(each.payload, each.payload + each.packet.length)});
                to.ring(pipes_.tells_);
            }
            waiting_.swap(still);
        }
        End &end(int rank) { return pipes_.end(rank); }

        Pipes &pipes_;
        const int rank_;
        const std::size_t room_;
        std::deque<Waiting> given_, waiting_; // not pushed yet; pushed
    };

    End &end(int rank) { return *ends_[static_cast<std::size_t>(rank)]; }

    const Reports tells_;
    std::vector<std::unique_ptr<End>> ends_;
    std::atomic<std::uint64_t> armed_{0};
    std::array<std::atomic<std::uint64_t>, 16> sent_{}; // by kind
};

} // namespace stretto::test
