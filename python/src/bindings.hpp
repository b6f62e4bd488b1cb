// SPDX-License-Identifier: BSD-3-Clause
// The parts of the extension module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nanobind/nanobind.h>
#include <string>
#include <vector>

#include "handle.hpp"
#include "schedule/schedule.hpp"

namespace stretto::python {

struct Communicator {
    std::shared_ptr<Handle> handle;
};

void bind_communicator(nanobind::module_ &module); // communicator.cpp
void bind_messages(nanobind::module_ &module,      // messages.cpp
                   nanobind::class_<Communicator> &communicator);
void bind_batch(nanobind::class_<Communicator> &communicator); // batch.cpp
void bind_tools(nanobind::module_ &module);                    // tools.cpp
void bind_selection(nanobind::module_ &module);                // selection.cpp
void bind_pricing(nanobind::module_ &module);                  // pricing.cpp
void bind_operation(nanobind::module_ &module);                // operation.cpp
void bind_machine(nanobind::module_ &module);                  // machine.cpp
void bind_network(nanobind::module_ &module);                  // network.cpp
void bind_calls(nanobind::module_ &module);                    // calls.cpp
void bind_call_runner(nanobind::module_ &module);              // call_runner.cpp
void bind_matching(nanobind::module_ &module);                 // matching.cpp

// machine.cpp: the lines of stretto_settings, which `with` calls for a communicator, or for none.
using FillSettings = std::function<stretto_status(stretto_comm)>;
nanobind::list settings_by(const std::function<void(const FillSettings &)> &with);

// timing.cpp: calls of a collective, timed; (microseconds of each call's slowest rank, mean
// microseconds of each rank).  Collective.
nanobind::tuple time_calls(const Communicator &comm, const char *collective, nanobind::handle send,
                           nanobind::handle recv, const char *op, int root, std::size_t warm,
                           std::size_t calls);

// The same with late ranks: each comes late by its `delays` (seconds, one for each call).  Gives,
// by rank and call, arrival and finish, in seconds after the moment at which ranks without delay
// come. Before that moment, all ranks emulate a computation of `compute` seconds plus their delay.
// If `announced` is not 0, each rank announces this fraction when it is half done (stretto_edge).
// If ranks have a common clock (stretto_clock_offset), all agree on the moment; else each takes a
// moment after the end of a barrier.  Collective; leaves the algorithm at "auto".
nanobind::object time_skewed(const Communicator &comm, const char *collective,
                             nanobind::handle send, nanobind::handle recv, const char *op, int root,
                             const char *algorithm, const std::vector<double> &delays,
                             bool common_clock, double compute, double announced);

// pairs.cpp: windows of messages from one rank to another, all sent at once; after each, the
// receiver sends a byte back.  Returns the seconds from the end of a barrier to this rank's last
// message. Each of `windows` windows of `window` messages of `bytes` bytes has its own part of
// `array`.  A peer of -1: this rank has no part in it beyond the barrier.  Collective.
double stream(const Communicator &self, nanobind::handle array, int peer, bool sends,
              std::size_t bytes, std::size_t window, std::size_t windows);

// stall.cpp: stretto_set_stall_callback; function(text, collective, call, rank, ranks, all_came,
// lowest, waited_seconds, longest_seconds), or None.  Its exceptions go to sys.unraisablehook.
void set_stall_callback(const Communicator &self, nanobind::object function, double factor,
                        double floor);

// simulation.cpp: when each position is done, and with `events` everything that takes time.  Links
// are shared as simulate/sharing.hpp says, by the host of each position and the rack of each host.
nanobind::dict simulate_schedule(const schedule::Schedule &schedule, std::size_t count,
                                 std::size_t element, std::vector<double> arrivals, double alpha,
                                 double beta, double gamma, const std::string &mode, bool events,
                                 std::vector<std::uint32_t> hosts, std::vector<std::uint32_t> racks,
                                 std::uint32_t uplinks, std::vector<std::uint32_t> rows,
                                 std::uint32_t columns);
void bind_simulation(nanobind::module_ &module);

} // namespace stretto::python
