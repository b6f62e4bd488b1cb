// SPDX-License-Identifier: BSD-3-Clause
// Tensors in the memory of the simulated device.  Copies and fills of any strides are kernels,
// which the device runs when the stream comes to them; every other operation waits for the stream,
// and is PyTorch's own, of the CPU, on copies.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/dlpack.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <pybind11/pybind11.h>
#include <stdexcept>
#include <sys/types.h>
#include <torch/library.h>
#include <tuple>
#include <utility>
#include <vector>

#include "device.hpp"

namespace py = pybind11;

namespace simulated_torch {

namespace {

// What a torch.cuda.MemPool may take memory by, in place of the driver.
using Source = void *(*)(ssize_t bytes, int device, void *stream);
thread_local Source source = nullptr;
bool expandable_segments = false; // memory of the driver has no handle then

// As PyTorch's caching allocator: memory that is given back serves the next tensor of its size and
// stream at once, although work that was given to the stream before may still use it.
class Pool final : public c10::Allocator {
public:
    c10::DataPtr allocate(std::size_t bytes) override {
        const c10::Device device(c10::kCUDA, 0);
        if (bytes == 0)
            return {nullptr, device};
        const Kind kind(current_stream, (bytes + 511) / 512 * 512, source, expandable_segments);
        const std::lock_guard lock(mutex_);
        std::vector<unsigned long long> &blocks = free_[kind];
        unsigned long long memory = 0;
        if (blocks.empty()) {
            memory = fresh(kind);
        } else {
            memory = blocks.back();
            blocks.pop_back();
        }
        return {reinterpret_cast<void *>(memory), new Block{*this, kind, memory}, &give_back,
                device};
    }
    void copy_data(void *, const void *, std::size_t) const override {
        throw std::logic_error("simulated CUDA: no memory is moved without a stream");
    }

private:
    using Kind = std::tuple<void *, std::size_t, Source, bool>;
    static unsigned long long fresh(const Kind &kind) {
        const auto [stream, bytes, from, expandable] = kind;
        unsigned long long memory = 0;
        if (from != nullptr) {
            memory =
                reinterpret_cast<unsigned long long>(from(static_cast<ssize_t>(bytes), 0, stream));
        } else {
            simulated_cuda_without_handles(expandable);
            require("cuMemAlloc", cuMemAlloc_v2, &memory, bytes);
            simulated_cuda_without_handles(false);
        }
        if (memory == 0)
            throw std::runtime_error("simulated CUDA: no memory");
        return memory;
    }
    struct Block {
        Pool &pool;
        Kind kind;
        unsigned long long memory;
    };
    static void give_back(void *context) {
        const std::unique_ptr<Block> block(static_cast<Block *>(context));
        const std::lock_guard lock(block->pool.mutex_);
        block->pool.free_[block->kind].push_back(block->memory);
    }

    std::mutex mutex_;
    std::map<Kind, std::vector<unsigned long long>> free_;
};

Pool pool;

// The tensor as kernels see it.  It does not keep the memory, as no kernel does.
at::Tensor in_kernel(const at::Tensor &tensor) {
    if (tensor.numel() == 0)
        return at::empty_strided(tensor.sizes(), tensor.strides(),
                                 tensor.options().device(at::kCPU));
    auto *const first = static_cast<std::byte *>(
        simulated_cuda_memory(reinterpret_cast<std::uint64_t>(tensor.const_data_ptr())));
    return at::from_blob(first, tensor.sizes(), tensor.strides(),
                         tensor.options().device(at::kCPU));
}

void launch(std::function<void()> kernel) {
    auto waiting = std::make_unique<std::function<void()>>(std::move(kernel));
    require(
        "cuLaunchKernel", simulated_cuda_launch, current_stream,
        +[](void *context) {
            const std::unique_ptr<std::function<void()>> run(
                static_cast<std::function<void()> *>(context));
            const at::AutoDispatchBelowADInplaceOrView guard;
            (*run)();
        },
        static_cast<void *>(waiting.release()));
}

void synchronize() {
    require("cuStreamSynchronize", cuStreamSynchronize, current_stream);
}

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
    return at::detail::empty_generic(size, &pool, c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                     c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                         std::optional<at::Device>, std::optional<bool>) {
    return at::detail::empty_strided_generic(size, stride, &pool,
                                             c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                             c10::dtype_or_default(dtype));
}

// Between the device and host memory the host waits, but for a copy to the device that may be late:
// the driver reads memory that is not pinned at once.
at::Tensor &copy_(at::Tensor &to, const at::Tensor &from, bool late) {
    if (to.is_cuda() && from.is_cuda()) {
        launch([to = in_kernel(to), from = in_kernel(from)] { to.copy_(from); });
    } else if (to.is_cuda()) {
        launch([to = in_kernel(to), from = from.clone()] { to.copy_(from); });
        if (!late)
            synchronize();
    } else {
        launch([to, from = in_kernel(from)] { to.copy_(from); });
        synchronize();
    }
    return to;
}

at::Tensor copy_from(const at::Tensor &from, const at::Tensor &to, bool late) {
    at::Tensor target = to;
    return copy_(target, from, late);
}

at::Tensor copy_from_and_resize(const at::Tensor &from, const at::Tensor &to) {
    if (from.sizes() != to.sizes()) {
        const at::Tensor fresh = at::empty(from.sizes(), to.options());
        to.unsafeGetTensorImpl()->set_storage_keep_dtype(fresh.storage());
        to.unsafeGetTensorImpl()->set_sizes_contiguous(from.sizes());
    }
    return copy_from(from, to, false);
}

at::Tensor &fill(at::Tensor &tensor, const at::Scalar &value) {
    launch([to = in_kernel(tensor), value] { to.fill_(value); });
    return tensor;
}
at::Tensor &zero(at::Tensor &tensor) {
    return fill(tensor, 0);
}

at::Tensor cat(const at::ITensorListRef &tensors, std::int64_t dim) {
    const std::vector<at::Tensor> parts(tensors.begin(), tensors.end());
    std::vector<std::int64_t> size = parts.at(0).sizes().vec();
    const auto along = static_cast<std::size_t>(dim < 0 ? dim + parts[0].dim() : dim);
    size[along] = 0;
    for (const at::Tensor &part : parts)
        size[along] += part.size(dim);
    at::Tensor whole = at::empty(size, parts[0].options());
    std::int64_t at = 0;
    for (const at::Tensor &part : parts) {
        whole.narrow(dim, at, part.size(dim)).copy_(part);
        at += part.size(dim);
    }
    return whole;
}

void fallback(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
    at::native::cpu_fallback(op, stack, true); // no views, which would be copies
}

TORCH_LIBRARY_IMPL(_, CUDA, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}
TORCH_LIBRARY_IMPL(aten, CUDA, library) {
    library.impl("empty.memory_format", &empty);
    library.impl("empty_strided", &empty_strided);
    library.impl("as_strided", &at::native::as_strided_tensorimpl);
    library.impl("view", &at::native::view);
    library.impl("_reshape_alias", &at::native::_reshape_alias);
    library.impl("view_as_real", &at::native::view_as_real);
    library.impl("view_as_complex", &at::native::view_as_complex);
    library.impl("unfold", &at::native::unfold);
    library.impl("copy_", &copy_);
    library.impl("_copy_from", &copy_from);
    library.impl("_copy_from_and_resize", &copy_from_and_resize);
    library.impl("fill_.Scalar", &fill);
    library.impl("zero_", &zero);
    library.impl("cat", &cat);
}

int current_work_stream(DLDeviceType, std::int32_t, void **stream) {
    *stream = current_stream;
    return 0;
}

// The functions by which PyTorch's tensors are described in C, with the stream of a build for GPUs.
py::object exchange_api() {
    constexpr const char *name = "dlpack_exchange_api";
    const py::object own = py::module::import("torch._C").attr("_dlpack_exchange_api")();
    static DLPackExchangeAPI api =
        *static_cast<const DLPackExchangeAPI *>(PyCapsule_GetPointer(own.ptr(), name));
    api.header.prev_api = nullptr;
    api.current_work_stream = &current_work_stream;
    return py::reinterpret_steal<py::object>(PyCapsule_New(&api, name, nullptr));
}

// Until it is opened, the current stream does nothing that comes behind.
class Gate {
public:
    Gate() {
        void *memory = nullptr;
        require("cuMemHostAlloc", cuMemHostAlloc, &memory, sizeof(*word_), 0u);
        word_ = new (memory) std::atomic<std::uint32_t>(0);
        require("cuStreamWaitValue32", cuStreamWaitValue32_v2, current_stream,
                reinterpret_cast<unsigned long long>(memory), 1u, 0u);
    }
    void open() { word_->store(1); }

private:
    std::atomic<std::uint32_t> *word_ = nullptr; // which the device may look at later
};

} // namespace

} // namespace simulated_torch

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
    using namespace simulated_torch;
    module.def("exchange_api", &exchange_api);
    module.def("current_stream", [] { return reinterpret_cast<std::intptr_t>(current_stream); });
    module.def("set_stream", [](std::intptr_t stream) {
        current_stream = reinterpret_cast<void *>(stream); // NOLINT(performance-no-int-to-ptr)
    });
    module.def("set_source", [](std::intptr_t function) {
        source = reinterpret_cast<Source>(function); // NOLINT(performance-no-int-to-ptr)
    });
    module.def("set_expandable_segments", [](bool set) { expandable_segments = set; });
    module.def("fail", [](std::uint64_t after, int error) { simulated_cuda_fail(after, error); });
    py::class_<Gate>(module, "Gate").def(py::init<>()).def("open", &Gate::open);
}
