// SPDX-License-Identifier: BSD-3-Clause
// Keeps what comes over links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "transport/remote/links.hpp"

namespace test {

class Inbox : public stretto::transport::Links::Receiver {
public:
    std::byte *place(int, const stretto::transport::WireMessage &packet) override {
        std::vector<std::byte> &payload = payloads[packet.position];
        payload.resize(packet.length);
        return payload.data();
    }
    void arrived(int, const stretto::transport::WireMessage &packet) override {
        order.push_back(packet);
    }
    void broken(int rank, const std::string &why) override {
        culprits.push_back(rank);
        reason = why;
    }

    std::map<std::uint64_t, std::vector<std::byte>> payloads; // by position
    std::vector<stretto::transport::WireMessage> order;
    std::vector<int> culprits;
    std::string reason;
};

} // namespace test
