// SPDX-License-Identifier: BSD-3-Clause
#include "device/stream_order.hpp"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/lazy.hpp"
#include "device/cuda_executor.hpp"
#include "device/devices.hpp"
#include "device/program_streams.hpp"

namespace stretto::device {

namespace {

// Events that no call uses, by context.
class SpareEvents {
public:
    // With the context current.
    CUevent take(const Cuda &driver, const Context &context) {
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
    void give_back(CUevent event, const Context &context) noexcept {
        const std::lock_guard lock(mutex_);
        events_[context].push_back(event);
    }

private:
    std::mutex mutex_;
    std::map<Context, std::vector<CUevent>> events_;
    std::size_t made_ = 0;
};

Lazy<std::unique_ptr<SpareEvents>> lazy_events;
SpareEvents &spare_events() {
    return *lazy_events.get([] { return std::make_unique<SpareEvents>(); });
}

const Cuda &driver_for_streams(StreamOrder::Then then) {
    look_for_devices(); // the driver may have been loaded since the communicator was made
    if (!find_cuda())
        throw Error(Status::unsupported, "a call is to be ordered by a stream, but this process "
                                         "has not loaded the CUDA driver (libcuda.so.1)");
    const Cuda &driver = *cuda();
    if (then == StreamOrder::Then::waits)
        StreamWait::require(driver);
    return driver;
}

} // namespace

StreamOfCall::StreamOfCall(const Cuda &driver, const void *memory, void *stream)
    : handle(static_cast<CUstream>(stream)),
      context(identified(driver, context_of_stream(driver, memory, handle))) {
    const Current current(driver, context.handle);
    require_no_capture(driver, handle);
    holds_default = default_waits_for(driver, handle);
    if (const Place place = place_of(memory); place.on_device)
        buffers_context = context_of(driver, place);
}

// For host memory too: a later call with memory of the device may come while the stream waits.
void StreamOfCall::prepare() const {
    CudaExecutor &executor = cuda_executor();
    executor.prepare(context.handle);
    if (buffers_context != nullptr && buffers_context != context.handle)
        executor.prepare(buffers_context);
}

StreamOrder::StreamOrder(const void *memory, void *stream, Then then, Patience patience)
    : driver_(driver_for_streams(then)), then_(then), stream_(driver_, memory, stream),
      wait_(std::move(patience)) {}

engine::Executor *StreamOrder::executor() {
    return &cuda_executor();
}

void StreamOrder::close() {
    stream_.prepare();
    const WaitingStreams::Giving giving(cuda_executor().waiting_streams());
    const Current current(driver_, stream_.context.handle);
    const CUevent event = spare_events().take(driver_, stream_.context);
    try {
        // Two threads may take places in one stream.
        static std::mutex mutex;
        static std::uint64_t places = 0;
        const std::lock_guard lock(mutex);
        number_ = ++places;
        check_stream(driver_, driver_.record(event, stream_.handle), "cuEventRecord");
        if (then_ == Then::waits)
            wait_.begin(driver_, stream_.handle, stream_.holds_default);
    } catch (...) {
        spare_events().give_back(event, stream_.context);
        throw;
    }
    event_.store(event, std::memory_order_release);
}

// A default stream's handle is that of others as well.
const void *StreamOrder::order() const {
    return is_default(stream_.handle) ? nullptr : stream_.handle;
}

bool StreamOrder::open() {
    const Current current(driver_, stream_.context.handle);
    const CUresult result = driver_.query(event_.load(std::memory_order_acquire));
    if (result == CUDA_ERROR_NOT_READY)
        return false;
    check_cuda(driver_, result, "the work of the stream before the call (cuEventQuery)");
    return true;
}

void StreamOrder::release() noexcept {
    wait_.end();
    if (const CUevent event = event_.exchange(nullptr, std::memory_order_acq_rel))
        spare_events().give_back(event, stream_.context);
}

void let_stream_wait(StreamWait &wait, const void *memory, void *handle) {
    const Cuda &driver = driver_for_streams(StreamOrder::Then::waits);
    const StreamOfCall stream(driver, memory, handle);
    stream.prepare();
    const WaitingStreams::Giving giving(cuda_executor().waiting_streams());
    const Current current(driver, stream.context.handle);
    wait.begin(driver, stream.handle, stream.holds_default);
}

} // namespace stretto::device
