// SPDX-License-Identifier: BSD-3-Clause
#include "work.hpp"

#include <chrono>
#include <exception>
#include <pybind11/chrono.h>
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/utils/pybind.h>
#include <utility>

namespace py = pybind11;

namespace stretto::torch_backend {

namespace {

using c10::ivalue::Future;

class DoneWork final : public c10d::Work {
public:
    explicit DoneWork(std::vector<at::Tensor> result) : result_(std::move(result)) {}

    bool wait(std::chrono::milliseconds) override { return true; }
    void synchronize() override {}
    bool isCompleted() override { return true; }
    bool isSuccess() const override { return true; }
    std::exception_ptr exception() const override { return nullptr; }
    std::vector<at::Tensor> result() override { return result_; }
    c10::intrusive_ptr<Future> getFuture() override {
        auto future = c10::make_intrusive<Future>(c10::ListType::create(c10::TensorType::get()));
        future->markCompleted(c10::IValue(result_));
        return future;
    }

private:
    const std::vector<at::Tensor> result_;
};

class HeldWork final : public c10d::Work {
public:
    explicit HeldWork(py::object work) : work_(std::move(work)) {}
    ~HeldWork() override {
        const py::gil_scoped_acquire gil;
        work_ = py::object();
    }

    bool wait(std::chrono::milliseconds timeout) override {
        const py::gil_scoped_acquire gil;
        return (timeout == kNoTimeout ? work_.attr("wait")() : work_.attr("wait")(timeout))
            .cast<bool>();
    }
    void synchronize() override { wait(kNoTimeout); }
    bool isCompleted() override {
        const py::gil_scoped_acquire gil;
        return work_.attr("is_completed")().cast<bool>();
    }
    bool isSuccess() const override {
        const py::gil_scoped_acquire gil;
        return work_.attr("is_success")().cast<bool>();
    }
    std::exception_ptr exception() const override {
        const py::gil_scoped_acquire gil;
        const py::object error = work_.attr("exception")();
        if (error.is_none())
            return nullptr;
        const py::object type = py::type::of(error);
        PyErr_SetObject(type.ptr(), error.ptr());
        return std::make_exception_ptr(py::error_already_set());
    }
    int sourceRank() const override {
        const py::gil_scoped_acquire gil;
        return work_.attr("_source_rank")().cast<int>();
    }
    std::vector<at::Tensor> result() override {
        const py::gil_scoped_acquire gil;
        return work_.attr("result")().cast<std::vector<at::Tensor>>();
    }
    c10::intrusive_ptr<Future> getFuture() override {
        const py::gil_scoped_acquire gil;
        return work_.attr("get_future")()
            .cast<std::shared_ptr<torch::jit::PythonFutureWrapper>>()
            ->fut;
    }

private:
    py::object work_;
};

} // namespace

c10::intrusive_ptr<c10d::Work> done(std::vector<at::Tensor> result) {
    return c10::make_intrusive<DoneWork>(std::move(result));
}

c10::intrusive_ptr<c10d::Work> held(py::object work) {
    if (work.is_none())
        return done({});
    return c10::make_intrusive<HeldWork>(std::move(work));
}

} // namespace stretto::torch_backend
