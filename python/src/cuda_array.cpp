// SPDX-License-Identifier: BSD-3-Clause
// Versions 2 and 3 (https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html).
#include "cuda_array.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace nb = nanobind;

namespace stretto::python {

namespace {

constexpr const char *kAttribute = "__cuda_array_interface__";

// "<f4" is "float32".  bfloat16 has no name of its own there: two bytes of anything.
std::string type_name(std::string_view type, nb::handle array) {
    if (type == "<V2" && nb::hasattr(array, "dtype") &&
        std::string_view(nb::str(array.attr("dtype")).c_str()).ends_with("bfloat16"))
        return "bfloat16";
    constexpr std::pair<char, const char *> kinds[] = {
        {'b', "bool"}, {'i', "int"}, {'u', "uint"}, {'f', "float"}, {'c', "complex"}};
    if (type.size() == 3 && (type[0] == '<' || type[0] == '|' || type[0] == '='))
        for (const auto &[kind, name] : kinds)
            if (type[1] == kind && type[2] >= '1' && type[2] <= '9')
                return kind == 'b' ? name : name + std::to_string(8 * (type[2] - '0'));
    if (type == "<c16" || type == "=c16")
        return "complex128";
    return std::string(type);
}

nb::object entry(const nb::dict &interface, const char *name) {
    return interface.contains(name) ? nb::object(interface[name]) : nb::none();
}

} // namespace

bool CudaArray::offered_by(nb::handle array) {
    return nb::hasattr(array, kAttribute);
}

CudaArray::CudaArray(nb::handle array, StreamNumber) : owner_(nb::borrow(array)) {
    try {
        read(nb::cast<nb::dict>(array.attr(kAttribute)));
    } catch (nb::python_error &error) {
        refuse_array("it cannot be handed over: " + std::string(nb::str(error.value()).c_str()));
    } catch (const nb::cast_error &) {
        refuse_array("its __cuda_array_interface__ is not as the protocol says");
    }
}

void CudaArray::read(const nb::dict &interface) {
    if (const int version = nb::cast<int>(interface["version"]); version < 2 || version > 3)
        refuse_array("it is handed over by version " + std::to_string(version) +
                     " of __cuda_array_interface__; 2 and 3 are understood");
    if (!entry(interface, "mask").is_none())
        refuse_array("a masked array is not taken, as what is masked would count as well");
    on_device_ = true;
    for (const nb::handle length : nb::cast<nb::tuple>(interface["shape"]))
        shape_.push_back(nb::cast<std::int64_t>(length));
    const auto data = nb::cast<nb::tuple>(interface["data"]);
    data_ = reinterpret_cast<void *>(nb::cast<std::uintptr_t>(data[0]));
    read_only_ = nb::cast<bool>(data[1]);
    const auto type = nb::cast<nb::str>(interface["typestr"]);
    const std::string_view text = type.c_str();
    type_ = type_name(text, owner_);
    const std::size_t digits = text.find_first_of("0123456789");
    const std::int64_t bytes =
        digits == text.npos ? 1 : std::stoll(std::string(text.substr(digits)));
    std::vector<std::int64_t> strides;
    if (const nb::object given = entry(interface, "strides"); !given.is_none()) {
        for (const nb::handle stride : nb::cast<nb::tuple>(given))
            strides.push_back(nb::cast<std::int64_t>(stride));
        if (strides.size() != shape_.size())
            refuse_array("its __cuda_array_interface__ has " + std::to_string(shape_.size()) +
                         " dimensions and " + std::to_string(strides.size()) + " strides");
    }
    lay_out(strides.empty() ? nullptr : strides.data(), bytes);
    if (const nb::object stream = entry(interface, "stream"); !stream.is_none()) {
        stream_ = nb::cast<std::uintptr_t>(stream);
        if (*stream_ == 0)
            refuse_array(
                "its __cuda_array_interface__ names stream 0, which the protocol forbids; 1 is "
                "the legacy default stream, 2 that of the thread");
    }
}

} // namespace stretto::python
