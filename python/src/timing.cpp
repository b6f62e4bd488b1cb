// SPDX-License-Identifier: BSD-3-Clause
// The loop of `stretto bench`, without Python in it.
#include <cmath>
#include <nanobind/ndarray.h>
#include <vector>

#include "base/clock.hpp"
#include "bindings.hpp"

namespace nb = nanobind;

namespace stretto::python {

namespace {

nb::object to_numpy(std::vector<double> values) {
    auto *kept = new std::vector<double>(std::move(values));
    const nb::capsule owner(
        kept, [](void *data) noexcept { delete static_cast<std::vector<double> *>(data); });
    return nb::cast(
        nb::ndarray<nb::numpy, double, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// The algorithm under test must not serve the bench's own exchange, so that goes by "auto" (with
// the setting of force_algorithm lost: the caller sets it for each measurement).
stretto_status exchange(stretto_comm comm, std::vector<double> &times, std::vector<double> &means) {
    double mean = 0;
    for (const double time : times)
        mean += time / static_cast<double>(times.size());
    stretto_status status = stretto_force_algorithm(comm, nullptr);
    if (status == STRETTO_OK)
        status = stretto_allreduce(comm, STRETTO_IN_PLACE, times.data(), times.size(),
                                   STRETTO_FLOAT64, STRETTO_MAX);
    if (status == STRETTO_OK)
        status = stretto_allgather(comm, &mean, means.data(), 1, STRETTO_FLOAT64);
    return status;
}

} // namespace

nb::tuple time_calls(const Communicator &self, const char *collective, nb::handle send,
                     nb::handle recv, const char *op, int root, std::size_t warm,
                     std::size_t calls) {
    Handle &handle = *self.handle;
    const Invocation what(collective, send, recv, op, root, handle.rank(), handle.size());
    std::vector<double> times(calls), means(static_cast<std::size_t>(handle.size()));
    const double us_per_tick = ns_per_tick() * 1e-3;
    handle.call([&](stretto_comm comm) {
        for (std::size_t i = 0; i < warm + calls; ++i) {
            stretto_status status = stretto_barrier(comm);
            if (status != STRETTO_OK)
                return status;
            const std::uint64_t begin = now_ticks();
            status = what.call(comm);
            const std::uint64_t end = now_ticks();
            if (status != STRETTO_OK)
                return status;
            if (i >= warm)
                times[i - warm] = static_cast<double>(end - begin) * us_per_tick;
        }
        return exchange(comm, times, means);
    });
    return nb::make_tuple(to_numpy(std::move(times)), to_numpy(std::move(means)));
}

} // namespace stretto::python
