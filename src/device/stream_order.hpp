// SPDX-License-Identifier: BSD-3-Clause
// The place of a call in a stream of the program: the call begins when the stream has done what it
// was given before, and the stream goes on when the call has ended, if it is to wait for that.
//
// An event in the stream says that it has come so far; whichever thread moves the call asks for it.
// Behind the event the stream waits for a word of pinned memory, which the same thread sets: no
// kernel spins, and the CPU sets it whether the call ends well or not.
//
// A program whose streams wait keeps away from calls of the driver that wait for the device and
// keep other threads from it (waiting_streams.hpp); one that does not know what its libraries do
// lets its streams go on, and waits on the host.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "device/cuda.hpp"
#include "device/waiting_streams.hpp"
#include "engine/gate.hpp"

namespace stretto::device {

class StreamOrder final : public engine::Gate, private WaitingStream {
public:
    // What the stream does behind the place of the call: waits for its end or not.
    enum class Then : std::uint8_t { waits, goes_on };
    // The stream as in program_streams.hpp.  `memory`: a buffer of the call.  Throws
    // Error(unsupported) if the stream is being captured.
    StreamOrder(const void *memory, void *stream, Then then, Patience patience);
    ~StreamOrder() override { release(); }
    StreamOrder(const StreamOrder &) = delete;
    StreamOrder &operator=(const StreamOrder &) = delete;

    engine::Executor *executor() override;
    void close() override;
    bool open() override;
    void require_wait() const override;
    void ended() noexcept override { release(); }
    // Lets the stream go on.
    void release() noexcept;

private:
    void let_wait();
    void go_on(Why why) noexcept override;

    const Cuda &driver_;
    CUstream const stream_;
    const Then then_;
    Context context_;                     // of the stream
    CUcontext buffers_context_ = nullptr; // null: all buffers are in host memory
    bool holds_default_ = true; // whether CUDA's legacy default stream waits for the stream
    std::atomic<CUevent> event_{nullptr};
    std::atomic<std::uint32_t> *word_ = nullptr; // for which the stream waits
    std::atomic<bool> let_wait_{false};
    std::atomic<bool> given_up_{false}; // the stream has gone on without the call's end
};

} // namespace stretto::device
