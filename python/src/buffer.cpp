// SPDX-License-Identifier: BSD-3-Clause
#include "buffer.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/types.hpp"
#include "cuda_array.hpp"
#include "dlpack.hpp"
#include "stretto/embedding.h"

namespace nb = nanobind;

namespace stretto::python {

namespace {

[[noreturn]] void refuse(const char *what, const std::string &why) {
    throw Error(Status::argument, std::string(what) + ": " + why);
}

std::optional<stretto_dtype> find_dtype(std::string_view type) {
    for (int i = 0; i < kDtypes; ++i)
        if (name(static_cast<Dtype>(i)) == type)
            return static_cast<stretto_dtype>(i);
    return std::nullopt;
}

std::string supported() {
    std::string names;
    for (int i = 0; i < kDtypes; ++i)
        names.append(i == 0            ? ""
                     : i + 1 < kDtypes ? ", "
                                       : " and ")
            .append(name(static_cast<Dtype>(i)));
    return names;
}

[[noreturn]] void refuse_type(const char *what, const std::string &type) {
    refuse(what, "elements of type " + type + " are not supported; " + supported() +
                     " are (astype converts)");
}

// Formats of the struct module, and of NumPy for complex numbers.  The same letter may mean numbers
// of different lengths.
std::optional<stretto_dtype> dtype_of(const Py_buffer &view) {
    std::string_view format = view.format == nullptr ? "B" : view.format;
    if (format.size() > 1 && (format[0] == '@' || format[0] == '=' || format[0] == '<'))
        format.remove_prefix(1);
    const auto of_size = [&](std::initializer_list<Dtype> types) -> std::optional<stretto_dtype> {
        for (const Dtype type : types)
            if (size_of(type) == static_cast<std::size_t>(view.itemsize))
                return static_cast<stretto_dtype>(type);
        return std::nullopt;
    };
    const auto is_one_of = [&](std::string_view letters) {
        return format.size() == 1 && letters.find(format[0]) != std::string_view::npos;
    };
    using enum Dtype;
    if (is_one_of("bhilqn"))
        return of_size({i8, i16, i32, i64});
    if (is_one_of("BHILQN"))
        return of_size({u8, u16, u32, u64});
    if (is_one_of("efd"))
        return of_size({f16, f32, f64});
    if (format == "Zf" || format == "Zd")
        return of_size({c64, c128});
    return format == "?" ? of_size({boolean}) : std::nullopt;
}

std::string element_type(nb::handle array) {
    const nb::object type = nb::hasattr(array, "dtype") ? nb::object(array.attr("dtype"))
                                                        : nb::object(array.type().attr("__name__"));
    return nb::str(type).c_str();
}

bool is_numpy(nb::handle array) {
    return nb::isinstance(array, nb::module_::import_("numpy").attr("ndarray"));
}

// Arrays of NumPy that say of some elements that they do not count; what lies there is anything.
void refuse_mask(nb::handle array, const char *what) {
    if (std::string_view(Py_TYPE(array.ptr())->tp_name) == "numpy.ndarray" || !is_numpy(array))
        return;
    const nb::module_ masked = nb::module_::import_("numpy.ma");
    if (nb::isinstance(array, masked.attr("MaskedArray")))
        refuse(what, "a masked array is not taken, as what is masked would count as well; pass "
                     ".filled(value), or .data");
}

} // namespace

stretto_dtype dtype_named(const char *text) {
    if (const auto dtype = find_dtype(text))
        return *dtype;
    throw Error(Status::argument, "elements of type " + std::string(text) + " are not supported; " +
                                      supported() + " are");
}

Buffer::Buffer(nb::handle array, Use use, const char *what, StreamNumber order) {
    hold(array, use, what, order);
    await_work(what, order);
}

// Other libraries give work to streams and go on.
void Buffer::await_work(const char *what, StreamNumber order) const {
    if (foreign_ == nullptr || !foreign_->stream() || foreign_->stream() == order || count_ == 0)
        return;
    stretto_status status;
    std::string message;
    {
        const nb::gil_scoped_release released;
        status = stretto_stream_synchronize(data_, reinterpret_cast<void *>(*foreign_->stream()));
        if (status != STRETTO_OK)
            message = stretto_last_error();
    }
    if (status != STRETTO_OK)
        throw Error(static_cast<Status>(status), std::string(what) + ": " + message);
}

void Buffer::hold(nb::handle array, Use use, const char *what, StreamNumber order) {
    std::optional<stretto_dtype> dtype;
    bool contiguous = false, read_only = false;
    const auto hand_over = [&]<class Array>() {
        try {
            foreign_ = std::make_unique<Array>(array, order);
        } catch (const Error &error) {
            refuse(what, error.what());
        }
        dtype = find_dtype(foreign_->type());
        contiguous = foreign_->contiguous();
    };
    if (DlTensor::described_by_type(array)) {
        hand_over.operator()<DlTensor>();
    } else if (refuse_mask(array, what);
               PyObject_GetBuffer(array.ptr(), &view_, PyBUF_FULL_RO) == 0) {
        dtype = dtype_of(view_);
        contiguous = PyBuffer_IsContiguous(&view_, 'C') != 0;
    } else {
        PyErr_Clear();
        if (is_numpy(array)) {
            // NumPy has bfloat16 only as a type of another package's, which the protocol cannot
            // name.  It may be seen as integers.
            if (element_type(array) != "bfloat16")
                refuse_type(what, element_type(array));
            const nb::object integers = array.attr("view")("uint16");
            if (PyObject_GetBuffer(integers.ptr(), &view_, PyBUF_FULL_RO) != 0)
                throw nb::python_error();
            dtype = STRETTO_BFLOAT16;
            contiguous = PyBuffer_IsContiguous(&view_, 'C') != 0;
        } else if (DlTensor::offered_by(array)) { // which can say that memory is read-only
            hand_over.operator()<DlTensor>();
        } else if (CudaArray::offered_by(array)) {
            hand_over.operator()<CudaArray>();
        } else {
            refuse(what, "an array is wanted (NumPy, the buffer protocol, DLPack or "
                         "__cuda_array_interface__), not " +
                             std::string(nb::str(array.type().attr("__name__")).c_str()));
        }
    }
    if (foreign_ != nullptr) {
        read_only = foreign_->read_only();
        data_ = foreign_->data();
        count_ = foreign_->count();
    } else {
        read_only = view_.readonly != 0;
        data_ = view_.buf;
        count_ = static_cast<std::size_t>(view_.itemsize == 0 ? 0 : view_.len / view_.itemsize);
    }
    const bool writable = use == Use::read || !read_only;
    if (dtype && contiguous && writable) {
        dtype_ = *dtype;
        return;
    }
    PyBuffer_Release(&view_); // the destructor does not run if the constructor throws
    if (!dtype)
        refuse_type(what, foreign_ != nullptr ? foreign_->type() : element_type(array));
    if (!contiguous)
        refuse(what, std::string("the array is not C-contiguous; ") +
                         (on_device() ? "cupy.ascontiguousarray, or contiguous() of PyTorch"
                                      : "numpy.ascontiguousarray") +
                         " makes a copy that is");
    refuse(what, "the array is read-only, but the result goes there");
}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
    PyBuffer_Release(&view_);
    view_ = other.view_;
    other.view_ = {};
    foreign_ = std::move(other.foreign_);
    data_ = other.data_;
    count_ = other.count_;
    dtype_ = other.dtype_;
    return *this;
}

std::size_t Buffer::bytes() const {
    return count_ * size_of(static_cast<Dtype>(dtype_));
}

bool Buffer::overlaps(const Buffer &other) const {
    const auto *mine = static_cast<const std::byte *>(data());
    const auto *theirs = static_cast<const std::byte *>(other.data());
    return mine < theirs + other.bytes() && theirs < mine + bytes();
}

bool Buffer::on_device() const {
    return foreign_ != nullptr && foreign_->on_device();
}

nb::tuple Buffer::describe(nb::handle array, const char *what) {
    Buffer buffer;
    buffer.hold(array, Use::read, what);
    if (buffer.on_device())
        refuse(what, "the array is in CUDA memory, and new arrays for results are NumPy's, in host "
                     "memory; pass an array for the result (torch.empty, cupy.empty, ...)");
    nb::list shape;
    if (buffer.foreign_ != nullptr)
        for (const std::int64_t length : buffer.foreign_->shape())
            shape.append(length);
    else if (buffer.view_.shape == nullptr)
        shape.append(buffer.count_);
    else
        for (int k = 0; k < buffer.view_.ndim; ++k)
            shape.append(buffer.view_.shape[k]);
    return nb::make_tuple(nb::tuple(shape),
                          std::string(name(static_cast<Dtype>(buffer.dtype_))).c_str());
}

} // namespace stretto::python
