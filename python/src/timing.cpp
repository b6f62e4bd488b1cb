// SPDX-License-Identifier: BSD-3-Clause
// The loop of `stretto bench`, without Python in it.
#include <chrono>
#include <cmath>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>
#include <thread>
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

// The bench's own exchange must not run by the algorithm under test, so this sets "auto".  The
// setting of force_algorithm is lost: the caller sets it for each measurement.
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

// All ranks agree on a moment in the near future, in nanoseconds of this host's clock.  If ranks
// have no common clock, each takes a moment a fixed time after its return from a barrier; these
// moments differ as much as the returns.  Leaves the algorithm at "auto".
stretto_status agree_on_begin(stretto_comm comm, bool common_clock, std::int64_t &begin) {
    constexpr std::int64_t kSoon = 300'000; // ns, so that a sleeping rank wakes before
    std::int64_t offset = 0;
    int known = 0;
    stretto_status status = stretto_force_algorithm(comm, nullptr);
    if (status == STRETTO_OK)
        status = stretto_barrier(comm);
    if (status == STRETTO_OK && common_clock)
        status = stretto_clock_offset(comm, &offset, &known);
    begin = static_cast<std::int64_t>(now_ns()) + offset + kSoon;
    if (status == STRETTO_OK && common_clock)
        status = stretto_allreduce(comm, STRETTO_IN_PLACE, &begin, 1, STRETTO_INT64, STRETTO_MAX);
    begin -= offset;
    return status;
}

void sleep_until(std::int64_t when) {
    std::this_thread::sleep_until(
        std::chrono::steady_clock::time_point(std::chrono::nanoseconds(when)));
}

// Emulates a computation until `end`; it ends late rather than early.  Half-way this rank announces
// that the fraction `announced` is done; 0: it announces nothing.
stretto_status compute_until(stretto_comm comm, std::int64_t begin, std::int64_t end,
                             double announced) {
    stretto_status status = STRETTO_OK;
    if (announced > 0) {
        sleep_until(begin);
        status = stretto_phase_begin(comm);
        sleep_until(begin + (end - begin) / 2);
        if (status == STRETTO_OK)
            status = stretto_edge(comm, announced);
    }
    sleep_until(end);
    return status;
}

std::int64_t to_ns(double seconds) {
    return std::llround(seconds * 1e9);
}

} // namespace

nb::tuple time_calls(const Communicator &self, const char *collective, nb::handle send,
                     nb::handle recv, const char *op, int root, std::size_t warm,
                     std::size_t calls) {
    Handle &handle = *self.handle;
    const Invocation what(collective, send, recv, nb::str(op), root, handle.rank(), handle.size());
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

nb::object time_skewed(const Communicator &self, const char *collective, nb::handle send,
                       nb::handle recv, const char *op, int root, const char *algorithm,
                       const std::vector<double> &delays, bool common_clock, double compute,
                       double announced) {
    Handle &handle = *self.handle;
    const Invocation what(collective, send, recv, nb::str(op), root, handle.rank(), handle.size());
    std::vector<double> mine; // arrival and finish of each call
    std::vector<double> all(2 * delays.size() * static_cast<std::size_t>(handle.size()));
    handle.call([&](stretto_comm comm) {
        stretto_status status = STRETTO_OK;
        for (const double delay : delays) {
            std::int64_t begin = 0;
            status = agree_on_begin(comm, common_clock, begin);
            if (status == STRETTO_OK)
                status = stretto_force_algorithm(comm, algorithm);
            const std::int64_t on_time = begin + to_ns(compute);
            if (status == STRETTO_OK)
                status = compute_until(comm, begin, on_time + to_ns(delay), announced);
            const auto arrival = static_cast<std::int64_t>(now_ns());
            if (status == STRETTO_OK)
                status = what.call(comm);
            if (status != STRETTO_OK)
                return status;
            const auto finish = static_cast<std::int64_t>(now_ns());
            mine.push_back(static_cast<double>(arrival - on_time) * 1e-9);
            mine.push_back(static_cast<double>(finish - on_time) * 1e-9);
        }
        status = stretto_force_algorithm(comm, nullptr);
        return status == STRETTO_OK
                   ? stretto_allgather(comm, mine.data(), all.data(), mine.size(), STRETTO_FLOAT64)
                   : status;
    });
    return to_numpy(std::move(all));
}

} // namespace stretto::python
