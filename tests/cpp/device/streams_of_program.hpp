// SPDX-License-Identifier: BSD-3-Clause
// What a program does with streams of its own, by the driver's functions.
#pragma once

#include "doctest.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

extern "C" {
int cuStreamSynchronize(void *stream);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamWaitValue32_v2(void *stream, unsigned long long word, std::uint32_t value,
                           unsigned flags);
int cuMemHostAlloc(void **memory, std::size_t bytes, unsigned flags);
int cuMemFreeHost(void *memory);
int cuMemcpyAsync(unsigned long long to, unsigned long long from, std::size_t bytes, void *stream);
}

namespace test {

inline unsigned long long address(const void *memory) {
    return reinterpret_cast<std::uintptr_t>(memory);
}

inline void check_cuda(int result) {
    REQUIRE(result == 0);
}

// Numbers in pinned host memory.
class Pinned {
public:
    explicit Pinned(std::size_t count) {
        check_cuda(cuMemHostAlloc(&memory_, (count + 1) * sizeof(std::int32_t), 0));
    }
    ~Pinned() { (void)cuMemFreeHost(memory_); }
    Pinned(const Pinned &) = delete;
    Pinned &operator=(const Pinned &) = delete;
    std::int32_t *data() const { return static_cast<std::int32_t *>(memory_); }

private:
    void *memory_ = nullptr;
};

// The legacy default stream and those that are made with the first flag wait for one another.
constexpr unsigned kBlocking = 0, kNonBlocking = 1;

inline void *stream_with(unsigned flags) {
    void *stream = nullptr;
    check_cuda(cuStreamCreate(&stream, flags));
    return stream;
}

// A stream that stands still until it is opened.  The default stream does not wait for it: a rank
// that copies by cuMemcpy would wait for the calls of others, and keep them from the driver.
class Stream {
public:
    explicit Stream(void *handle = stream_with(kNonBlocking)) : handle_(handle), gate_(1) {
        close();
    }
    ~Stream() { // the device looks at the word until the stream has passed it
        open();
        (void)cuStreamSynchronize(handle_);
    }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    void *handle() const { return handle_; }
    void close() {
        word().store(0);
        check_cuda(cuStreamWaitValue32_v2(handle_, address(gate_.data()), 1, 0));
    }
    void open() { word().store(1); }
    void copy(void *to, const void *from, std::size_t bytes) {
        check_cuda(cuMemcpyAsync(address(to), address(from), bytes, handle_));
    }

private:
    std::atomic_ref<std::uint32_t> word() {
        return std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t *>(gate_.data()));
    }

    void *handle_;
    Pinned gate_;
};

} // namespace test
