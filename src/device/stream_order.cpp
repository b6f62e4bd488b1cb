// SPDX-License-Identifier: BSD-3-Clause
#include "device/stream_order.hpp"

#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/lazy.hpp"
#include "device/cuda_copies.hpp"
#include "device/devices.hpp"

namespace stretto::device {

namespace {

constexpr std::size_t kPageWords = 1024;
constexpr std::uintptr_t kLastDefaultStream = 2;

// Words and events that no call uses.  A word only grows, by one for each call.  So a stream that
// has not yet seen that it was released goes on later, although another call uses the word.
class Spare {
public:
    // With a context current.
    std::atomic<std::uint32_t> *take_word(const Cuda &driver) {
        const std::lock_guard lock(mutex_);
        if (words_.empty())
            add_page(driver);
        std::atomic<std::uint32_t> *const word = words_.back();
        words_.pop_back();
        return word;
    }
    CUevent take_event(const Cuda &driver, CUcontext context) {
        const std::lock_guard lock(mutex_);
        std::vector<CUevent> &free = events_[context];
        CUevent event = nullptr;
        if (free.empty()) {
            free.reserve(++made_); // giving back allocates nothing
            check_cuda(driver, driver.create_event(&event, CU_EVENT_DISABLE_TIMING),
                       "cuEventCreate");
        } else {
            event = free.back();
            free.pop_back();
        }
        return event;
    }
    void give_back(std::atomic<std::uint32_t> *word) noexcept {
        const std::lock_guard lock(mutex_);
        words_.push_back(word);
    }
    void give_back(CUevent event, CUcontext context) noexcept {
        const std::lock_guard lock(mutex_);
        events_[context].push_back(event);
    }

private:
    void add_page(const Cuda &driver) {
        words_.reserve(all_words_ + kPageWords);
        void *memory = nullptr;
        check_cuda(driver,
                   driver.allocate_host(&memory, kPageWords * sizeof(std::uint32_t),
                                        CU_MEMHOSTALLOC_PORTABLE),
                   "cuMemHostAlloc of words that streams wait for");
        all_words_ += kPageWords;
        auto *const first = static_cast<std::atomic<std::uint32_t> *>(memory);
        for (std::size_t k = 0; k < kPageWords; ++k)
            words_.push_back(new (first + k) std::atomic<std::uint32_t>(0));
    }

    std::mutex mutex_;
    std::vector<std::atomic<std::uint32_t> *> words_;
    std::map<CUcontext, std::vector<CUevent>> events_;
    std::size_t all_words_ = 0, made_ = 0;
};

Lazy<std::unique_ptr<Spare>> lazy_spare;
Spare &spare() {
    return *lazy_spare.get([] { return std::make_unique<Spare>(); });
}

const Cuda &driver_for_streams() {
    look_for_devices(); // the driver may have been loaded since the communicator was made
    if (!find_cuda())
        throw Error(Status::unsupported, "a call is to be ordered by a stream, but this process "
                                         "has not loaded the CUDA driver (libcuda.so.1)");
    const Cuda &driver = *cuda();
    if (driver.wait_value == nullptr || driver.is_capturing == nullptr ||
        driver.stream_context == nullptr)
        throw Error(Status::unsupported,
                    "the CUDA driver of this process cannot let a stream wait for a word of memory "
                    "(cuStreamWaitValue32_v2); install one of CUDA 11.7 or newer, or synchronize "
                    "the stream and make the call without it");
    return driver;
}

CUcontext context_of_stream(const Cuda &driver, const void *memory, CUstream stream) {
    if (reinterpret_cast<std::uintptr_t>(stream) <= kLastDefaultStream)
        return context_of(driver, place_of(memory));
    CUcontext context = nullptr;
    check_cuda(driver, driver.stream_context(stream, &context), "cuStreamGetCtx");
    return context;
}

} // namespace

StreamOrder::StreamOrder(const void *memory, void *handle) : driver_(driver_for_streams()) {
    CUstream const stream = static_cast<CUstream>(handle);
    context_ = context_of_stream(driver_, memory, stream);
    const Current current(driver_, context_);
    int capturing = 0;
    check_cuda(driver_, driver_.is_capturing(stream, &capturing), "cuStreamIsCapturing");
    if (capturing != 0)
        throw Error(Status::unsupported,
                    "the stream is being captured into a CUDA graph, and a graph cannot hold a "
                    "collective; make the call before cudaStreamBeginCapture or after "
                    "cudaStreamEndCapture");
    event_ = spare().take_event(driver_, context_);
    try {
        word_ = spare().take_word(driver_);
        check_cuda(driver_, driver_.record(event_, stream), "cuEventRecord");
        check_cuda(driver_,
                   driver_.wait_value(stream, reinterpret_cast<std::uintptr_t>(word_),
                                      word_->load(std::memory_order_relaxed) + 1,
                                      CU_STREAM_WAIT_VALUE_GEQ),
                   "cuStreamWaitValue32");
    } catch (...) {
        spare().give_back(event_, context_);
        if (word_ != nullptr)
            spare().give_back(word_);
        throw;
    }
}

StreamOrder::~StreamOrder() {
    release();
    spare().give_back(event_, context_);
    spare().give_back(word_);
}

bool StreamOrder::open() {
    const Current current(driver_, context_);
    const CUresult result = driver_.query(event_);
    if (result == CUDA_ERROR_NOT_READY)
        return false;
    check_cuda(driver_, result, "the work of the stream before the call (cuEventQuery)");
    return true;
}

void StreamOrder::release() noexcept {
    if (!released_.exchange(true, std::memory_order_acq_rel))
        word_->fetch_add(1, std::memory_order_release);
}

} // namespace stretto::device
