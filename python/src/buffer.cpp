// SPDX-License-Identifier: BSD-3-Clause
#include "buffer.hpp"

#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace nb = nanobind;

namespace stretto::python {

namespace {

// Formats of the struct module; "l" and "q" may name the same type.
std::optional<stretto_dtype> dtype_of(const Py_buffer &view) {
    std::string_view format = view.format == nullptr ? "B" : view.format;
    if (format.size() == 2 && (format[0] == '@' || format[0] == '=' || format[0] == '<'))
        format.remove_prefix(1);
    if (format == "f" && view.itemsize == 4)
        return STRETTO_FLOAT32;
    if (format == "d" && view.itemsize == 8)
        return STRETTO_FLOAT64;
    if ((format == "i" || format == "l") && view.itemsize == 4)
        return STRETTO_INT32;
    if ((format == "l" || format == "q") && view.itemsize == 8)
        return STRETTO_INT64;
    return std::nullopt;
}

std::string element_type(nb::handle array) {
    const nb::object type = nb::hasattr(array, "dtype") ? nb::object(array.attr("dtype"))
                                                        : nb::object(array.type().attr("__name__"));
    return nb::str(type).c_str();
}

[[noreturn]] void refuse(const char *what, const std::string &why) {
    throw Error(Status::argument, std::string(what) + ": " + why);
}

} // namespace

Buffer::Buffer(nb::handle array, Use use, const char *what) {
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_FULL_RO) != 0) {
        PyErr_Clear();
        refuse(what, "a NumPy array is wanted, not " +
                         std::string(nb::str(array.type().attr("__name__")).c_str()));
    }
    // The destructor does not run if the constructor throws.
    Py_buffer view = view_;
    const auto dtype = dtype_of(view);
    const bool contiguous = PyBuffer_IsContiguous(&view, 'C') != 0;
    const bool writable = use == Use::read || view.readonly == 0;
    if (!dtype || !contiguous || !writable)
        PyBuffer_Release(&view_);
    if (!dtype)
        refuse(what, "elements of type " + element_type(array) +
                         " are not supported; float32, float64, int32 and int64 are (astype "
                         "converts)");
    if (!contiguous)
        refuse(what, "the array is not C-contiguous; numpy.ascontiguousarray makes a copy that is");
    if (!writable)
        refuse(what, "the array is read-only, but the result goes there");
    dtype_ = *dtype;
}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
    PyBuffer_Release(&view_);
    view_ = other.view_;
    other.view_ = {};
    dtype_ = other.dtype_;
    return *this;
}

bool Buffer::overlaps(const Buffer &other) const {
    const auto *mine = static_cast<const std::byte *>(data());
    const auto *theirs = static_cast<const std::byte *>(other.data());
    return mine < theirs + other.bytes() && theirs < mine + bytes();
}

} // namespace stretto::python
