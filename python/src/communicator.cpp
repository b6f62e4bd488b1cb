// SPDX-License-Identifier: BSD-3-Clause
// _core.Communicator: what stretto/communicator.py builds upon.
#include <algorithm>
#include <cstring>
#include <exception>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "request.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace stretto::python {

namespace {

template<class Join>
Communicator joined(const Join &join) {
    stretto_comm comm = nullptr;
    stretto_status status;
    std::string message;
    Signals signals;
    {
        const nb::gil_scoped_release released;
        status = join(&comm);
        if (status != STRETTO_OK)
            message = stretto_last_error();
    }
    std::shared_ptr<Handle> handle;
    if (status == STRETTO_OK)
        handle = std::make_shared<Handle>(comm);
    signals.rethrow();
    if (status != STRETTO_OK)
        throw Error(static_cast<Status>(status), message);
    return {std::move(handle)};
}

Communicator init() {
    return joined([](stretto_comm *comm) { return stretto_init(comm); });
}

Communicator init_explicit(int rank, int size, const char *job) {
    return joined([&](stretto_comm *comm) { return stretto_init_explicit(rank, size, job, comm); });
}

// What gathers bytes of all ranks: function(mine: bytes) -> bytes of all, in rank order.
struct Exchange {
    nb::object function;
    std::exception_ptr raised;
    std::size_t ranks;

    static int gather(const void *mine, void *all, std::size_t bytes, void *context) {
        auto &self = *static_cast<Exchange *>(context);
        const nb::gil_scoped_acquire acquired;
        try {
            const auto given = nb::cast<nb::bytes>(self.function(nb::bytes(mine, bytes)));
            if (given.size() != bytes * self.ranks)
                throw Error(Status::argument, "allgather returned " + std::to_string(given.size()) +
                                                  " bytes for " + std::to_string(self.ranks) +
                                                  " ranks' " + std::to_string(bytes) + " each");
            std::memcpy(all, given.c_str(), given.size());
            return 0;
        } catch (...) {
            self.raised = std::current_exception();
            return 1;
        }
    }
};

Communicator init_by_exchange(int rank, int size, nb::object allgather) {
    Exchange exchange{std::move(allgather), nullptr, static_cast<std::size_t>(std::max(size, 0))};
    try {
        return joined([&](stretto_comm *comm) {
            return stretto_init_by_exchange(rank, size, &Exchange::gather, &exchange, comm);
        });
    } catch (const Error &) {
        if (exchange.raised != nullptr)
            std::rethrow_exception(exchange.raised);
        throw;
    }
}

void play(const Communicator &self, const char *collective, nb::handle send, nb::handle recv,
          nb::handle op, int root, std::optional<double> timeout, Counts counts) {
    const Limit limit(timeout);
    const Invocation what(collective, send, recv, op, root, self.handle->rank(),
                          self.handle->size(), std::move(counts));
    self.handle->call([&](stretto_comm comm) { return what.call(comm); });
}

Request start(const Communicator &self, const char *collective, nb::handle send, nb::handle recv,
              nb::handle op, int root, Counts counts, StreamNumber stream) {
    auto what = std::make_shared<Invocation>(collective, send, recv, op, root, self.handle->rank(),
                                             self.handle->size(), std::move(counts), stream);
    return begin(self.handle, what, false, [&](stretto_comm comm, Pending &pending) {
        return what->start(comm, &pending.request, self.handle->streams_wait);
    });
}

Request plan(const Communicator &self, nb::handle send, nb::handle recv, nb::handle op) {
    auto what = std::make_shared<Invocation>("allreduce", send, recv, op, 0, self.handle->rank(),
                                             self.handle->size());
    if (what->send_buffer.on_device() || what->recv_buffer.on_device())
        throw Error(Status::argument,
                    "allreduce_init: the array is in CUDA memory, and later starts would not wait "
                    "for the work of its library on it; call iallreduce for each step");
    auto pending = std::make_shared<Pending>();
    pending->what = what;
    pending->persistent = true;
    self.handle->call([&](stretto_comm comm) {
        return stretto_allreduce_init(comm, what->send, what->recv, what->count, what->dtype,
                                      what->op, &pending->request);
    });
    return {self.handle, std::move(pending)};
}

nb::list stats(const Communicator &self) {
    std::vector<stretto_stat> lines;
    std::size_t count = 0;
    self.handle->call([&](stretto_comm comm) {
        stretto_status status = stretto_stats(comm, nullptr, 0, &count);
        lines.resize(count);
        return status == STRETTO_OK ? stretto_stats(comm, lines.data(), count, &count) : status;
    });
    nb::list result;
    for (const stretto_stat &line : lines)
        result.append(nb::make_tuple(line.collective, line.algorithm, line.calls, line.bytes,
                                     line.seconds, line.waiting_seconds, line.messages,
                                     line.bytes_copied, line.bytes_reduced));
    return result;
}

nb::tuple message_queues(const Communicator &self) {
    stretto_message_queue posted, unexpected;
    self.handle->call(
        [&](stretto_comm comm) { return stretto_message_queues(comm, &posted, &unexpected); });
    const auto described = [](const stretto_message_queue &queue) {
        return nb::make_tuple(queue.scheme, queue.depth, queue.deepest, queue.searches, queue.looks,
                              queue.conversions, queue.counted, queue.source, queue.source_share,
                              queue.tag, queue.tag_share);
    };
    return nb::make_tuple(described(posted), described(unexpected));
}

void reset_stats(const Communicator &self) {
    self.handle->call(stretto_stats_reset);
}

void force_algorithm(const Communicator &self, const char *name) {
    self.handle->call([&](stretto_comm comm) { return stretto_force_algorithm(comm, name); });
}

void set_reproducible(const Communicator &self, int mode) {
    self.handle->call([&](stretto_comm comm) {
        return stretto_set_reproducible(comm, static_cast<stretto_reproducible>(mode));
    });
}

void set_mixed(const Communicator &self, bool mixed) {
    self.handle->call([&](stretto_comm comm) { return stretto_set_mixed(comm, mixed ? 1 : 0); });
}

// Whether the streams that order calls wait for their ends (stretto_stream_follow).
void set_streams_wait(const Communicator &self, bool wait) {
    self.handle->streams_wait = wait;
}

std::string chosen_algorithm(const Communicator &self, const char *collective, std::size_t count,
                             const char *dtype) {
    const char *name = nullptr;
    const stretto_dtype type = dtype_named(dtype);
    self.handle->call([&](stretto_comm comm) {
        return stretto_chosen_algorithm(comm, collective, count, type, &name);
    });
    return name;
}

double probe_memory(const Communicator &self) {
    double nanoseconds = 0;
    self.handle->call([&](stretto_comm comm) { return stretto_probe_memory(comm, &nanoseconds); });
    return nanoseconds;
}

std::string network_profile(const Communicator &self) {
    const char *json = nullptr;
    self.handle->call([&](stretto_comm comm) { return stretto_network_profile(comm, &json); });
    return json;
}

nb::object clock_offset(const Communicator &self) {
    std::int64_t nanoseconds = 0;
    int known = 0;
    self.handle->call(
        [&](stretto_comm comm) { return stretto_clock_offset(comm, &nanoseconds, &known); });
    return known != 0 ? nb::cast(nanoseconds) : nb::none();
}

std::string tuning_candidates(const Communicator &self, const char *collective, std::size_t count,
                              const char *dtype) {
    const char *json = nullptr;
    const stretto_dtype type = dtype_named(dtype);
    self.handle->call([&](stretto_comm comm) {
        return stretto_tuning_candidates(comm, collective, count, type, &json);
    });
    return json;
}

} // namespace

void bind_communicator(nb::module_ &module) {
    nb::class_<Communicator> communicator(module, "Communicator", nb::is_weak_referenceable());
    communicator.def_prop_ro("rank", [](const Communicator &self) { return self.handle->rank(); })
        .def_prop_ro("size", [](const Communicator &self) { return self.handle->size(); })
        .def_prop_ro("address", [](const Communicator &self) { return self.handle->address(); })
        .def_prop_ro("finalized", [](const Communicator &self) { return self.handle->finalized(); })
        .def("play", &play, "collective"_a, "send"_a.none(), "recv"_a.none(), "op"_a, "root"_a,
             "timeout"_a = nb::none(), "counts"_a = Counts{})
        .def("start", &start, "collective"_a, "send"_a.none(), "recv"_a.none(), "op"_a, "root"_a,
             "counts"_a = Counts{}, "stream"_a = nb::none())
        .def("plan", &plan, "send"_a.none(), "recv"_a, "op"_a)
        .def("time", &time_calls, "collective"_a, "send"_a.none(), "recv"_a.none(), "op"_a,
             "root"_a, "warm"_a, "calls"_a)
        .def("time_skewed", &time_skewed, "collective"_a, "send"_a.none(), "recv"_a.none(), "op"_a,
             "root"_a, "algorithm"_a, "delays"_a, "common_clock"_a = true, "compute"_a = 0.0,
             "announced"_a = 0.0)
        .def("stream", &stream, "array"_a.none(), "peer"_a, "sends"_a, "bytes"_a, "window"_a,
             "windows"_a)
        .def(
            "allocate",
            [](const Communicator &self, std::size_t bytes) {
                return self.handle->allocate(bytes);
            },
            "bytes"_a)
        .def("stats", &stats)
        .def("settings",
             [](const Communicator &self) {
                 return settings_by([&](const FillSettings &fill) { self.handle->call(fill); });
             })
        .def("reset_stats", &reset_stats)
        .def("phase_begin",
             [](const Communicator &self) { self.handle->call(stretto_phase_begin); })
        .def(
            "edge",
            [](const Communicator &self, double fraction) {
                self.handle->call([&](stretto_comm comm) { return stretto_edge(comm, fraction); });
            },
            "fraction"_a)
        .def(
            "set_timeout",
            [](const Communicator &self, double seconds) {
                self.handle->call(
                    [&](stretto_comm comm) { return stretto_set_timeout(comm, seconds); });
            },
            "seconds"_a)
        .def("set_stall_callback", &set_stall_callback, "function"_a.none(), "factor"_a, "floor"_a)
        .def("force_algorithm", &force_algorithm, "name"_a)
        .def("set_reproducible", &set_reproducible, "mode"_a)
        .def("set_mixed", &set_mixed, "mixed"_a)
        .def("set_streams_wait", &set_streams_wait, "wait"_a)
        .def("chosen_algorithm", &chosen_algorithm, "collective"_a, "count"_a, "dtype"_a)
        .def("probe_memory", &probe_memory)
        .def("network_profile", &network_profile)
        .def("clock_offset", &clock_offset)
        .def("message_queues", &message_queues)
        .def("tuning_candidates", &tuning_candidates, "collective"_a, "count"_a, "dtype"_a)
        .def("finalize", [](const Communicator &self) { self.handle->finalize(); })
        .def("exit", [](const Communicator &self) { self.handle->exit(); });

    bind_messages(module, communicator);
    bind_batch(communicator);

    module.def("init", &init);
    module.def("init_by_exchange", &init_by_exchange, "rank"_a, "size"_a, "allgather"_a);
    module.def("init_explicit", &init_explicit, "rank"_a, "size"_a, "job"_a);
}

} // namespace stretto::python
