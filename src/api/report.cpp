// SPDX-License-Identifier: BSD-3-Clause
// The C API: the selected algorithm, and statistics.
#include <string>

#include "base/spelling.hpp"
#include "comm/probe.hpp"
#include "handles.hpp"
#include "select/profile_json.hpp"

using stretto::Error;
using stretto::Status;
using stretto::calls::Request;
using stretto::schedule::Collective;
using namespace stretto::api;

namespace {

// A call of which only collective, count and type are known.
Request call_of(stretto_comm comm, const char *collective, size_t count, int dtype) {
    const auto which = stretto::schedule::collective_named(collective);
    if (!which || *which == Collective::custom)
        throw Error(Status::argument,
                    "there is no collective '" + stretto::shown(collective) +
                        "'; allreduce, reduce, broadcast, reduce_scatter, allgather, gather, "
                        "scatter, alltoall and barrier exist");
    Request request = comm->communicator.barrier_request();
    if (*which != Collective::barrier) {
        void *const unused = comm; // the call is not made, so any buffer will do
        request = checked(comm, Collective::allreduce, STRETTO_IN_PLACE, unused, count, dtype,
                          any_op(dtype_of(dtype)), 0);
        request.collective = *which;
    }
    return request;
}

// Keeps its address as long as the communicator lives.
const char *kept(stretto_comm comm, std::string text) {
    const std::lock_guard lock(comm->mutex);
    return comm->texts.insert(std::move(text)).first->c_str();
}

stretto_message_queue described(const stretto::p2p::QueueState &state) {
    const stretto::p2p::Filling &filling = state.filling;
    return {name(state.scheme).data(),
            state.depth,
            state.effort.deepest,
            state.effort.searches,
            state.effort.looks,
            state.effort.conversions,
            filling.depth,
            filling.source,
            filling.tag,
            filling.of_source,
            filling.of_tag};
}

} // namespace

extern "C" {

stretto_status stretto_force_algorithm(stretto_comm comm, const char *algorithm) {
    return guarded_in(comm, [&] {
        require(comm != nullptr, "the communicator is NULL");
        const std::string_view wanted = algorithm == nullptr ? "auto" : algorithm;
        comm->communicator.queue().order().run(
            [&] { comm->communicator.calls().policies.force(wanted, "the program"); });
        note(comm, stretto::Setting::algorithm, wanted == "auto" ? "" : wanted);
    });
}

stretto_status stretto_set_mixed(stretto_comm comm, int mixed) {
    return guarded_in(comm, [&] {
        require(comm != nullptr, "the communicator is NULL");
        comm->mixed.store(mixed != 0, std::memory_order_relaxed);
    });
}

stretto_status stretto_set_reproducible(stretto_comm comm, stretto_reproducible mode) {
    return guarded_in(comm, [&] {
        require(comm != nullptr, "the communicator is NULL");
        require(mode >= STRETTO_REPRODUCIBLE_OFF && mode <= STRETTO_REPRODUCIBLE_FULL,
                "unknown mode; see stretto_reproducible in stretto.h");
        const auto wanted = static_cast<stretto::select::Reproducible>(mode);
        comm->communicator.queue().order().run(
            [&] { comm->communicator.calls().policies.set_reproducible(wanted); });
        note(comm, stretto::Setting::reproducible, stretto::select::name(wanted));
    });
}

stretto_status stretto_stats(stretto_comm comm, stretto_stat *lines, size_t capacity,
                             size_t *count) {
    return guarded_in(comm, [&] {
        require(comm != nullptr && count != nullptr, "the communicator or the count is NULL");
        require(capacity == 0 || lines != nullptr, "the lines are NULL");
        comm->shown = comm->communicator.stats();
        *count = comm->shown.size();
        for (const auto &[key, stat] : comm->shown) {
            if (capacity-- == 0)
                break;
            *lines++ = {stretto::schedule::name(key.first).data(),
                        key.second.c_str(),
                        stat.calls,
                        stat.bytes,
                        stat.seconds,
                        stat.waiting_seconds,
                        stat.messages,
                        stat.bytes_copied,
                        stat.bytes_reduced};
        }
    });
}

stretto_status stretto_stats_reset(stretto_comm comm) {
    return guarded_in(comm, [&] {
        require(comm != nullptr, "the communicator is NULL");
        comm->communicator.reset_stats();
    });
}

stretto_status stretto_chosen_algorithm(stretto_comm comm, const char *collective, size_t count,
                                        stretto_dtype dtype, const char **algorithm) {
    return guarded_in(comm, [&, type = static_cast<int>(dtype)] {
        require(comm != nullptr && collective != nullptr && algorithm != nullptr,
                "an argument is NULL");
        const Request request = call_of(comm, collective, count, type);
        *algorithm = kept(comm, comm->communicator.chosen(request));
    });
}

stretto_status stretto_network_profile(stretto_comm comm, const char **json) {
    return guarded_in(comm, [&] {
        require(comm != nullptr && json != nullptr, "an argument is NULL");
        auto &communicator = comm->communicator;
        const auto profile = communicator.queue().order().run([&] {
            return communicator.trials().with_findings(communicator.calls().selection.profile());
        });
        *json = kept(comm, stretto::select::to_json(profile, STRETTO_VERSION_TEXT));
    });
}

stretto_status stretto_clock_offset(stretto_comm comm, int64_t *nanoseconds, int *known) {
    return guarded_in(comm, [&] {
        require(comm != nullptr && nanoseconds != nullptr && known != nullptr,
                "an argument is NULL");
        const auto offset = comm->communicator.clock().offset();
        *nanoseconds = offset.value_or(0);
        const bool one_host = comm->communicator.reach().watch == nullptr;
        *known = offset.has_value() || one_host ? 1 : 0;
    });
}

stretto_status stretto_tuning_candidates(stretto_comm comm, const char *collective, size_t count,
                                         stretto_dtype dtype, const char **json) {
    return guarded_in(comm, [&, type = static_cast<int>(dtype)] {
        require(comm != nullptr && collective != nullptr && json != nullptr, "an argument is NULL");
        const Request request = call_of(comm, collective, count, type);
        *json = kept(comm, comm->communicator.queue().order().run([&] {
            return comm->communicator.calls().selection.tuning_candidates(request);
        }));
    });
}

stretto_status stretto_message_queues(stretto_comm comm, stretto_message_queue *posted,
                                      stretto_message_queue *unexpected) {
    return guarded_in(comm, [&] {
        require(comm != nullptr && posted != nullptr && unexpected != nullptr,
                "an argument is NULL");
        const auto queues = comm->communicator.messenger().queues();
        *posted = described(queues.posted);
        *unexpected = described(queues.unexpected);
    });
}

stretto_status stretto_probe_memory(stretto_comm comm, double *nanoseconds_per_line) {
    return guarded_in(comm, [&] {
        require(comm != nullptr && nanoseconds_per_line != nullptr, "an argument is NULL");
        *nanoseconds_per_line = stretto::comm::probe(comm->communicator);
    });
}

} // extern "C"
