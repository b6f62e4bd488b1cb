// SPDX-License-Identifier: BSD-3-Clause
// Looks up names that may not be known yet.
#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <utility>

#include "base/status.hpp"
#include "base/thread.hpp"
#include "net/address.hpp"

namespace stretto::net {

// One thread asks, and writes before `over`; the other reads after it.
struct Resolving::LookUp {
    Endpoint endpoint;
    std::vector<Address> addresses;
    std::string failure;
    std::atomic<bool> over{false};

    void ask() {
        try {
            addresses = resolve(endpoint);
        } catch (const std::exception &error) {
            failure = error.what();
        }
        over.store(true, std::memory_order_release);
    }
};

Resolving::Resolving(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}

void Resolving::start() {
    look_up_ = std::make_shared<LookUp>();
    look_up_->endpoint = endpoint_;
    if (Address::numeric(endpoint_.host, endpoint_.port))
        return look_up_->ask();
    try {
        named_thread("stretto-resolve", [asked = look_up_] { asked->ask(); }).detach();
    } catch (const std::system_error
                 &) { // no thread could be started: asks in this one, which may take long
        look_up_->ask();
    }
}

std::optional<std::vector<Address>> Resolving::progress(std::uint64_t now) {
    if (look_up_ == nullptr && now < next_)
        return std::nullopt;
    if (look_up_ == nullptr)
        start();
    if (!look_up_->over.load(std::memory_order_acquire))
        return std::nullopt;
    const std::shared_ptr<LookUp> done = std::exchange(look_up_, nullptr);
    if (!done->addresses.empty())
        return std::move(done->addresses);
    last_ = done->failure;
    next_ = now + pause_ns_;
    constexpr std::uint64_t kMostNs = 1'000'000'000;
    pause_ns_ = std::min(2 * pause_ns_, kMostNs);
    return std::nullopt;
}

} // namespace stretto::net
