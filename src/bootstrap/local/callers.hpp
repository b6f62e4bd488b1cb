// SPDX-License-Identifier: BSD-3-Clause
// The processes that call the leader of a host while ranks join.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/status.hpp"

namespace stretto::bootstrap {

// Accepts the callers of a socket, and reads each greeting when it is there.  A caller that is held
// up between its call and its greeting keeps no other caller waiting, and is not turned away.
class Callers {
public:
    // A socket that has called, and the first packet that came over it.
    using Admit = std::function<void(Descriptor caller, std::span<const std::byte> greeting)>;

    // `listener` outlives this.  `rank` listens; errors name it.
    Callers(const Descriptor &listener, int rank, std::size_t greeting_bytes)
        : listener_(listener), rank_(rank), greeting_(greeting_bytes) {}

    // Waits up to so many milliseconds for a call or a greeting, and hands on what is there.
    // Throws Error(system) if this process has no descriptor left for a caller, and what `admit`
    // throws.
    void hear(int milliseconds, const Admit &admit);
    // How many processes have called and not greeted.
    std::size_t silent() const { return silent_.size(); }
    // Gives this answer to all processes that have called and not greeted, or call within so many
    // milliseconds, and closes their sockets.  Ends when `most` of them have had it.  Needs no
    // memory.
    void answer(Status status, std::string_view message, int milliseconds, int most) noexcept;

private:
    void take_in();

    const Descriptor &listener_;
    const int rank_;
    std::vector<std::byte> greeting_;
    std::vector<Descriptor> silent_;
};

} // namespace stretto::bootstrap
