// SPDX-License-Identifier: BSD-3-Clause
// The backend, compiled for one release of PyTorch.  A blocking call of contiguous tensors whose
// type the library knows runs here, without Python; every other call is one of
// stretto.torch.collectives, which makes the same call of the library in the end.
#include <optional>
#include <pybind11/chrono.h>
#include <torch/extension.h>

#include <ATen/record_function.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/utils/pybind.h>

#include "call_runner.hpp"
#include "work.hpp"

namespace py = pybind11;

namespace stretto::torch_backend {

namespace {

using c10d::Work;
using WorkPointer = c10::intrusive_ptr<Work>;
using Tensors = std::vector<at::Tensor>;
using Lists = std::vector<Tensors>;
using Splits = std::vector<std::int64_t>;

std::optional<stretto_dtype> dtype_of(const at::Tensor &tensor) {
    switch (tensor.scalar_type()) {
    case at::kChar: return STRETTO_INT8;
    case at::kShort: return STRETTO_INT16;
    case at::kInt: return STRETTO_INT32;
    case at::kLong: return STRETTO_INT64;
    case at::kByte: return STRETTO_UINT8;
    case at::kUInt16: return STRETTO_UINT16;
    case at::kUInt32: return STRETTO_UINT32;
    case at::kUInt64: return STRETTO_UINT64;
    case at::kHalf: return STRETTO_FLOAT16;
    case at::kBFloat16: return STRETTO_BFLOAT16;
    case at::kFloat: return STRETTO_FLOAT32;
    case at::kDouble: return STRETTO_FLOAT64;
    case at::kComplexFloat: return STRETTO_COMPLEX64;
    case at::kComplexDouble: return STRETTO_COMPLEX128;
    case at::kBool: return STRETTO_BOOL;
    default: return std::nullopt;
    }
}

// Of numbers, not of truth values, whose sums and products mean something else.
std::optional<stretto_op> op_of(const c10d::ReduceOp &op, stretto_dtype dtype) {
    const bool has_average = dtype >= STRETTO_FLOAT16 && dtype <= STRETTO_COMPLEX128;
    switch (op.op_) {
    case c10d::ReduceOp::SUM:
        return dtype == STRETTO_BOOL ? std::nullopt : std::optional(STRETTO_SUM);
    case c10d::ReduceOp::PRODUCT:
        return dtype == STRETTO_BOOL ? std::nullopt : std::optional(STRETTO_PROD);
    case c10d::ReduceOp::AVG: return has_average ? std::optional(STRETTO_AVG) : std::nullopt;
    case c10d::ReduceOp::MIN: return STRETTO_MIN;
    case c10d::ReduceOp::MAX: return STRETTO_MAX;
    case c10d::ReduceOp::BAND: return STRETTO_BAND;
    case c10d::ReduceOp::BOR: return STRETTO_BOR;
    case c10d::ReduceOp::BXOR: return STRETTO_BXOR;
    default: return std::nullopt;
    }
}

bool is_plain(const at::Tensor &tensor) {
    return tensor.layout() == at::kStrided && tensor.device().is_cpu() && tensor.is_contiguous() &&
           !tensor.is_conj() && !tensor.is_neg();
}

// Between tensors that are plain.
bool overlap(const at::Tensor &one, const at::Tensor &other) {
    const auto *first = static_cast<const std::byte *>(one.const_data_ptr());
    const auto *second = static_cast<const std::byte *>(other.const_data_ptr());
    return first < second + other.nbytes() && second < first + one.nbytes();
}

const python::CallRunner &runner() {
    static const auto *const found = [] {
        const py::gil_scoped_acquire gil;
        const void *given = PyCapsule_Import(python::CallRunner::kName, 0);
        if (given == nullptr)
            throw py::error_already_set();
        return static_cast<const python::CallRunner *>(given);
    }();
    return *found;
}

class Backend final : public c10d::Backend {
public:
    // comm: the communicator's address; 0: no call may be made here.
    Backend(py::object calls, std::uintptr_t comm, int rank, int size)
        : c10d::Backend(rank, size), calls_(std::move(calls)),
          comm_(reinterpret_cast<stretto_comm>(comm)) {}
    ~Backend() override {
        const py::gil_scoped_acquire gil;
        calls_ = py::object();
    }

    const std::string getBackendName() const override { return "stretto"; }
    bool supportsCoalescing() const override { return true; }
    void startCoalescing() override { leave("start_coalescing"); }
    WorkPointer endCoalescing() override { return ask("end_coalescing"); }

    // ---- reductions

    WorkPointer allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts) override {
        if (const auto dtype = of_one(opts, tensors))
            if (const auto op = op_of(opts.reduceOp, *dtype)) {
                const at::Tensor &tensor = tensors[0];
                return ended(opts, {tensor}, [&] {
                    return stretto_allreduce(comm_, STRETTO_IN_PLACE, tensor.mutable_data_ptr(),
                                             count(tensor), *dtype, *op);
                });
            }
        return ask("allreduce", tensors, opts);
    }
    WorkPointer allreduce_sparse(Tensors &tensors, const c10d::AllreduceOptions &opts) override {
        return ask("allreduce_sparse", tensors, opts);
    }
    WorkPointer allreduce_coalesced(Tensors &tensors,
                                    const c10d::AllreduceCoalescedOptions &opts) override {
        return ask("allreduce_coalesced", tensors, opts);
    }
    WorkPointer reduce(Tensors &tensors, const c10d::ReduceOptions &opts) override {
        return ask("reduce", tensors, opts);
    }
    WorkPointer reduce_scatter(Tensors &outputs, Lists &inputs,
                               const c10d::ReduceScatterOptions &opts) override {
        return ask("reduce_scatter", outputs, inputs, opts);
    }
    WorkPointer reduce_scattered(at::Tensor &output, at::Tensor &input,
                                 const c10d::ReduceScatterOptions &opts) {
        if (const auto dtype = of_two(opts, input, output, count(output) * ranks(), count(input)))
            if (const auto op = op_of(opts.reduceOp, *dtype))
                return ended(opts, {output}, [&] {
                    return stretto_reduce_scatter(comm_, input.const_data_ptr(),
                                                  output.mutable_data_ptr(), count(output), *dtype,
                                                  *op);
                });
        return ask("reduce_scatter_single", output, input, opts);
    }
    WorkPointer reduce_scattered(Tensors &outputs, Tensors &inputs,
                                 const c10d::ReduceScatterOptions &opts) {
        return ask("reduce_scatter_single_coalesced", outputs, inputs, opts);
    }

    // ---- movement

    WorkPointer broadcast(Tensors &tensors, const c10d::BroadcastOptions &opts) override {
        if (const auto dtype = of_one(opts, tensors)) {
            const at::Tensor &tensor = tensors[0];
            return ended(opts, {tensor}, [&] {
                return stretto_broadcast(comm_, tensor.mutable_data_ptr(), count(tensor), *dtype,
                                         static_cast<int>(opts.rootRank));
            });
        }
        return ask("broadcast", tensors, opts);
    }
    WorkPointer allgather(Lists &outputs, Tensors &inputs,
                          const c10d::AllgatherOptions &opts) override {
        return ask("allgather", outputs, inputs, opts);
    }
    WorkPointer allgather_coalesced(Lists &outputs, Tensors &inputs,
                                    const c10d::AllgatherOptions &opts) override {
        return ask("allgather_coalesced", outputs, inputs, opts);
    }
    WorkPointer all_gathered(at::Tensor &output, at::Tensor &input,
                             const c10d::AllgatherOptions &opts) {
        if (const auto dtype = of_two(opts, input, output, count(input) * ranks(), count(output)))
            return ended(opts, {output}, [&] {
                return stretto_allgather(comm_, input.const_data_ptr(), output.mutable_data_ptr(),
                                         count(input), *dtype);
            });
        return ask("all_gather_single", output, input, opts);
    }
    WorkPointer all_gathered(Tensors &outputs, Tensors &inputs,
                             const c10d::AllgatherOptions &opts) {
        return ask("all_gather_single_coalesced", outputs, inputs, opts);
    }
    WorkPointer gather(Lists &outputs, Tensors &inputs, const c10d::GatherOptions &opts) override {
        return ask("gather", outputs, inputs, opts);
    }
    WorkPointer scatter(Tensors &outputs, Lists &inputs,
                        const c10d::ScatterOptions &opts) override {
        return ask("scatter", outputs, inputs, opts);
    }
    WorkPointer alltoall(Tensors &outputs, Tensors &inputs,
                         const c10d::AllToAllOptions &opts) override {
        return ask("alltoall", outputs, inputs, opts);
    }
    WorkPointer exchanged(at::Tensor &output, at::Tensor &input, Splits &output_splits,
                          Splits &input_splits, const c10d::AllToAllOptions &opts) {
        if (output_splits.empty() && input_splits.empty() && count(input) % ranks() == 0)
            if (const auto dtype = of_two(opts, input, output, count(input), count(output)))
                return ended(opts, {output}, [&] {
                    return stretto_alltoall(comm_, input.const_data_ptr(),
                                            output.mutable_data_ptr(), count(input) / ranks(),
                                            *dtype);
                });
        return ask("all_to_all_single", output, input, output_splits, input_splits, opts);
    }

    // ---- messages

    WorkPointer send(Tensors &tensors, int dest, int tag) override {
        return ask("send", tensors, dest, tag);
    }
    WorkPointer recv(Tensors &tensors, int source, int tag) override {
        return ask("recv", tensors, source, tag);
    }
    WorkPointer recvAnysource(Tensors &tensors, int tag) override {
        return ask("recv_anysource", tensors, tag);
    }

    // ---- synchronization

    WorkPointer barrier(const c10d::BarrierOptions &opts) override {
        if (!opts.asyncOp && runs_here() && !at::hasCUDA()) // which has streams to wait for
            return ended(opts, {}, [&] { return stretto_barrier(comm_); });
        return ask("barrier", opts);
    }
    void monitoredBarrier(const c10d::BarrierOptions &opts, bool all_ranks) override {
        leave("monitored_barrier", opts, all_ranks);
    }

    // ---- the names that this PyTorch has

#ifdef C10D_BACKEND_HAS_RECONFIGURE // 2.14
    WorkPointer all_gather_single(at::Tensor &output, at::Tensor &input,
                                  const c10d::AllgatherOptions &opts) override {
        return all_gathered(output, input, opts);
    }
    WorkPointer all_gather_single_coalesced(Tensors &outputs, Tensors &inputs,
                                            const c10d::AllgatherOptions &opts) override {
        return all_gathered(outputs, inputs, opts);
    }
    WorkPointer reduce_scatter_single(at::Tensor &output, at::Tensor &input,
                                      const c10d::ReduceScatterOptions &opts) override {
        return reduce_scattered(output, input, opts);
    }
    WorkPointer reduce_scatter_single_coalesced(Tensors &outputs, Tensors &inputs,
                                                const c10d::ReduceScatterOptions &opts) override {
        return reduce_scattered(outputs, inputs, opts);
    }
    WorkPointer all_to_all_single(at::Tensor &output, at::Tensor &input, Splits &output_splits,
                                  Splits &input_splits,
                                  const c10d::AllToAllOptions &opts) override {
        return exchanged(output, input, output_splits, input_splits, opts);
    }
#else
    WorkPointer _allgather_base(at::Tensor &output, at::Tensor &input,
                                const c10d::AllgatherOptions &opts) override {
        return all_gathered(output, input, opts);
    }
    WorkPointer allgather_into_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                const c10d::AllgatherOptions &opts) override {
        return all_gathered(outputs, inputs, opts);
    }
    WorkPointer _reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                                     const c10d::ReduceScatterOptions &opts) override {
        return reduce_scattered(output, input, opts);
    }
    WorkPointer reduce_scatter_tensor_coalesced(Tensors &outputs, Tensors &inputs,
                                                const c10d::ReduceScatterOptions &opts) override {
        return reduce_scattered(outputs, inputs, opts);
    }
    WorkPointer alltoall_base(at::Tensor &output, at::Tensor &input, Splits &output_splits,
                              Splits &input_splits, const c10d::AllToAllOptions &opts) override {
        return exchanged(output, input, output_splits, input_splits, opts);
    }
#endif

    // ---- life

    void setTimeout(std::chrono::milliseconds timeout) override { leave("set_timeout", timeout); }
    bool supportsShrinking() const override { return true; }
    c10::intrusive_ptr<c10d::Backend> shrink(const std::vector<int64_t> &ranks_to_exclude,
                                             int shrink_flags,
                                             const c10::intrusive_ptr<Options> &opts) override {
        const py::gil_scoped_acquire gil;
        const py::object options = opts == nullptr ? py::none() : py::cast(opts);
        return calls_.attr("shrink")(ranks_to_exclude, shrink_flags, options)
            .cast<c10::intrusive_ptr<c10d::Backend>>();
    }
    void abort() override { leave("abort"); }
    void shutdown() override { leave("shutdown"); }
    void setSequenceNumberForGroup() override { leave("_set_sequence_number_for_group"); }
    std::uint64_t getSequenceNumberForGroup() override {
        const py::gil_scoped_acquire gil;
        return calls_.attr("_get_sequence_number_for_group")().cast<std::uint64_t>();
    }
    bool supportsTensorAlloc(c10::DeviceIndex) override { return true; }
    at::Tensor allocateTensor(long size, at::TensorOptions options) override {
        const py::gil_scoped_acquire gil;
        const py::object dtype = py::cast(c10::typeMetaToScalarType(options.dtype()));
        const py::object device = py::cast(options.device());
        return calls_
            .attr("allocate_tensor")(size, py::arg("dtype") = dtype, py::arg("device") = device)
            .cast<at::Tensor>();
    }

    py::object calls() const { return calls_; }

private:
    static std::size_t count(const at::Tensor &tensor) {
        return static_cast<std::size_t>(tensor.numel());
    }
    std::size_t ranks() const { return static_cast<std::size_t>(getSize()); }

    bool runs_here() const { return comm_ != nullptr && !at::hasCallbacks(); }

    // The type of the elements if a blocking call of one tensor can run here.
    template<class Options>
    std::optional<stretto_dtype> of_one(const Options &opts, const Tensors &tensors) const {
        if (opts.asyncOp || !runs_here() || tensors.size() != 1 || !is_plain(tensors[0]))
            return std::nullopt;
        return dtype_of(tensors[0]);
    }
    // The same of two tensors, whose sizes fit.
    template<class Options>
    std::optional<stretto_dtype> of_two(const Options &opts, const at::Tensor &input,
                                        const at::Tensor &output, std::size_t wanted,
                                        std::size_t found) const {
        if (opts.asyncOp || !runs_here() || wanted != found ||
            input.scalar_type() != output.scalar_type() || !is_plain(input) || !is_plain(output) ||
            overlap(input, output))
            return std::nullopt;
        return dtype_of(input);
    }

    // Makes a blocking call.
    template<class Options, class Body>
    WorkPointer ended(const Options &opts, Tensors result, Body &&body) {
        const bool limited = opts.timeout.count() > 0;
        if (limited)
            (void)stretto_set_thread_timeout(static_cast<double>(opts.timeout.count()) / 1e3);
        const bool well = runner().run(
            [](void *context) {
                return (*static_cast<std::remove_reference_t<Body> *>(context))();
            },
            &body);
        if (limited)
            (void)stretto_set_thread_timeout(0);
        if (!well) {
            const py::gil_scoped_acquire gil;
            throw py::error_already_set();
        }
        return done(std::move(result));
    }

    template<class... Arguments>
    WorkPointer ask(const char *method, Arguments &...arguments) {
        const py::gil_scoped_acquire gil;
        return held(calls_.attr(method)(arguments...));
    }
    template<class... Arguments>
    void leave(const char *method, const Arguments &...arguments) {
        const py::gil_scoped_acquire gil;
        (void)calls_.attr(method)(arguments...);
    }

    py::object calls_;
    const stretto_comm comm_;
};

} // namespace

} // namespace stretto::torch_backend

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
    using stretto::torch_backend::Backend;
    py::module::import("torch.distributed");
    py::class_<Backend, c10d::Backend, c10::intrusive_ptr<Backend>>(module, "Backend")
        .def(py::init<py::object, std::uintptr_t, int, int>(), py::arg("calls"), py::arg("comm"),
             py::arg("rank"), py::arg("size"))
        .def_property_readonly("calls", &Backend::calls);
}
