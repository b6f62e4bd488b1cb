// SPDX-License-Identifier: BSD-3-Clause
// A transport between ranks that are threads of the test, which takes its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "support/pipes.hpp"
#include "transport/remote/factory.hpp"

namespace stretto::test {

class FakeTransport final : public transport::TransportFactory {
public:
    using Reports = transport::EventSource::Reports;
    using Bytes = std::vector<std::byte>;

    explicit FakeTransport(std::string name) : name_(std::move(name)) {}

    // What a test sets before its job.
    std::function<std::string(int rank)> lacks = [](int) { return ""; };
    std::function<std::string(int rank)> fails = [](int) { return ""; }; // in open()
    std::function<std::uint16_t()> has_version = [] { return std::uint16_t{3}; };
    Reports tells = Reports::by_descriptors;
    useconds_t longest = 0; // delay of each step
    // What came of it.
    std::atomic<int> opened{0}, closed{0}, connected{0};

    std::string_view name() const override { return name_; }
    std::uint16_t version() const override { return has_version(); }
    std::string missing(const transport::Opening &opening) const override {
        dawdle();
        return lacks(opening.rank);
    }
    std::unique_ptr<transport::RemoteTransport>
    open(const transport::Opening &opening) const override {
        dawdle();
        if (const std::string why = fails(opening.rank); !why.empty())
            throw Error(Status::system, why);
        return std::make_unique<Open>(const_cast<FakeTransport &>(*this), opening);
    }
    bool is_address(std::span<const std::byte> bytes) const override {
        return !bytes.empty() && Bytes(bytes.begin(), bytes.end()) == bytes_of(rank_in(bytes));
    }

private:
    // Of another length for each rank.
    static Bytes bytes_of(int rank) {
        Bytes bytes(2 + static_cast<std::size_t>(rank) * 41 % 150);
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<std::byte>(i == 0 ? rank : rank * 31 + static_cast<int>(i) * 7);
        return bytes;
    }
    static int rank_in(std::span<const std::byte> bytes) { return std::to_integer<int>(bytes[0]); }
    void dawdle() const {
        thread_local std::minstd_rand random(static_cast<unsigned>(gettid()));
        if (longest != 0)
            usleep(static_cast<useconds_t>(random() % longest));
    }

    // Where the ranks of a communicator meet.
    struct Room {
        Room(int ranks, Reports tells) : pipes(ranks, tells) {}
        Pipes pipes;
        std::set<int> there;
    };

    class Connecting final : public transport::Connecting {
    public:
        Connecting(FakeTransport &fake, transport::Group group)
            : fake_(fake), group_(std::move(group)) {}

        void progress() override {
            fake_.dawdle();
            const std::lock_guard lock(fake_.mutex_);
            std::unique_ptr<Room> &room = fake_.rooms_[group_.epoch];
            if (room == nullptr)
                room = std::make_unique<Room>(static_cast<int>(group_.in_job.size()), fake_.tells);
            room->there.insert(group_.rank);
            room_ = room.get();
            complete_ = room->there.size() == group_.in_job.size();
        }
        bool complete() const override { return complete_; }
        void waits_for(std::vector<pollfd> &) const override {}
        std::string lacks() const override { return "some rank"; }
        std::string remedy() const override { return "do all of them run?"; }
        std::unique_ptr<transport::Links> links(transport::EventSet &events,
                                                transport::Segment &) override {
            ++fake_.connected;
            return room_->pipes.links(events, group_.rank);
        }

    private:
        FakeTransport &fake_;
        const transport::Group group_;
        Room *room_ = nullptr;
        bool complete_ = false;
    };

    class Open final : public transport::RemoteTransport {
    public:
        Open(FakeTransport &fake, const transport::Opening &opening)
            : fake_(fake), rank_(opening.rank), size_(opening.size) {
            ++fake_.opened;
        }
        ~Open() override { ++fake_.closed; }
        Bytes address() const override { return bytes_of(rank_); }
        void meet(std::vector<Bytes> addresses, int) override {
            fake_.dawdle();
            bool right = addresses.size() == static_cast<std::size_t>(size_);
            for (int rank = 0; right && rank < size_; ++rank)
                right = addresses[static_cast<std::size_t>(rank)] == bytes_of(rank);
            if (!right)
                throw Error(Status::mismatch, "an address is not what its rank has made it");
        }
        std::unique_ptr<transport::Connecting> connect(const transport::Group &group) override {
            return std::make_unique<Connecting>(fake_, group);
        }

    private:
        FakeTransport &fake_;
        const int rank_, size_;
    };

    const std::string name_;
    std::mutex mutex_;
    std::map<std::uint64_t, std::unique_ptr<Room>> rooms_; // by epoch, to the end of the test
};

} // namespace stretto::test
