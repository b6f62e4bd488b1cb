// SPDX-License-Identifier: BSD-3-Clause
// What PyTorch's libraries know of CUDA streams and events, over the simulated driver: the place of
// c10::cuda::impl::CUDAGuardImpl, which PyTorch's build for CPUs leaves empty.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <utility>

#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

#include "device.hpp"

namespace simulated_torch {

namespace {

const c10::Device kDevice(c10::kCUDA, 0);
constexpr int kNotReady = 600;

// The number of a stream is its handle.
c10::Stream stream_of(void *handle) {
    return c10::Stream(c10::Stream::UNSAFE, kDevice, reinterpret_cast<c10::StreamId>(handle));
}
void *handle_of(const c10::Stream &stream) {
    return reinterpret_cast<void *>(stream.id()); // NOLINT(performance-no-int-to-ptr)
}
bool happened(void *event) {
    const int answer = ask(cuEventQuery, event);
    TORCH_CHECK(answer == 0 || answer == kNotReady, "simulated CUDA: cuEventQuery: ", answer);
    return answer == 0;
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override { return c10::kCUDA; }
    c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
    c10::Device getDevice() const override { return kDevice; }
    void setDevice(c10::Device) const override {}
    void uncheckedSetDevice(c10::Device) const noexcept override {}
    c10::DeviceIndex deviceCount() const noexcept override { return 1; }

    c10::Stream getStream(c10::Device) const override { return stream_of(current_stream); }
    c10::Stream getDefaultStream(c10::Device) const override { return stream_of(nullptr); }
    c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
        return getNewStream(device, 0);
    }
    c10::Stream getNewStream(c10::Device, int) const override {
        void *made = nullptr;
        require("cuStreamCreate", cuStreamCreate, &made, 1u);
        return stream_of(made);
    }
    c10::Stream exchangeStream(c10::Stream stream) const override {
        return stream_of(std::exchange(current_stream, handle_of(stream)));
    }
    void *getStreamNativeHandle(const c10::Stream stream) const override {
        return handle_of(stream);
    }

    void record(void **event, const c10::Stream &stream, const c10::DeviceIndex,
                const c10::EventFlag) const override {
        if (*event == nullptr)
            require("cuEventCreate", cuEventCreate, event, 2u);
        require("cuEventRecord", cuEventRecord, *event, handle_of(stream));
    }
    void block(void *event, const c10::Stream &stream) const override {
        if (event != nullptr)
            require("cuStreamWaitEvent", cuStreamWaitEvent, handle_of(stream), event, 0u);
    }
    bool queryEvent(void *event) const override { return event == nullptr || happened(event); }
    bool queryStream(const c10::Stream &stream) const override {
        void *event = nullptr;
        record(&event, stream, 0, c10::EventFlag::PYTORCH_DEFAULT);
        return happened(event);
    }
    void synchronizeStream(const c10::Stream &stream) const override {
        require("cuStreamSynchronize", cuStreamSynchronize, handle_of(stream));
    }
    void synchronizeEvent(void *event) const override {
        void *waits = nullptr;
        require("cuStreamCreate", cuStreamCreate, &waits, 1u);
        require("cuStreamWaitEvent", cuStreamWaitEvent, waits, event, 0u);
        require("cuStreamSynchronize", cuStreamSynchronize, waits);
    }
};

// PyTorch asks for them once, in its import: they count if this was loaded before.
struct Hooks : at::CUDAHooksInterface {
    explicit Hooks(at::CUDAHooksArgs) {}
    void init() const override {}
    bool hasCUDA() const override { return true; }
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return true; }
    int getNumGPUs() const override { return 1; }
    c10::DeviceIndex deviceCount() const override { return 1; }
    c10::DeviceIndex current_device() const override { return 0; }
    c10::DeviceIndex getCurrentDevice() const override { return 0; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
};

// DDP asks for times of its steps, for a log.
struct Timer : c10d::Timer {
    explicit Timer(c10::Device) {}
    std::optional<std::int64_t> measureDifference(Event, Event) override { return std::nullopt; }
};

} // namespace

C10_REGISTER_GUARD_IMPL(CUDA, Guard)

} // namespace simulated_torch

namespace c10d {
C10_REGISTER_TYPED_CLASS(TimerRegistry, c10::kCUDA, simulated_torch::Timer)
} // namespace c10d

namespace at {
using CUDAHooks = simulated_torch::Hooks; // the name by which PyTorch asks for them
REGISTER_CUDA_HOOKS(CUDAHooks)
} // namespace at
