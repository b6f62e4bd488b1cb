// SPDX-License-Identifier: BSD-3-Clause
// What the library goes by and what it finds: the lines of stretto/machine.py.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <vector>

#include "base/settings.hpp"
#include "bindings.hpp"
#include "select/select.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace stretto::python {

namespace {

nb::list settings_now() {
    return settings_by([](auto fill) { check(fill(nullptr)); });
}

nb::tuple machine() {
    stretto_machine found{};
    check(stretto_examine(&found));
    // What is not known is None.
    const auto known = [](auto value, auto unknown) {
        return value == unknown ? nb::none() : nb::object(nb::int_(value));
    };
    return nb::make_tuple(found.build, found.kernels_built, found.kernels_able, found.kernels,
                          found.cores, known(found.cores_online, 0u),
                          known(found.cores_allowed, 0u), found.cores_quota,
                          known(found.memory_available, UINT64_MAX), found.asymmetric_barrier != 0,
                          found.string_copies != 0, found.ucx);
}

} // namespace

nb::list settings_by(const std::function<void(const FillSettings &)> &with) {
    std::vector<stretto_setting> lines;
    with([&](stretto_comm comm) {
        std::size_t count = 0;
        stretto_status status = stretto_settings(comm, nullptr, 0, &count);
        lines.resize(count);
        return status == STRETTO_OK ? stretto_settings(comm, lines.data(), count, &count) : status;
    });
    nb::list result;
    for (const stretto_setting &line : lines) {
        const nb::object error =
            line.error == nullptr ? nb::none() : nb::object(nb::str(line.error));
        // What is in the environment may be no UTF-8.
        const auto text = [](const char *bytes) {
            return nb::steal(PyUnicode_DecodeFSDefault(bytes));
        };
        result.append(nb::make_tuple(text(line.name), line.type, line.takes, text(line.value),
                                     line.fallback, line.meaning, error, line.number,
                                     name(static_cast<SettingSource>(line.source)),
                                     line.for_launchers != 0));
    }
    return result;
}

void bind_machine(nb::module_ &module) {
    module.def("settings", &settings_now);
    module.def("settings_page", &settings_page);
    module.def("machine", &machine);
    module.def("ring_bytes", &select::ring_bytes, "ranks"_a, "hosts"_a = 1);
}

} // namespace stretto::python
