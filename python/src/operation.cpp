// SPDX-License-Identifier: BSD-3-Clause
#include "operation.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

#include "base/types.hpp"
#include "bindings.hpp"
#include "buffer.hpp"
#include "errors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace stretto::python {

namespace {

stretto_op op_named(std::string_view text) {
    std::string names;
    for (int i = 0; i < kBuiltInOps; ++i) {
        const std::string_view known = name(static_cast<ReduceOp>(i));
        if (known == text)
            return static_cast<stretto_op>(i);
        names.append(i == 0 ? "" : i + 1 < kBuiltInOps ? ", " : " and ").append(known);
    }
    throw Error(Status::argument, "there is no op '" + std::string(text) + "'; " + names +
                                      " exist, and stretto.Op makes others");
}

} // namespace

bool python_ends() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsInitialized() == 0 || Py_IsFinalizing() != 0;
#else
    return Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0;
#endif
}

Operation::Operation(nb::object function, bool commutative) : function_(std::move(function)) {
    check(stretto_op_create(&call, function_.ptr(), commutative ? 1 : 0, &op_));
}

Operation::Operation(const nb::bytes &scalar, const char *dtype) {
    const stretto_dtype type = dtype_named(dtype);
    if (scalar.size() != size_of(static_cast<Dtype>(type)))
        throw Error(Status::argument, "the scalar is no " + std::string(dtype));
    check(stretto_op_create_premul_sum(scalar.c_str(), type, &op_));
}

// The object that made the operation is alive: whatever calls us keeps it.
void Operation::call(const void *in, void *inout, std::size_t count, stretto_dtype dtype,
                     void *function) {
    if (python_ends())
        throw std::runtime_error("Python has ended");
    std::string why;
    {
        const nb::gil_scoped_acquire acquired;
        try {
            const auto type = static_cast<Dtype>(dtype);
            const auto bytes = static_cast<Py_ssize_t>(count * size_of(type));
            const auto view = [&](const void *memory, int access) {
                PyObject *made = PyMemoryView_FromMemory(
                    static_cast<char *>(const_cast<void *>(memory)), bytes, access);
                if (made == nullptr)
                    throw nb::python_error();
                return nb::steal(made);
            };
            nb::handle(static_cast<PyObject *>(function))(
                view(in, PyBUF_READ), view(inout, PyBUF_WRITE), std::string(name(type)).c_str());
        } catch (nb::python_error &error) {
            why = nb::str(error.type().attr("__name__")).c_str();
            why.append(": ").append(nb::str(error.value()).c_str());
        }
    }
    if (!why.empty())
        throw std::runtime_error(why);
}

stretto_op op_of(nb::handle op) {
    if (nb::isinstance<Operation>(op))
        return nb::cast<const Operation &>(op).op();
    if (nb::isinstance<nb::str>(op))
        return op_named(nb::cast<nb::str>(op).c_str());
    throw Error(Status::argument, "op: a name or a stretto.Op is wanted, not " +
                                      std::string(nb::str(op.type().attr("__name__")).c_str()));
}

void bind_operation(nb::module_ &module) {
    nb::class_<Operation>(module, "Operation", nb::is_weak_referenceable())
        .def(nb::init<nb::object, bool>(), "function"_a, "commutative"_a)
        .def(nb::init<const nb::bytes &, const char *>(), "scalar"_a, "dtype"_a);
    module.def("describe", &Buffer::describe, "array"_a, "what"_a);
    module.def("supported", [] {
        nb::dict pairs;
        for (int d = 0; d < kDtypes; ++d) {
            nb::list ops;
            for (int o = 0; o < kReduceOps; ++o)
                if (const auto op = static_cast<ReduceOp>(o);
                    supports(static_cast<Dtype>(d), op) && !is_user_defined(op))
                    ops.append(std::string(name(op)).c_str());
            pairs[std::string(name(static_cast<Dtype>(d))).c_str()] = ops;
        }
        return pairs;
    });
}

} // namespace stretto::python
