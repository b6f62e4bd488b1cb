// SPDX-License-Identifier: BSD-3-Clause
#include "device/stream_wait.hpp"

#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "base/lazy.hpp"
#include "device/cuda_executor.hpp"
#include "device/program_streams.hpp"

namespace stretto::device {

namespace {

constexpr std::size_t kAllWords = 16384; // a stream itself holds fewer calls than that

// Words that no stream waits for.  A word only grows, by one for each wait.  So a stream that has
// not yet seen that it was released goes on later, although another call uses the word.
class SpareWords {
public:
    // With a context current.
    std::atomic<std::uint32_t> *take() {
        const std::lock_guard lock(mutex_);
        if (!allocated_)
            allocate();
        if (words_.empty())
            throw Error(Status::memory, std::to_string(kAllWords) +
                                            " calls wait for streams of this process; let it wait "
                                            "for a stream before it makes more");
        std::atomic<std::uint32_t> *const word = words_.back();
        words_.pop_back();
        return word;
    }
    void give_back(std::atomic<std::uint32_t> *word) noexcept {
        const std::lock_guard lock(mutex_);
        words_.push_back(word);
    }

private:
    // All words at once: when some are in use, streams wait, and the driver is asked for nothing.
    void allocate() {
        words_.reserve(kAllWords);
        void *const memory = cuda_executor().pinned(kAllWords * sizeof(std::uint32_t));
        allocated_ = true;
        auto *const first = static_cast<std::atomic<std::uint32_t> *>(memory);
        for (std::size_t k = 0; k < kAllWords; ++k)
            words_.push_back(new (first + k) std::atomic<std::uint32_t>(0));
    }

    std::mutex mutex_;
    std::vector<std::atomic<std::uint32_t> *> words_;
    bool allocated_ = false;
};

Lazy<std::unique_ptr<SpareWords>> lazy_words;
SpareWords &spare_words() {
    return *lazy_words.get([] { return std::make_unique<SpareWords>(); });
}

} // namespace

void StreamWait::require(const Cuda &driver) {
    if (driver.wait_value == nullptr || driver.is_capturing == nullptr ||
        driver.stream_context == nullptr)
        throw Error(Status::unsupported,
                    "the CUDA driver of this process cannot let a stream wait for a word of memory "
                    "(cuStreamWaitValue32_v2); install one of CUDA 11.7 or newer, or synchronize "
                    "the stream and make the call without it");
}

void StreamWait::begin(const Cuda &driver, CUstream stream, bool holds_default) {
    WaitingStreams &waiting = cuda_executor().waiting_streams();
    word_ = spare_words().take();
    const std::uint32_t value = word_->load(std::memory_order_relaxed) + 1;
    try {
        waiting.began(*this, holds_default);
        waits_.store(true, std::memory_order_release);
        check_stream(driver,
                     driver.wait_value(stream, reinterpret_cast<std::uintptr_t>(word_), value,
                                       CU_STREAM_WAIT_VALUE_GEQ),
                     "cuStreamWaitValue32");
    } catch (...) {
        if (!waits_.load(std::memory_order_relaxed))
            spare_words().give_back(word_);
        end();
        throw;
    }
}

void StreamWait::end() noexcept {
    if (!waits_.exchange(false, std::memory_order_acq_rel))
        return;
    cuda_executor().waiting_streams().ended(*this);
    spare_words().give_back(word_);
}

void StreamWait::require_wait() const {
    if (given_up_.load(std::memory_order_acquire))
        throw patience().segment->failure();
}

// Under the lock of the streams that wait, so it takes none of others.
void StreamWait::go_on(Why why) noexcept {
    if (why == Why::given_up)
        given_up_.store(true, std::memory_order_release);
    word_->fetch_add(1, std::memory_order_release);
}

} // namespace stretto::device
