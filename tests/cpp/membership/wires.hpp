// SPDX-License-Identifier: BSD-3-Clause
// A network among threads: what is sent waits a while and is handed over by a thread of the
// network, in order for each pair.  Ranks can be killed, frozen and cut off.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "membership/links.hpp"

namespace test {

class Wires {
    using Clock = std::chrono::steady_clock;
    using Links = stretto::membership::Links;

public:
    // Messages take up to so many microseconds.
    Wires(int ranks, unsigned seed, unsigned most_delay = 300)
        : random_(seed), most_delay_(most_delay) {
        for (int rank = 0; rank < ranks; ++rank)
            ends_.push_back(std::make_unique<End>(*this, rank));
        thread_ = std::thread([this] { run(); });
    }
    ~Wires() {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
            frozen_.clear();
        }
        changed_.notify_all();
        thread_.join();
    }

    Links &of(int rank) { return *ends_[static_cast<std::size_t>(rank)]; }

    // What the rank has sent last is lost, for each other rank from some message on; those that
    // lived are told that the link is gone.
    void kill(int rank) {
        const std::lock_guard lock(mutex_);
        dead_.insert(rank);
        for (std::size_t other = 0; other < ends_.size(); ++other) {
            const Pair pair{rank, static_cast<int>(other)};
            std::size_t rest = random_() % (waiting(pair) + 1);
            std::erase_if(queue_, [&](const auto &entry) {
                return entry.second.pair == pair && (rest == 0 || rest-- == 0);
            });
            if (pair.second != rank)
                push(pair, {}, Kind::broken);
        }
        changed_.notify_all();
    }
    // Nothing passes between the two any more, and nobody is told.
    void cut(int a, int b) {
        const std::lock_guard lock(mutex_);
        cut_.insert({a, b});
        cut_.insert({b, a});
        std::erase_if(queue_, [&](const auto &entry) { return cut_.contains(entry.second.pair); });
    }
    // The link is back: both are told that something may be lost.
    void restore(int a, int b) {
        const std::lock_guard lock(mutex_);
        cut_.erase({a, b});
        cut_.erase({b, a});
        push({a, b}, {}, Kind::restored);
        push({b, a}, {}, Kind::restored);
        changed_.notify_all();
    }
    // The rank's agent stops at the next message that it sends, until it thaws.
    void freeze(int rank) {
        const std::lock_guard lock(mutex_);
        frozen_.insert(rank);
    }
    void thaw(int rank) {
        const std::lock_guard lock(mutex_);
        frozen_.erase(rank);
        changed_.notify_all();
    }
    // Bytes that no agent has written.
    void inject(int from, int to, std::vector<std::byte> bytes) {
        const std::lock_guard lock(mutex_);
        push({from, to}, std::move(bytes), Kind::bytes);
        changed_.notify_all();
    }

private:
    using Pair = std::pair<int, int>; // from, to
    enum class Kind { bytes, broken, restored };
    struct WireMessage {
        Pair pair;
        std::vector<std::byte> bytes;
        Kind kind;
    };

    class End final : public Links {
    public:
        End(Wires &wires, int rank) : wires_(wires), rank_(rank) {}
        void send(int to, std::span<const std::byte> bytes) override {
            std::unique_lock lock(wires_.mutex_);
            wires_.changed_.wait(lock, [this] { return !wires_.frozen_.contains(rank_); });
            if (wires_.dead_.contains(rank_))
                return;
            wires_.push({rank_, to}, {bytes.begin(), bytes.end()}, Kind::bytes);
            wires_.changed_.notify_all();
        }
        void wait(Listener &listener, std::uint64_t nanoseconds) override {
            std::vector<WireMessage> come;
            {
                std::unique_lock lock(mutex_);
                const std::chrono::nanoseconds most(
                    std::min<std::uint64_t>(nanoseconds, 1'000'000'000'000));
                news_.wait_for(lock, most, [this] { return woken_ || !come_.empty(); });
                woken_ = false;
                come.swap(come_);
            }
            for (const WireMessage &packet : come)
                if (packet.kind == Kind::bytes)
                    listener.on_bytes(packet.pair.first, packet.bytes);
                else if (packet.kind == Kind::broken)
                    listener.on_broken(packet.pair.first, "its process has ended");
                else
                    listener.on_restored(packet.pair.first);
        }
        void drain(const stretto::membership::RankSet &) override {}
        void wake() override {
            const std::lock_guard lock(mutex_);
            woken_ = true;
            news_.notify_one();
        }
        void hand_over(WireMessage packet) {
            const std::lock_guard lock(mutex_);
            come_.push_back(std::move(packet));
            news_.notify_one();
        }

    private:
        Wires &wires_;
        int rank_;
        std::mutex mutex_; // of what has come
        std::condition_variable news_;
        std::vector<WireMessage> come_;
        bool woken_ = false;
    };

    // With mutex_.
    std::size_t waiting(const Pair &pair) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            queue_, [&](const auto &entry) { return entry.second.pair == pair; }));
    }
    void push(const Pair &pair, std::vector<std::byte> bytes, Kind kind) {
        if (cut_.contains(pair))
            return;
        Clock::time_point &last = last_[pair];
        last =
            std::max(last, Clock::now() + std::chrono::microseconds(random_() % (most_delay_ + 1)));
        queue_.emplace(last, WireMessage{pair, std::move(bytes), kind}); // equal times: in order
    }

    void run() {
        std::unique_lock lock(mutex_);
        while (!stop_) {
            if (queue_.empty()) {
                changed_.wait(lock);
                continue;
            }
            if (const auto due = queue_.begin()->first; due > Clock::now()) {
                changed_.wait_until(lock, due);
                continue;
            }
            WireMessage packet = std::move(queue_.extract(queue_.begin()).mapped());
            const int to = packet.pair.second;
            if (!dead_.contains(to))
                ends_[static_cast<std::size_t>(to)]->hand_over(std::move(packet));
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::unique_ptr<End>> ends_;
    std::multimap<Clock::time_point, WireMessage> queue_;
    std::map<Pair, Clock::time_point> last_;
    std::set<int> dead_, frozen_;
    std::set<Pair> cut_;
    std::mt19937 random_;
    unsigned most_delay_;
    bool stop_ = false;
    std::thread thread_;
};

} // namespace test
