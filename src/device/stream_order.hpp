// SPDX-License-Identifier: BSD-3-Clause
// The place of a call in a stream of the program: the call begins when the stream has done all that
// it was given before, and what it is given afterwards begins when the call has ended
// (stream_wait.hpp), or at any time.
//
// An event in the stream says that it has come so far; whichever thread moves the call asks for it.
//
// A program whose streams wait keeps away from calls of the driver that wait for the device and
// keep other threads from it (waiting_streams.hpp); one that does not know what its libraries do
// lets its streams go on, and waits on the host.
#pragma once

#include <atomic>
#include <cstdint>

#include "device/cuda.hpp"
#include "device/stream_wait.hpp"
#include "engine/gate.hpp"

namespace stretto::device {

// A stream of the program, as a call meets it.
struct StreamOfCall {
    // The stream as in program_streams.hpp.  `memory`: a buffer of the call.  Throws
    // Error(unsupported) if the stream is being captured.
    StreamOfCall(const Cuda &driver, const void *memory, void *stream);
    // Asks the driver for all that calls need, before a stream waits for one.  Throws Error.
    void prepare() const;

    const CUstream handle;
    const Context context;
    CUcontext buffers_context = nullptr; // null: all buffers are in host memory
    bool holds_default = true;           // whether CUDA's legacy default stream waits for it
};

class StreamOrder final : public engine::Gate {
public:
    // What the stream does behind the place of the call: waits for its end or not.
    enum class Then : std::uint8_t { waits, goes_on };
    StreamOrder(const void *memory, void *stream, Then then, Patience patience);
    ~StreamOrder() override { release(); }
    StreamOrder(const StreamOrder &) = delete;
    StreamOrder &operator=(const StreamOrder &) = delete;

    engine::Executor *executor() override;
    void close() override;
    const void *order() const override;
    std::uint64_t place() const override { return number_; }
    bool holds() const override { return then_ == Then::waits; }
    bool open() override;
    void require_wait() const override { wait_.require_wait(); }
    void ended() noexcept override { release(); }
    // Lets the stream go on.
    void release() noexcept;

private:
    const Cuda &driver_;
    const Then then_;
    const StreamOfCall stream_;
    StreamWait wait_;
    std::atomic<CUevent> event_{nullptr};
    std::uint64_t number_ = 0; // of all places that this process has taken in streams
};

// Lets a stream of the program wait for what `wait` ends.  `memory` and `stream` as above.  Throws
// Error, and then nothing waits.
void let_stream_wait(StreamWait &wait, const void *memory, void *stream);

} // namespace stretto::device
