// SPDX-License-Identifier: BSD-3-Clause
// The settings: every STRETTO_* variable, once, with its type, range, default and meaning; and the
// only file of the library that asks for a variable.  What a communicator goes by is its Config
// (base/config.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stretto {

// In the order of the table in settings.cpp, which is the order of docs/settings.md.
enum class Setting {
    timeout,
    stall_warning,
    init_timeout,
    peer_timeout,
    heartbeat,
    algorithm,
    reproducible,
    spin,
    ring_bytes,
    slice_bytes,
    plan_bytes,
    heap_bytes,
    isa,
    rep_movsb,
    cma,
    xpmem,
    cuda_ipc,
    gpu_launch,
    warn,
    autotune,
    arrivals,
    matching,
    matching_calls,
    matching_attempts,
    log,
    trace,
    trace_bytes,
    report,
    metrics,
    metrics_interval,
    addr,
    iface,
    fake_hosts,
    ports,
    transport,
    sockets,
    congestion,
    delay,
    pinned_bytes,
    tuning_file,
    secret_file,
    secret,
    mpi,
    mpi_report,
    mpi_warmup,
    mpi_all_ranks,
    torch_mode,
    torch_replace,
    torch_cuda,
    rank,
    size,
    job,
    local_rank,
    local_size,
};

enum class SettingKind { bytes, duration, count, boolean, choice, text };

// Who sets it: a user or a launcher.
enum class SettingGroup { user, launcher };

struct SettingInfo {
    Setting setting;
    std::string_view variable; // "STRETTO_TIMEOUT"
    SettingKind kind;
    std::string_view fallback; // the default, as it would be written; "": see `meaning`
    std::string_view meaning;
    // bytes, count: the range; duration: in nanoseconds.
    std::uint64_t least = 0, most = UINT64_MAX;
    std::string_view unit = "";  // duration: the unit of a number without one
    std::string_view words = ""; // choice: the values, separated by spaces; count: the word for 0
    SettingGroup group = SettingGroup::user;
    bool secret = false; // a secret: messages show kSet in place of the value
};

// Shown in place of the value of a secret.
inline constexpr std::string_view kSet = "set";

std::span<const SettingInfo> settings();
const SettingInfo &info(Setting setting);
std::string_view name(SettingKind kind);
// Describes the values that the setting takes: "bytes, for instance 65536, 64K or 2M; at least
// 4096".
std::string takes(const SettingInfo &info);

struct SettingValue {
    std::uint64_t number = 0; // duration: nanoseconds; boolean: 0 or 1
    std::string text;         // as it was written
};
// As a setting is written: "64K", "2M", "1000".
std::string written_bytes(std::uint64_t bytes);
// Reads "64K", "64 KiB" or "1000"; nothing if the text is no size.
std::optional<std::uint64_t> bytes_in(std::string_view text);
// Throws Error(argument) that names the variable, the value and the values that it takes.  "" is a
// value of text settings only.
SettingValue parse(const SettingInfo &info, std::string_view text);

// Where variables come from; null: not set.
using Environment = std::function<const char *(const char *name)>;
const char *from_process(const char *name);

// Where a value comes from.  The numbers are those of stretto_source in info.h.
enum class SettingSource {
    fallback,    // the default
    environment, // of this process
    program,     // a call of the program
    launcher,    // a launcher's own variables, as torchrun's
    rank_0,      // rank 0, whose environment holds for all ranks
};
std::string_view name(SettingSource source);

// Everything that `stretto info` shows of a setting.
struct SettingState {
    const SettingInfo *info;
    std::string value; // as it was written, or the default; of a secret kSet
    SettingSource source = SettingSource::fallback;
    std::uint64_t number = 0; // SettingValue's, if the value is one
    std::string error = "";   // "" if it is
};
// All of them, in the order of the table.  A variable that is set to nothing counts as not set.
std::vector<SettingState> settings_in_force(const Environment &environment = from_process);

// Variables of an environment (a list as in environ(7)) that begin with STRETTO_ and are no
// settings.
struct UnknownSetting {
    std::string variable;
    std::string value;    // kSet, if it may be meant to be a secret
    std::string sentence; // says that there is no such setting, and names the nearest real one
};
std::vector<UnknownSetting> unknown_settings(const char *const *environment);

// docs/settings.md.
std::string settings_page();

} // namespace stretto
