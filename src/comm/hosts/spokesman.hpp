// SPDX-License-Identifier: BSD-3-Clause
// Who speaks for the ranks of a host at the rendezvous.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/environment.hpp"
#include "comm/hosts/table.hpp"
#include "comm/hosts/talk.hpp"
#include "net/dialer.hpp"

namespace stretto::comm {

// How much longer than rank 0 the others wait: it knows who is missing, and tells them.
inline constexpr std::uint64_t kHearsay = 5'000'000'000; // ns

class Spokesman {
public:
    // Calls rank 0 until it answers, for STRETTO_INIT_TIMEOUT at most.
    Spokesman(const Identity &me, const net::Key &key);

    // A rank of this host, itself among them.
    void name(Seat seat);
    // All of them have joined.
    void complete();
    // What keeps this host from joining.
    void failed(Status status, const std::string &why) noexcept;

    // Goes on as far as it can without waiting.  Throws what rank 0 says went wrong.
    void progress();
    const std::optional<Table> &table() const { return table_; }
    bool may_go() const { return may_go_; }

private:
    void begin_talk();
    void hear(const Word &word);
    void take_table(const Word &word);
    void say_seats();

    const int rank_, size_;
    const std::string address_; // of the rendezvous
    net::Dialer dialer_;
    std::optional<Talk> talk_;
    net::Address own_; // by which other hosts reach this one
    std::vector<Seat> unsaid_;
    std::optional<Table> table_;
    bool may_go_ = false;
    std::uint64_t give_up_ = UINT64_MAX; // of now_ns(): when rank 0 should have decided
};

} // namespace stretto::comm
