// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/local/callers.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/interrupted.hpp"
#include "bootstrap/local/packets.hpp"
#include "bootstrap/phrases.hpp"

namespace stretto::bootstrap {

namespace {

[[noreturn]] void cannot_let_in(int rank, int code) {
    errno = code;
    throw_errno(rank_here(rank) + " cannot let in the other ranks of its host, each of which takes "
                                  "one open file");
}

} // namespace

void Callers::hear(int milliseconds, const Admit &admit) {
    std::vector<pollfd> entries{{listener_.get(), POLLIN, 0}};
    for (const Descriptor &each : silent_)
        entries.push_back({each.get(), POLLIN, 0});
    if (poll_for(entries, milliseconds) <= 0)
        return;
    std::vector<Descriptor> heard;
    for (std::size_t i = silent_.size(); i-- > 0;)
        if (entries[i + 1].revents != 0) {
            heard.push_back(std::move(silent_[i]));
            silent_.erase(silent_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    if (entries[0].revents != 0)
        take_in();
    for (Descriptor &caller : heard) {
        const std::size_t size = receive(caller.get(), greeting_).size; // 0: it has gone
        admit(std::move(caller), std::span(greeting_).first(std::min(size, greeting_.size())));
    }
}

void Callers::take_in() {
    silent_.reserve(silent_.size() + 1);
    Taken taken = accept_call(listener_.get());
    if (taken.error == EMFILE || taken.error == ENFILE || taken.error == ENOMEM ||
        taken.error == ENOBUFS)
        cannot_let_in(rank_, taken.error);
    if (taken.caller.open())
        silent_.push_back(std::move(taken.caller));
}

void Callers::answer(Status status, std::string_view message, int milliseconds, int most) noexcept {
    for (Descriptor &each : silent_) {
        send_answer(each.get(), status, message);
        each = Descriptor();
        --most;
    }
    silent_.clear();
    const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(milliseconds) * 1'000'000;
    while (most > 0) {
        const std::uint64_t now = now_ns();
        const std::uint64_t left = end > now ? (end - now) / 1'000'000 : 0;
        if (!readable(listener_.get(), static_cast<int>(left)))
            return;
        const Taken taken = accept_call(listener_.get());
        if (taken.error != 0)
            return;
        if (!taken.caller.open())
            continue; // of another user
        send_answer(taken.caller.get(), status, message);
        --most;
    }
}

} // namespace stretto::bootstrap
