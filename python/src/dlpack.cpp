// SPDX-License-Identifier: BSD-3-Clause
#include "dlpack.hpp"

#include <cstddef>
#include <string>

namespace nb = nanobind;

namespace stretto::python {

// The structures of the DLPack specification (https://dmlc.github.io/dlpack), version 1.
struct DlTensor::Tensor {
    void *data;
    std::int32_t device, device_id;
    std::int32_t ndim;
    std::uint8_t code, bits;
    std::uint16_t lanes;
    std::int64_t *shape, *strides; // in elements; null strides: C-contiguous
    std::uint64_t byte_offset;
};

struct DlTensor::Managed {
    Tensor tensor;
    void *context;
    void (*deleter)(Managed *);
};

struct DlTensor::ManagedVersioned {
    std::uint32_t major, minor;
    void *context;
    void (*deleter)(ManagedVersioned *);
    std::uint64_t flags;
    Tensor tensor;
};

// Of a type whose arrays can be described in C, in its attribute __dlpack_c_exchange_api__.
struct DlTensor::ExchangeApi {
    struct {
        std::uint32_t major, minor;
    } version;
    ExchangeApi *previous; // of another version
    void (*allocate)();
    int (*hand_over)(void *array, ManagedVersioned **result);
    int (*make_array)(ManagedVersioned *tensor, void **array);
    int (*describe)(void *array, Tensor *result); // null: it cannot.  Shape and strides are its own
    // On which the program works now; null: the default stream.
    int (*current_stream)(std::int32_t device, std::int32_t device_id, void **result);
};

namespace {

constexpr const char *kApiAttribute = "__dlpack_c_exchange_api__",
                     *kApiName = "dlpack_exchange_api";
// Devices; host memory that is pinned is the processor's too.
constexpr std::int32_t kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13;
constexpr std::uintptr_t kLegacyStream = 1;      // CUDA's default stream
constexpr std::uint8_t kFloat = 2, kComplex = 5; // codes of types
constexpr std::uint64_t kReadOnly = 1;           // in flags
constexpr const char *kName = "dltensor", *kVersionedName = "dltensor_versioned";

bool is_cuda(std::int32_t device) {
    return device == kCuda || device == kCudaManaged;
}

std::string type_name(std::uint8_t code, std::uint8_t bits) {
    constexpr const char *names[] = {"int", "uint", "float", "opaque", "bfloat", "complex"};
    if (code == 6)
        return bits == 8 ? "bool" : "bool of " + std::to_string(bits) + " bits";
    return (code < 6 ? std::string(names[code]) : "DLPack type " + std::to_string(code) + " of ") +
           std::to_string(bits);
}

void require_reachable(std::int32_t device) {
    if (device != kCpu && device != kCudaHost && !is_cuda(device))
        refuse_array("its memory is neither the processor's nor CUDA's (DLPack device " +
                     std::to_string(device) + "); copy it to the CPU first");
}

// What the call raised, as an Error.
template<class Body>
auto or_refuse(Body &&body) {
    try {
        return body();
    } catch (nb::python_error &error) {
        refuse_array("it cannot be handed over: " + std::string(nb::str(error.value()).c_str()));
    }
}

// PyTorch may have put off the conjugation or negation of numbers that lie in memory: its
// description does not tell.
void refuse_unresolved(nb::handle array, std::uint8_t code) {
    static PyObject *const is_conj = PyUnicode_InternFromString("is_conj");
    static PyObject *const is_neg = PyUnicode_InternFromString("is_neg");
    const auto put_off = [&](PyObject *method) {
        const nb::object answer = nb::steal(PyObject_CallMethodNoArgs(array.ptr(), method));
        if (!answer.is_valid())
            PyErr_Clear(); // another library's
        return answer.ptr() == Py_True;
    };
    if ((code == kComplex && put_off(is_conj)) || (code >= kFloat && put_off(is_neg)))
        refuse_array("its numbers are yet to be conjugated or negated; call resolve_conj() and "
                     "resolve_neg() first");
}

// Version 1 can tell that memory is read-only, but not every library knows it yet.  A library makes
// the stream `order` of CUDA wait for its work on the array.
nb::object capsule_of(nb::handle array, bool cuda, std::uintptr_t order) {
    nb::dict options;
    if (cuda)
        options["stream"] = order;
    const nb::object hand_over = array.attr("__dlpack__");
    try {
        return hand_over(nb::arg("max_version") = nb::make_tuple(1, 0), **options);
    } catch (nb::python_error &error) {
        if (!error.matches(PyExc_TypeError))
            throw;
    }
    return hand_over(**options);
}

} // namespace

bool DlTensor::offered_by(nb::handle array) {
    return nb::hasattr(array, "__dlpack__") && nb::hasattr(array, "__dlpack_device__");
}

bool DlTensor::described_by_type(nb::handle array) {
    return api_of(array) != nullptr;
}

// Programs pass arrays of one type, mostly: the last answer is kept, and its type with it.
const DlTensor::ExchangeApi *DlTensor::api_of(nb::handle array) {
    static PyTypeObject *last = nullptr;
    static const ExchangeApi *its_api = nullptr;
    PyTypeObject *const type = Py_TYPE(array.ptr());
    if (type == last)
        return its_api;
    const ExchangeApi *api = nullptr;
    const nb::object capsule =
        nb::getattr(nb::handle(reinterpret_cast<PyObject *>(type)), kApiAttribute, nb::none());
    if (PyCapsule_IsValid(capsule.ptr(), kApiName) != 0)
        api = static_cast<const ExchangeApi *>(PyCapsule_GetPointer(capsule.ptr(), kApiName));
    while (api != nullptr && (api->version.major != 1 || api->describe == nullptr))
        api = api->previous;
    Py_INCREF(type);
    Py_XDECREF(last);
    last = type;
    its_api = api;
    return api;
}

DlTensor::DlTensor(nb::handle array, StreamNumber order) {
    try {
        if (const ExchangeApi *const api = api_of(array))
            describe(array, *api);
        else
            take_over(array, order.value_or(kLegacyStream));
    } catch (...) { // the destructor does not run
        give_back();
        throw;
    }
}

void DlTensor::describe(nb::handle array, const ExchangeApi &api) {
    Tensor tensor;
    or_refuse([&] {
        if (api.describe(array.ptr(), &tensor) != 0)
            throw nb::python_error();
    });
    require_reachable(tensor.device);
    refuse_unresolved(array, tensor.code);
    described_ = nb::borrow(array);
    read(tensor);
    if (on_device_) {
        void *stream = nullptr;
        if (api.current_stream != nullptr)
            or_refuse([&] {
                if (api.current_stream(tensor.device, tensor.device_id, &stream) != 0)
                    throw nb::python_error();
            });
        stream_ = stream != nullptr ? reinterpret_cast<std::uintptr_t>(stream) : kLegacyStream;
    }
}

void DlTensor::take_over(nb::handle array, std::uintptr_t order) {
    const int device =
        or_refuse([&] { return nb::cast<int>(nb::object(array.attr("__dlpack_device__")())[0]); });
    require_reachable(device);
    const nb::object capsule = or_refuse([&] { return capsule_of(array, is_cuda(device), order); });
    if (is_cuda(device))
        stream_ = order;
    if (PyCapsule_IsValid(capsule.ptr(), kVersionedName) != 0) {
        auto *given =
            static_cast<ManagedVersioned *>(PyCapsule_GetPointer(capsule.ptr(), kVersionedName));
        if (given->major != 1)
            refuse_array("it is handed over by version " + std::to_string(given->major) +
                         " of DLPack; 1 is understood");
        (void)PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
        versioned_ = given;
        read_only_ = (given->flags & kReadOnly) != 0;
        read(given->tensor);
    } else if (PyCapsule_IsValid(capsule.ptr(), kName) != 0) {
        auto *given = static_cast<Managed *>(PyCapsule_GetPointer(capsule.ptr(), kName));
        (void)PyCapsule_SetName(capsule.ptr(), "used_dltensor");
        managed_ = given;
        read(given->tensor);
    } else {
        refuse_array("its __dlpack__ gives no capsule of DLPack");
    }
}

void DlTensor::read(const Tensor &tensor) {
    data_ = static_cast<std::byte *>(tensor.data) + tensor.byte_offset;
    type_ = type_name(tensor.code, tensor.bits);
    if (tensor.lanes != 1)
        type_ += " in vectors";
    on_device_ = is_cuda(tensor.device);
    shape_.assign(tensor.shape, tensor.shape + tensor.ndim);
    lay_out(tensor.strides, 1);
}

void DlTensor::give_back() {
    if (managed_ != nullptr && managed_->deleter != nullptr)
        managed_->deleter(managed_);
    if (versioned_ != nullptr && versioned_->deleter != nullptr)
        versioned_->deleter(versioned_);
}

} // namespace stretto::python
