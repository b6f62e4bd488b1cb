// SPDX-License-Identifier: BSD-3-Clause
// A wait of a stream of the program: for the end of a call, or of a message.
//
// The stream waits for a word of pinned memory, which the thread that ends the call sets: no kernel
// spins, and the CPU sets it whether the call ends well or not.
#pragma once

#include <atomic>
#include <cstdint>

#include "device/cuda.hpp"
#include "device/waiting_streams.hpp"

namespace stretto::device {

class StreamWait final : private WaitingStream {
public:
    explicit StreamWait(Patience patience) : WaitingStream(std::move(patience)) {}
    ~StreamWait() { end(); }
    StreamWait(const StreamWait &) = delete;
    StreamWait &operator=(const StreamWait &) = delete;

    // Throws Error(unsupported) if streams cannot wait with the driver of this process.
    static void require(const Cuda &driver);
    // What the stream is given from now on waits for end().  Once, with the stream's context
    // current.  `holds_default`: see WaitingStreams::began().  Throws Error, and then nothing
    // waits.
    void begin(const Cuda &driver, CUstream stream, bool holds_default);
    void end() noexcept;
    // Throws the failure of the communicator if the stream has gone on before end().
    void require_wait() const;

private:
    void go_on(Why why) noexcept override;

    std::atomic<std::uint32_t> *word_ = nullptr; // for which the stream waits
    std::atomic<bool> waits_{false};
    std::atomic<bool> given_up_{false};
};

} // namespace stretto::device
