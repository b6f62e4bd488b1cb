// SPDX-License-Identifier: BSD-3-Clause
// The settings of a job, as this process reads them when it joins the job.
//
// Each init reads the environment once and hands the Config down; a communicator that is made of
// another uses the Config of its parent.  Each setting is one field, but for those that something
// else than a communicator reads (kReadElsewhere in config.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/settings.hpp"

namespace stretto {

// A time of 0 is no limit, and a text or a size of "" or 0 is not set, unless a field says
// something else.
struct Config {
    struct Waits {
        std::uint64_t init_timeout_ns = 0;
        std::uint64_t timeout_ns = 0;
        std::optional<std::uint64_t> spin_ns = {}; // nothing: as there are cores
        std::uint64_t stall_warning_factor = 0;    // 0: no warning
    };
    struct Failures {
        std::uint64_t peer_timeout_ns = 0;
        std::uint64_t heartbeat_ns = 0;
    };
    // Of rank 0, or of the rank that makes the segment.
    struct Shape {
        std::size_t ring_bytes = 0;  // 0: as there are ranks
        std::size_t slice_bytes = 0; // 0: as the vector is long
        std::size_t heap_bytes = 0;
    };
    struct Calls {
        std::string algorithm = {};
        std::string reproducible = {}; // "off", "run" or "full"
        std::size_t plan_bytes = 0;
        bool log_choices = false;
    };
    struct Tuning {
        bool autotune = false;
        std::string file = {}; // or a word in place of a file
    };
    struct Arrivals {
        bool enabled = false;
    };
    struct Matching {
        std::string scheme = {}; // "auto", or the name of one
        std::uint32_t calls = 0, attempts = 0;
    };
    struct Trace {
        std::string folder = {};
        std::size_t bytes = 0;
    };
    struct Report {
        std::string folder = {};
    };
    struct Network {
        std::string addr = {};
        std::string iface = {};
        std::string fake_hosts = {};
        std::string ports = {};
        std::string transport = {}; // "auto", or the name of one
        std::uint32_t sockets = 0;  // at least 1
        std::string congestion = {};
        std::uint64_t delay_ns = 0;                     // 0: no delay
        std::optional<std::uint64_t> pinned_bytes = {}; // nothing: as there are devices
    };
    // Of the process: the values of its first job.
    struct Kernels {
        std::string isa = {};
        bool rep_movsb = false;
        std::string cma = {}; // "off", "copies" or "all"
        bool xpmem = false;
        bool cuda_ipc = false;
        std::string gpu_launch = {}; // "auto", "passes", "own" or "shared"
        bool mps_named = false;      // the environment names a pipe of CUDA's MPS
    };

    Waits waits = {};
    Failures failures = {};
    Shape shape = {};
    Calls calls = {};
    Tuning tuning = {};
    Arrivals arrivals = {};
    Matching matching = {};
    Trace trace = {};
    Report report = {};
    Network network = {};
    Kernels kernels = {};
    bool warn = false; // of the process: the value of its last job

    // What is wrong with the first value that cannot be read, also of a setting that is no field;
    // "" if nothing is.  The field has its default meanwhile: a rank joins so far that the others
    // hear the error.
    std::string error = {};
};

// What one init reads.
struct ReadSettings {
    std::vector<SettingState> states; // of all settings, for `stretto info` and stretto_settings
    Config config;
};
ReadSettings read_settings(const Environment &environment = from_process);
// The same without the states.
Config read_config(const Environment &environment = from_process);

} // namespace stretto
