// SPDX-License-Identifier: BSD-3-Clause
// A connection between rank 0 and the leader of a host, while ranks join the job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "bootstrap/local/wire.hpp"
#include "bootstrap/network/table.hpp"
#include "net/connection.hpp"
#include "net/exchange.hpp"

namespace stretto::bootstrap {

// What is said.
struct BootstrapMessage {
    enum Kind : std::uint8_t {
        record = 1, // to rank 0: a rank of this host
        table,      // from rank 0: where all are
        failed,     // either way: `number` is the status, the bytes are the message
        complete,   // to rank 0: all ranks of this host have joined
        go,         // from rank 0: all have
    };
    std::uint8_t kind = 0;
    std::uint64_t number = 0;
    std::vector<std::byte> bytes;
};

inline constexpr std::size_t kMostReasonBytes = 4096; // bytes of why something failed

// Who has proved that it knows the secret may still be of another version, or broken.
inline net::ConnectionLimits talk_limits(int ranks) {
    net::ConnectionLimits limits;
    limits.payload = std::max({kMostReasonBytes, kMostRankRecordBytes, most_table_bytes(ranks)});
    return limits;
}

class BootstrapChannel final : private net::FrameReceiver {
public:
    // With another rank of a job of so many.
    BootstrapChannel(net::Opened opened, std::uint32_t rank, int ranks,
                     const std::string &congestion)
        : connection_(std::move(opened.socket), {rank, "", opened.peer}, talk_limits(ranks),
                      congestion) {}

    int descriptor() const { return connection_.descriptor(); }
    const net::Peer &peer() const { return connection_.peer(); }

    void say(BootstrapMessage::Kind kind, std::uint64_t number = 0,
             std::vector<std::byte> bytes = {}) {
        // Kept to the end: few are said.
        said_.push_back(std::make_unique<std::vector<std::byte>>(std::move(bytes)));
        const iovec piece{said_.back()->data(), said_.back()->size()};
        net::Frame frame;
        frame.kind = kind;
        frame.a = number;
        connection_.queue(frame, {&piece, piece.iov_len == 0 ? std::size_t{0} : std::size_t{1}});
    }
    // What keeps this side from joining, or the job from coming about.
    void say_failed(Status status, std::string_view why) {
        const auto text = std::as_bytes(std::span(why.substr(0, kMostReasonBytes)));
        say(BootstrapMessage::failed, static_cast<std::uint64_t>(status),
            {text.begin(), text.end()});
    }
    static Error failure(const BootstrapMessage &word) {
        const bool known =
            word.number != 0 && word.number <= static_cast<std::uint64_t>(kLastStatus);
        return Error(known ? static_cast<Status>(word.number) : Status::mismatch,
                     {reinterpret_cast<const char *>(word.bytes.data()), word.bytes.size()});
    }
    // Sends and takes in what can be.  False: the connection is broken, and all heard.
    bool progress() {
        const bool whole = connection_.flush();
        return connection_.receive(*this) != net::Connection::Received::broken && whole;
    }
    bool wants_to_send() const { return connection_.wants_to_send(); }
    bool heard(BootstrapMessage &word) {
        if (heard_.empty())
            return false;
        word = std::move(heard_.front());
        heard_.pop_front();
        return true;
    }
    std::string why() const {
        return connection_.failure() ? connection_.failure()->what() : std::string();
    }

private:
    net::Destination begin(const net::Frame &frame) override {
        coming_.bytes.resize(frame.length);
        return {net::Destination::How::memory, coming_.bytes.data()};
    }
    void end(const net::Frame &frame, std::span<const std::byte>) override {
        coming_.kind = frame.kind;
        coming_.number = frame.a;
        heard_.push_back(std::exchange(coming_, {}));
    }

    net::Connection connection_;
    std::vector<std::unique_ptr<std::vector<std::byte>>> said_;
    BootstrapMessage coming_;
    std::deque<BootstrapMessage> heard_;
};

} // namespace stretto::bootstrap
