// SPDX-License-Identifier: BSD-3-Clause
#include "device/stream_order.hpp"

#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/lazy.hpp"
#include "device/cuda_executor.hpp"
#include "device/devices.hpp"
#include "device/program_streams.hpp"

namespace stretto::device {

namespace {

constexpr std::size_t kAllWords = 16384; // a stream itself holds fewer calls than that

// Words and events that no call uses.  A word only grows, by one for each call.  So a stream that
// has not yet seen that it was released goes on later, although another call uses the word.
class Spare {
public:
    // With a context current.
    std::atomic<std::uint32_t> *take_word() {
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
    CUevent take_event(const Cuda &driver, const Context &context) {
        CUevent event = nullptr;
        {
            const std::lock_guard lock(mutex_);
            std::vector<CUevent> &free = events_[context];
            if (!free.empty()) {
                event = free.back();
                free.pop_back();
                return event;
            }
            free.reserve(++made_); // giving back allocates nothing
        }
        check_cuda(driver, driver.create_event(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
        return event;
    }
    void give_back(std::atomic<std::uint32_t> *word) noexcept {
        const std::lock_guard lock(mutex_);
        words_.push_back(word);
    }
    void give_back(CUevent event, const Context &context) noexcept {
        const std::lock_guard lock(mutex_);
        events_[context].push_back(event);
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
    std::map<Context, std::vector<CUevent>> events_;
    bool allocated_ = false;
    std::size_t made_ = 0;
};

Lazy<std::unique_ptr<Spare>> lazy_spare;
Spare &spare() {
    return *lazy_spare.get([] { return std::make_unique<Spare>(); });
}

const Cuda &driver_for_streams(StreamOrder::Then then) {
    look_for_devices(); // the driver may have been loaded since the communicator was made
    if (!find_cuda())
        throw Error(Status::unsupported, "a call is to be ordered by a stream, but this process "
                                         "has not loaded the CUDA driver (libcuda.so.1)");
    const Cuda &driver = *cuda();
    if (then == StreamOrder::Then::waits &&
        (driver.wait_value == nullptr || driver.is_capturing == nullptr ||
         driver.stream_context == nullptr))
        throw Error(Status::unsupported,
                    "the CUDA driver of this process cannot let a stream wait for a word of memory "
                    "(cuStreamWaitValue32_v2); install one of CUDA 11.7 or newer, or synchronize "
                    "the stream and make the call without it");
    return driver;
}

} // namespace

StreamOrder::StreamOrder(const void *memory, void *handle, Then then, Patience patience)
    : WaitingStream(std::move(patience)), driver_(driver_for_streams(then)),
      stream_(static_cast<CUstream>(handle)), then_(then),
      context_(identified(driver_, context_of_stream(driver_, memory, stream_))) {
    const Current current(driver_, context_.handle);
    require_no_capture(driver_, stream_);
    holds_default_ = default_waits_for(driver_, stream_);
    if (const Place place = place_of(memory); place.on_device)
        buffers_context_ = context_of(driver_, place);
}

engine::Executor *StreamOrder::executor() {
    return &cuda_executor();
}

// Calls with host memory prepare the device as well: a later one with memory of the device may come
// while a stream waits for this one.
void StreamOrder::close() {
    CudaExecutor &executor = cuda_executor();
    executor.prepare(context_.handle);
    if (buffers_context_ != nullptr && buffers_context_ != context_.handle)
        executor.prepare(buffers_context_);
    const WaitingStreams::Giving giving(executor.waiting_streams());
    const Current current(driver_, context_.handle);
    const CUevent event = spare().take_event(driver_, context_);
    try {
        check_stream(driver_, driver_.record(event, stream_), "cuEventRecord");
        if (then_ == Then::waits)
            let_wait();
    } catch (...) {
        spare().give_back(event, context_);
        throw;
    }
    event_.store(event, std::memory_order_release);
}

void StreamOrder::let_wait() {
    WaitingStreams &waiting = cuda_executor().waiting_streams();
    word_ = spare().take_word();
    const std::uint32_t value = word_->load(std::memory_order_relaxed) + 1;
    try {
        waiting.began(*this, holds_default_);
    } catch (...) {
        spare().give_back(word_);
        throw;
    }
    const CUresult result = driver_.wait_value(stream_, reinterpret_cast<std::uintptr_t>(word_),
                                               value, CU_STREAM_WAIT_VALUE_GEQ);
    if (result != CUDA_SUCCESS) {
        waiting.ended(*this);
        spare().give_back(word_);
    }
    check_stream(driver_, result, "cuStreamWaitValue32");
    let_wait_.store(true, std::memory_order_release);
}

bool StreamOrder::open() {
    const Current current(driver_, context_.handle);
    const CUresult result = driver_.query(event_.load(std::memory_order_acquire));
    if (result == CUDA_ERROR_NOT_READY)
        return false;
    check_cuda(driver_, result, "the work of the stream before the call (cuEventQuery)");
    return true;
}

void StreamOrder::require_wait() const {
    if (given_up_.load(std::memory_order_acquire))
        throw patience().segment->failure();
}

// Under the lock of the streams that wait, so it takes none of others.
void StreamOrder::go_on(Why why) noexcept {
    if (why == Why::given_up)
        given_up_.store(true, std::memory_order_release);
    word_->fetch_add(1, std::memory_order_release);
}

void StreamOrder::release() noexcept {
    if (let_wait_.exchange(false, std::memory_order_acq_rel)) {
        cuda_executor().waiting_streams().ended(*this);
        spare().give_back(word_);
    }
    if (const CUevent event = event_.exchange(nullptr, std::memory_order_acq_rel))
        spare().give_back(event, context_);
}

} // namespace stretto::device
