// SPDX-License-Identifier: BSD-3-Clause
#include "base/config.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <unistd.h>
#include <utility>

#include "base/settings_table.hpp"

namespace stretto {

namespace {

// Where the value of a setting goes.
struct Field {
    Setting setting;
    void (*fill)(Config &config, const SettingState &state);
};

void put(std::uint64_t &field, const SettingState &state) {
    field = state.number;
}
void put(std::uint32_t &field, const SettingState &state) {
    field = static_cast<std::uint32_t>(state.number); // the table has no more
}
void put(bool &field, const SettingState &state) {
    field = state.number != 0;
}
void put(std::string &field, const SettingState &state) {
    field = state.value;
}
void put(std::optional<std::uint64_t> &field, const SettingState &state) {
    if (state.source != SettingSource::fallback)
        field = state.number;
}

template<class Of>
constexpr Field field(Setting setting, Of) {
    return {setting, [](Config &config, const SettingState &state) { put(Of{}(config), state); }};
}

constexpr std::array kFields{
    field(Setting::timeout, [](Config &c) -> auto & { return c.waits.timeout_ns; }),
    field(Setting::stall_warning, [](Config &c) -> auto & { return c.waits.stall_warning_factor; }),
    field(Setting::init_timeout, [](Config &c) -> auto & { return c.waits.init_timeout_ns; }),
    field(Setting::peer_timeout, [](Config &c) -> auto & { return c.failures.peer_timeout_ns; }),
    field(Setting::heartbeat, [](Config &c) -> auto & { return c.failures.heartbeat_ns; }),
    field(Setting::algorithm, [](Config &c) -> auto & { return c.calls.algorithm; }),
    field(Setting::reproducible, [](Config &c) -> auto & { return c.calls.reproducible; }),
    field(Setting::spin, [](Config &c) -> auto & { return c.waits.spin_ns; }),
    field(Setting::ring_bytes, [](Config &c) -> auto & { return c.shape.ring_bytes; }),
    field(Setting::slice_bytes, [](Config &c) -> auto & { return c.shape.slice_bytes; }),
    field(Setting::plan_bytes, [](Config &c) -> auto & { return c.calls.plan_bytes; }),
    field(Setting::heap_bytes, [](Config &c) -> auto & { return c.shape.heap_bytes; }),
    field(Setting::isa, [](Config &c) -> auto & { return c.kernels.isa; }),
    field(Setting::rep_movsb, [](Config &c) -> auto & { return c.kernels.rep_movsb; }),
    field(Setting::cma, [](Config &c) -> auto & { return c.kernels.cma; }),
    field(Setting::xpmem, [](Config &c) -> auto & { return c.kernels.xpmem; }),
    field(Setting::cuda_ipc, [](Config &c) -> auto & { return c.kernels.cuda_ipc; }),
    field(Setting::gpu_launch, [](Config &c) -> auto & { return c.kernels.gpu_launch; }),
    field(Setting::warn, [](Config &c) -> auto & { return c.warn; }),
    field(Setting::autotune, [](Config &c) -> auto & { return c.tuning.autotune; }),
    field(Setting::arrivals, [](Config &c) -> auto & { return c.arrivals.enabled; }),
    field(Setting::matching, [](Config &c) -> auto & { return c.matching.scheme; }),
    field(Setting::matching_calls, [](Config &c) -> auto & { return c.matching.calls; }),
    field(Setting::matching_attempts, [](Config &c) -> auto & { return c.matching.attempts; }),
    Field{Setting::log,
          [](Config &c, const SettingState &state) {
              c.calls.log_choices = state.value == "choice";
          }},
    field(Setting::trace, [](Config &c) -> auto & { return c.trace.folder; }),
    field(Setting::trace_bytes, [](Config &c) -> auto & { return c.trace.bytes; }),
    field(Setting::report, [](Config &c) -> auto & { return c.report.folder; }),
    // The metrics are made of the reports.
    Field{Setting::metrics,
          [](Config &c, const SettingState &state) {
              if (c.report.folder.empty())
                  c.report.folder = state.value;
          }},
    field(Setting::addr, [](Config &c) -> auto & { return c.network.addr; }),
    field(Setting::iface, [](Config &c) -> auto & { return c.network.iface; }),
    field(Setting::fake_hosts, [](Config &c) -> auto & { return c.network.fake_hosts; }),
    field(Setting::ports, [](Config &c) -> auto & { return c.network.ports; }),
    field(Setting::transport, [](Config &c) -> auto & { return c.network.transport; }),
    field(Setting::sockets, [](Config &c) -> auto & { return c.network.sockets; }),
    field(Setting::congestion, [](Config &c) -> auto & { return c.network.congestion; }),
    field(Setting::delay, [](Config &c) -> auto & { return c.network.delay_ns; }),
    field(Setting::pinned_bytes, [](Config &c) -> auto & { return c.network.pinned_bytes; }),
    field(Setting::tuning_file, [](Config &c) -> auto & { return c.tuning.file; }),
};

constexpr std::array kReadElsewhere{
    // net/secret.cpp, when the key of a job is made: no copy of the secret stays in memory.
    Setting::secret_file, Setting::secret,
    // mpi/settings.cpp, by way of stretto_settings: the preload stands on the C API alone.
    Setting::mpi, Setting::mpi_report, Setting::mpi_warmup, Setting::mpi_all_ranks,
    // The backend of PyTorch.
    Setting::torch_mode, Setting::torch_replace, Setting::torch_cuda,
    // python/stretto/metrics, by way of stretto_settings.
    Setting::metrics_interval,
    // bootstrap/environment.cpp, with what other launchers say of a rank.
    Setting::rank, Setting::size, Setting::job, Setting::local_rank, Setting::local_size};

constexpr bool reads_each_once() {
    return std::ranges::all_of(kSettings, [](const SettingInfo &each) {
        return std::ranges::count(kFields, each.setting, &Field::setting) +
                   std::ranges::count(kReadElsewhere, each.setting) ==
               1;
    });
}
static_assert(reads_each_once(), "a setting is one field of Config, or is read elsewhere");

SettingState or_default(const SettingState &state) {
    if (state.error.empty())
        return state;
    SettingState fallback{state.info, std::string(state.info->fallback)};
    if (!fallback.value.empty())
        fallback.number = parse(*state.info, fallback.value).number;
    return fallback;
}

// Why there can be no segments of this shape; "" if there can.
std::string misfit(const ReadSettings &read) {
    const auto refused = [&](Setting setting, const std::string &takes) {
        return std::string(info(setting).variable) + " is '" +
               read.states[static_cast<std::size_t>(setting)].value + "'; it takes " + takes;
    };
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t least = std::max<std::size_t>(page, info(Setting::ring_bytes).least);
    const Config::Shape &shape = read.config.shape;
    if (shape.ring_bytes != 0 &&
        (!std::has_single_bit(shape.ring_bytes) || shape.ring_bytes < least))
        return refused(Setting::ring_bytes, "a power of two of at least " + std::to_string(least));
    if (shape.heap_bytes % page != 0 || shape.heap_bytes == 0)
        return refused(Setting::heap_bytes,
                       "a multiple of the page size, " + std::to_string(page) + " bytes");
    return "";
}

} // namespace

ReadSettings read_settings(const Environment &environment) {
    ReadSettings read{settings_in_force(environment), {}};
    for (const Field &each : kFields)
        each.fill(read.config, or_default(read.states[static_cast<std::size_t>(each.setting)]));
    read.config.kernels.mps_named = environment("CUDA_MPS_PIPE_DIRECTORY") != nullptr;
    for (const SettingState &each : read.states)
        if (read.config.error.empty())
            read.config.error = each.error;
    if (read.config.error.empty())
        read.config.error = misfit(read);
    return read;
}

Config read_config(const Environment &environment) {
    return read_settings(environment).config;
}

} // namespace stretto
