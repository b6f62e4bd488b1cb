// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <map>
#include <set>
#include <string>

#include "base/config.hpp"

using namespace stretto;

namespace {

using Variables = std::map<std::string, std::string>;

Environment with(const Variables &variables) {
    return [&variables](const char *name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    };
}

Config of(const Variables &variables) {
    return read_config(with(variables));
}

// All fields, in the order of the table of settings, and what is wrong.
std::string in_words(const Config &c) {
    const auto joined = [](auto... fields) {
        std::string text;
        (text.append(text.empty() ? "" : ", ").append(fields), ...);
        return text;
    };
    const auto n = [](std::uint64_t number) { return std::to_string(number); };
    return joined(
        n(c.waits.timeout_ns), n(c.waits.stall_warning_factor), n(c.waits.init_timeout_ns),
        n(c.failures.peer_timeout_ns), n(c.failures.heartbeat_ns), c.calls.algorithm,
        c.calls.reproducible, c.waits.spin_ns ? n(*c.waits.spin_ns) : "none", n(c.shape.ring_bytes),
        n(c.shape.slice_bytes), n(c.calls.plan_bytes), n(c.shape.heap_bytes), c.kernels.isa,
        n(c.kernels.rep_movsb), c.kernels.cma, n(c.kernels.xpmem), n(c.kernels.cuda_ipc),
        c.kernels.gpu_launch, n(c.warn), n(c.tuning.autotune), n(c.arrivals.enabled),
        c.matching.scheme, n(c.matching.calls), n(c.matching.attempts), n(c.calls.log_choices),
        c.trace.folder, n(c.trace.bytes), c.report.folder, c.network.addr, c.network.iface,
        c.network.fake_hosts, c.network.ports, c.network.transport, n(c.network.sockets),
        c.network.congestion, n(c.network.delay_ns),
        c.network.pinned_bytes ? n(*c.network.pinned_bytes) : "none", c.tuning.file, c.error);
}

// A value for each setting of the table that is no default.
const Variables kAll{{"STRETTO_TIMEOUT", "1s"},
                     {"STRETTO_STALL_WARNING", "2"},
                     {"STRETTO_INIT_TIMEOUT", "3"},
                     {"STRETTO_PEER_TIMEOUT", "4ms"},
                     {"STRETTO_HEARTBEAT", "5ms"},
                     {"STRETTO_ALGORITHM", "ring"},
                     {"STRETTO_REPRODUCIBLE", "run"},
                     {"STRETTO_SPIN", "0"},
                     {"STRETTO_RING_BYTES", "16K"},
                     {"STRETTO_SLICE_BYTES", "10"},
                     {"STRETTO_PLAN_BYTES", "11"},
                     {"STRETTO_HEAP_BYTES", "12K"},
                     {"STRETTO_ISA", "baseline"},
                     {"STRETTO_REP_MOVSB", "no"},
                     {"STRETTO_WARN", "0"},
                     {"STRETTO_AUTOTUNE", "off"},
                     {"STRETTO_ARRIVALS", "0"},
                     {"STRETTO_MATCHING", "hash"},
                     {"STRETTO_MATCHING_CALLS", "17"},
                     {"STRETTO_MATCHING_ATTEMPTS", "18"},
                     {"STRETTO_LOG", "choice"},
                     {"STRETTO_TRACE", "/trace"},
                     {"STRETTO_TRACE_BYTES", "20K"},
                     {"STRETTO_REPORT", "/report"},
                     {"STRETTO_METRICS", "/metrics"},
                     {"STRETTO_ADDR", "node7:1"},
                     {"STRETTO_IFACE", "eth"},
                     {"STRETTO_FAKE_HOSTS", "a,b"},
                     {"STRETTO_PORTS", "25-26"},
                     {"STRETTO_TRANSPORT", "tcp"},
                     {"STRETTO_SOCKETS", "7"},
                     {"STRETTO_CONGESTION", "reno"},
                     {"STRETTO_DELAY", "29"},
                     {"STRETTO_PINNED_BYTES", "30K"},
                     {"STRETTO_TUNING_FILE", "assumed"},
                     {"STRETTO_CMA", "all"},
                     {"STRETTO_XPMEM", "on"},
                     {"STRETTO_CUDA_IPC", "off"},
                     {"STRETTO_GPU_LAUNCH", "own"}};

// What something else than a communicator reads.
const std::set<std::string_view> kElsewhere{
    "STRETTO_SECRET",     "STRETTO_SECRET_FILE",   "STRETTO_MPI",        "STRETTO_MPI_REPORT",
    "STRETTO_MPI_WARMUP", "STRETTO_MPI_ALL_RANKS", "STRETTO_RANK",       "STRETTO_SIZE",
    "STRETTO_JOB",        "STRETTO_LOCAL_RANK",    "STRETTO_LOCAL_SIZE", "STRETTO_METRICS_INTERVAL",
    "STRETTO_TORCH_MODE", "STRETTO_TORCH_REPLACE", "STRETTO_TORCH_CUDA",
};

} // namespace

TEST_CASE("an empty environment gives the defaults of the table") {
    CHECK(in_words(of({})) ==
          "600000000000, 0, 60000000000, 10000000000, 500000000, , off, none, 0, 0, 67108864, "
          "68719476736, , 1, copies, 0, 1, auto, 1, 1, 1, auto, 64, 8, 0, , 16777216, , , , , , "
          "auto, 1, "
          ", 0, "
          "none, , ");
    Variables empty = kAll;
    for (auto &[variable, value] : empty)
        value = "";
    CHECK(in_words(of(empty)) == in_words(of({}))); // set to nothing is not set
}

TEST_CASE("each setting has its field") {
    CHECK(in_words(of(kAll)) ==
          "1000000000, 2, 3000000000, 4000000, 5000000, ring, run, 0, 16384, 10, 11, 12288, "
          "baseline, 0, all, 1, 0, own, 0, 0, 0, hash, 17, 18, 1, /trace, 20480, /report, node7:1, "
          "eth, "
          "a,b, "
          "25-26, tcp, 7, "
          "reno, 29000, 30720, assumed, ");
    for (const SettingInfo &each : settings()) {
        const std::string variable(each.variable);
        CAPTURE(variable);
        CHECK(kAll.contains(variable) != kElsewhere.contains(variable));
        if (const auto found = kAll.find(variable); found != kAll.end())
            CHECK(in_words(of({*found})) != in_words(of({})));
    }
}

TEST_CASE("a value that cannot be read is an error, and its field has the default") {
    const Config config = of({{"STRETTO_INIT_TIMEOUT", "soon"},
                              {"STRETTO_SOCKETS", "0"},
                              {"STRETTO_SPIN", "long"},
                              {"STRETTO_LOCAL_RANK", "first"},
                              {"STRETTO_DELAY", "1ms"}});
    CHECK(config.error.find("STRETTO_INIT_TIMEOUT is 'soon'; it takes a time") == 0);
    CHECK(config.waits.init_timeout_ns == 60'000'000'000);
    CHECK(config.network.sockets == 1);
    CHECK_FALSE(config.waits.spin_ns.has_value());
    CHECK(config.network.delay_ns == 1'000'000); // others are read as ever
    // Also of a setting that is no field.
    CHECK(of({{"STRETTO_MPI_WARMUP", "never"}}).error.find("STRETTO_MPI_WARMUP is 'never'") == 0);
}

TEST_CASE("sizes that segments cannot have are an error") {
    CHECK(of({{"STRETTO_RING_BYTES", "24K"}})
              .error.find("STRETTO_RING_BYTES is '24K'; it takes a power of two of at least ") ==
          0);
    CHECK(of({{"STRETTO_HEAP_BYTES", "5000"}})
              .error.find("STRETTO_HEAP_BYTES is '5000'; it takes a multiple of the page size") ==
          0);
    CHECK(of({{"STRETTO_RING_BYTES", "64K"}, {"STRETTO_HEAP_BYTES", "1M"}}).error == "");
}

TEST_CASE(
    "metrics are made of reports, which go into their folder if they have none of their own") {
    CHECK(of({{"STRETTO_METRICS", "/metrics"}}).report.folder == "/metrics");
    CHECK(of({{"STRETTO_METRICS", "/metrics"}, {"STRETTO_REPORT", "/late"}}).report.folder ==
          "/late");
}

TEST_CASE("what is read once is what `stretto info` shows") {
    const Variables variables{{"STRETTO_TIMEOUT", "5"}, {"STRETTO_SECRET", "of nobody"}};
    const ReadSettings read = read_settings(with(variables));
    REQUIRE(read.states.size() == settings().size());
    for (std::size_t i = 0; i < read.states.size(); ++i)
        CHECK(read.states[i].info == &settings()[i]);
    CHECK(read.states[static_cast<std::size_t>(Setting::timeout)].number ==
          read.config.waits.timeout_ns);
    CHECK(read.states[static_cast<std::size_t>(Setting::secret)].value == kSet);
}
