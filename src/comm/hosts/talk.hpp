// SPDX-License-Identifier: BSD-3-Clause
// A connection between rank 0 and who speaks for a host, while a job is being joined.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/connection.hpp"

namespace stretto::comm {

// What is said.
struct Word {
    enum Kind : std::uint8_t {
        seat = 1, // to rank 0: a rank of this host
        table,    // from rank 0: where all are
        failed,   // either way: `number` is the status, the bytes are the message
        complete, // to rank 0: all ranks of this host have joined
        go,       // from rank 0: all have
    };
    std::uint8_t kind = 0;
    std::uint64_t number = 0;
    std::vector<std::byte> bytes;
};

class Talk final : private net::FrameReceiver {
public:
    explicit Talk(net::Connection connection) : connection_(std::move(connection)) {}

    int descriptor() const { return connection_.descriptor(); }
    const net::Peer &peer() const { return connection_.peer(); }

    void say(Word::Kind kind, std::uint64_t number = 0, std::vector<std::byte> bytes = {}) {
        // Kept to the end: few are said.
        said_.push_back(std::make_unique<std::vector<std::byte>>(std::move(bytes)));
        const iovec piece{said_.back()->data(), said_.back()->size()};
        net::Frame frame;
        frame.kind = kind;
        frame.a = number;
        connection_.queue(frame, {&piece, piece.iov_len == 0 ? std::size_t{0} : std::size_t{1}});
    }
    // Sends and takes in what can be.  False: the connection is broken, and all heard.
    bool progress() {
        const bool whole = connection_.flush();
        return connection_.receive(*this) != net::Connection::Received::broken && whole;
    }
    bool wants_to_send() const { return connection_.wants_to_send(); }
    bool heard(Word &word) {
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
    net::Landing begin(const net::Frame &frame) override {
        coming_.bytes.resize(frame.length);
        return {net::Landing::How::memory, coming_.bytes.data()};
    }
    void end(const net::Frame &frame, std::span<const std::byte>) override {
        coming_.kind = frame.kind;
        coming_.number = frame.a;
        heard_.push_back(std::exchange(coming_, {}));
    }

    net::Connection connection_;
    std::vector<std::unique_ptr<std::vector<std::byte>>> said_;
    Word coming_;
    std::deque<Word> heard_;
};

} // namespace stretto::comm
