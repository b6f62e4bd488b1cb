// SPDX-License-Identifier: BSD-3-Clause
// The place of a call in a stream of the program: the call begins when the stream has done what it
// was given before, and the stream goes on when the call has ended.
//
// An event in the stream says that it has come so far; whichever thread moves the call asks for it.
// Behind the event the stream waits for a word of pinned memory, which the same thread sets: no
// kernel spins, and the CPU sets it whether the call ends well or not.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "device/cuda.hpp"
#include "engine/gate.hpp"

namespace stretto::device {

class StreamOrder final : public engine::Gate {
public:
    // The stream as in program_streams.hpp.  `memory`: a buffer of the call.  Throws
    // Error(unsupported) if the stream is being captured.
    StreamOrder(const void *memory, void *stream);
    ~StreamOrder() override { release(); }
    StreamOrder(const StreamOrder &) = delete;
    StreamOrder &operator=(const StreamOrder &) = delete;

    engine::Executor *executor() override;
    void close() override;
    bool open() override;
    void ended() noexcept override { release(); }
    // Lets the stream go on.
    void release() noexcept;

private:
    const Cuda &driver_;
    CUstream const stream_;
    Context context_;                     // of the stream
    CUcontext buffers_context_ = nullptr; // null: all buffers are in host memory
    CUevent event_ = nullptr;
    std::atomic<std::atomic<std::uint32_t> *> word_{nullptr}; // null: the stream does not wait
};

} // namespace stretto::device
