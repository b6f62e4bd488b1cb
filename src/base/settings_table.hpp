// SPDX-License-Identifier: BSD-3-Clause
// The table of all settings.
#pragma once

#include <array>

#include "base/setting_limits.hpp"
#include "base/settings.hpp"

namespace stretto {

inline constexpr std::array kSettings{
    SettingInfo{.setting = Setting::timeout,
                .variable = "STRETTO_TIMEOUT",
                .kind = SettingKind::duration,
                .fallback = "600",
                .meaning = "how long a call waits for a rank that does not come, or is stuck; "
                           "0: for ever",
                .most = kLongestNs,
                .unit = "s"},
    SettingInfo{.setting = Setting::stall_warning,
                .variable = "STRETTO_STALL_WARNING",
                .kind = SettingKind::count,
                .fallback = "off",
                .meaning = "a factor: if ranks wait in a call for longer than this factor "
                           "times the longest wait of earlier similar calls, plus 1 s, a "
                           "line on standard error names the ranks that have not come; once "
                           "for a call on each host",
                .most = 1'000'000,
                .words = "off"},
    SettingInfo{.setting = Setting::init_timeout,
                .variable = "STRETTO_INIT_TIMEOUT",
                .kind = SettingKind::duration,
                .fallback = "60",
                .meaning = "how long stretto_init waits for the other ranks; 0: for ever",
                .most = kLongestNs,
                .unit = "s"},
    SettingInfo{.setting = Setting::peer_timeout,
                .variable = "STRETTO_PEER_TIMEOUT",
                .kind = SettingKind::duration,
                .fallback = "10",
                .meaning = "in a job on several hosts, how long a rank may give no sign of "
                           "life before it counts as dead; a rank that computes gives "
                           "signs, a stopped one does not; 0: for ever",
                .most = kLongestNs,
                .unit = "s"},
    SettingInfo{.setting = Setting::heartbeat,
                .variable = "STRETTO_HEARTBEAT",
                .kind = SettingKind::duration,
                .fallback = "500ms",
                .meaning = "how often ranks of a job on several hosts ask one another for a sign "
                           "of life; at least four times within STRETTO_PEER_TIMEOUT",
                .least = 1'000'000,
                .most = kLongestNs,
                .unit = "s"},
    SettingInfo{.setting = Setting::algorithm,
                .variable = "STRETTO_ALGORITHM",
                .kind = SettingKind::text,
                .fallback = "",
                .meaning = "forces an algorithm: a name of `stretto list`, with parameters, as "
                           "segmented_ring(segments=4); or, for a collective and sizes in bytes, "
                           "rules as allreduce:4K-64K=ring,allreduce=direct; or a user schedule, "
                           "as file:/path/mine.json (docs/algorithms.md); by default "
                           "Stretto chooses"},
    SettingInfo{.setting = Setting::reproducible,
                .variable = "STRETTO_REPRODUCIBLE",
                .kind = SettingKind::choice,
                .fallback = "off",
                .meaning = "run: the same bits in every run; full: also for every size, split and "
                           "algorithm",
                .words = "off run full"},
    SettingInfo{.setting = Setting::spin,
                .variable = "STRETTO_SPIN",
                .kind = SettingKind::duration,
                .fallback = "",
                .meaning = "how long a waiting rank spins before it yields; by default 100 us "
                           "with a core for every rank, else 0",
                .most = kLongestNs,
                .unit = "us"},
    SettingInfo{.setting = Setting::ring_bytes,
                .variable = "STRETTO_RING_BYTES",
                .kind = SettingKind::bytes,
                .fallback = "",
                .meaning = "each of the two rings of a rank in shared memory, a power of two; by "
                           "default 512K to 2M by number of ranks, 512K to 8M between hosts",
                .least = 8192, // the least size that holds the largest record
                .most = kMostBytes},
    SettingInfo{.setting = Setting::slice_bytes,
                .variable = "STRETTO_SLICE_BYTES",
                .kind = SettingKind::bytes,
                .fallback = "",
                .meaning = "the size of the slices of blocks; by default by that of the vector",
                .most = kMostBytes},
    SettingInfo{.setting = Setting::plan_bytes,
                .variable = "STRETTO_PLAN_BYTES",
                .kind = SettingKind::bytes,
                .fallback = "64M",
                .meaning = "memory for plans of calls that may be repeated; when it is full, all "
                           "plans are dropped, and made again when they are needed",
                .most = kMostBytes},
    SettingInfo{.setting = Setting::heap_bytes,
                .variable = "STRETTO_HEAP_BYTES",
                .kind = SettingKind::bytes,
                .fallback = "64G",
                .meaning = "address space for stretto_alloc, per rank; a multiple of a page",
                .least = 4096,
                .most = kMostBytes},
    SettingInfo{.setting = Setting::isa,
                .variable = "STRETTO_ISA",
                .kind = SettingKind::choice,
                .fallback = "",
                .meaning = "limits the kernels' instruction set; by default the widest there is",
                .words = "baseline avx2 avx512"},
    SettingInfo{.setting = Setting::rep_movsb,
                .variable = "STRETTO_REP_MOVSB",
                .kind = SettingKind::boolean,
                .fallback = "1",
                .meaning = "whether copies use the string instruction if fast (x86-64: ERMS)"},
    SettingInfo{.setting = Setting::cma,
                .variable = "STRETTO_CMA",
                .kind = SettingKind::choice,
                .fallback = "copies",
                .meaning = "calls in which ranks of a host copy long contributions from one "
                           "another's memory (cross-memory attach, process_vm_readv), if the "
                           "kernel lets them: those that reduce nothing, or all",
                .words = "off copies all"},
    SettingInfo{.setting = Setting::xpmem,
                .variable = "STRETTO_XPMEM",
                .kind = SettingKind::boolean,
                .fallback = "0",
                .meaning = "whether ranks of a host read long contributions in place, by XPMEM "
                           "(libxpmem.so.0); if a rank cannot, it warns, and STRETTO_CMA holds"},
    SettingInfo{.setting = Setting::cuda_ipc,
                .variable = "STRETTO_CUDA_IPC",
                .kind = SettingKind::boolean,
                .fallback = "1",
                .meaning = "whether ranks of a host use one another's CUDA memory in place"},
    SettingInfo{.setting = Setting::gpu_launch,
                .variable = "STRETTO_GPU_LAUNCH",
                .kind = SettingKind::choice,
                .fallback = "auto",
                .meaning = "which processes launch kernels on a GPU that they share (docs/gpu.md)",
                .words = "auto own shared"},
    SettingInfo{.setting = Setting::warn,
                .variable = "STRETTO_WARN",
                .kind = SettingKind::boolean,
                .fallback = "1",
                .meaning = "whether the library warns on standard error, for instance of a "
                           "STRETTO_ variable that does not exist or of a refused connection"},
    SettingInfo{.setting = Setting::autotune,
                .variable = "STRETTO_AUTOTUNE",
                .kind = SettingKind::boolean,
                .fallback = "1",
                .meaning = "whether repeated calls between hosts try algorithms of similar price"},
    SettingInfo{.setting = Setting::arrivals,
                .variable = "STRETTO_ARRIVALS",
                .kind = SettingKind::boolean,
                .fallback = "1",
                .meaning = "whether repeated calls of 512 KiB and more use algorithms for ranks "
                           "that arrive at different times (docs/arrivals.md)"},
    SettingInfo{.setting = Setting::matching,
                .variable = "STRETTO_MATCHING",
                .kind = SettingKind::choice,
                .fallback = "auto",
                .meaning = "how a rank finds the message for a receive, and the receive for a "
                           "message: list, bins (a quarter as many as ranks, by source), by_source "
                           "or hash (of source and tag); auto: each queue is a list until it is "
                           "searched long (docs/messages.md)",
                .words = "auto list bins by_source hash"},
    SettingInfo{.setting = Setting::matching_calls,
                .variable = "STRETTO_MATCHING_CALLS",
                .kind = SettingKind::count,
                .fallback = "64",
                .meaning = "with STRETTO_MATCHING=auto, after how many searches of a queue, at the "
                           "latest, it is considered whether another way is faster",
                .least = 1,
                .most = 1'000'000'000},
    SettingInfo{.setting = Setting::matching_attempts,
                .variable = "STRETTO_MATCHING_ATTEMPTS",
                .kind = SettingKind::count,
                .fallback = "8",
                .meaning =
                    "with STRETTO_MATCHING=auto, how many messages or receives a search of a "
                    "list looks at, in the mean, before another way is considered",
                .most = 1'000'000'000},
    SettingInfo{.setting = Setting::log,
                .variable = "STRETTO_LOG",
                .kind = SettingKind::choice,
                .fallback = "off",
                .meaning = "choice: rank 0 writes to standard error, once for each kind of call, "
                           "which algorithm was chosen and why",
                .words = "off choice"},
    SettingInfo{.setting = Setting::trace,
                .variable = "STRETTO_TRACE",
                .kind = SettingKind::text,
                .fallback = "",
                .meaning = "a folder into which each rank writes a trace of its calls, steps and "
                           "waits, for Perfetto (docs/trace.md); by default there is none"},
    SettingInfo{.setting = Setting::trace_bytes,
                .variable = "STRETTO_TRACE_BYTES",
                .kind = SettingKind::bytes,
                .fallback = "16M",
                .meaning = "memory of each rank for its trace, 64 bytes a record; when it is full, "
                           "the oldest records are dropped",
                .least = 4096,
                .most = std::uint64_t{1} << 36},
    SettingInfo{.setting = Setting::report,
                .variable = "STRETTO_REPORT",
                .kind = SettingKind::text,
                .fallback = "",
                .meaning = "a folder into which each rank writes when it arrived at its calls; "
                           "`stretto report` reads it and shows which ranks come late "
                           "(docs/report.md); by default there is none"},
    SettingInfo{.setting = Setting::metrics,
                .variable = "STRETTO_METRICS",
                .kind = SettingKind::text,
                .fallback = "",
                .meaning = "a folder into which one rank of each host writes the times of calls "
                           "and the late ranks for Prometheus (docs/metrics.md); reports of calls "
                           "go there too unless STRETTO_REPORT names another folder; by default "
                           "there are none"},
    SettingInfo{.setting = Setting::metrics_interval,
                .variable = "STRETTO_METRICS_INTERVAL",
                .kind = SettingKind::duration,
                .fallback = "30",
                .meaning = "how often the metrics are written anew",
                .least = 100'000'000,
                .most = kLongestNs,
                .unit = "s"},
    SettingInfo{.setting = Setting::addr,
                .variable = "STRETTO_ADDR",
                .kind = SettingKind::text,
                .fallback = "",
                .meaning = "the bootstrap address of a job on several hosts: an address of rank "
                           "0's host and a port that is free there, as node7:29400; by default "
                           "that of torchrun, or none: all ranks are on one host"},
    SettingInfo{.setting = Setting::iface,
                .variable = "STRETTO_IFACE",
                .kind = SettingKind::text,
                .fallback = "",
                .meaning = "network interfaces to use: beginnings of names, as eth0,ib; whole "
                           "names after =, as =eth0; all but these after ^, as ^docker,lo; by "
                           "default the one that leads to the peer"},
    SettingInfo{
        .setting = Setting::fake_hosts,
        .variable = "STRETTO_FAKE_HOSTS",
        .kind = SettingKind::text,
        .fallback = "",
        .meaning =
            "names of hosts for ranks 0, 1, ... in turn, as a,a,b: ranks with different names "
            "share no memory, even if they could, so one machine stands for several hosts.  With "
            "`stretto run`, which chooses an address and a secret, or with STRETTO_ADDR"},
    SettingInfo{.setting = Setting::ports,
                .variable = "STRETTO_PORTS",
                .kind = SettingKind::text,
                .fallback = "",
                .meaning = "TCP ports at which ranks of a job on several hosts listen, as "
                           "29401-29420, for firewalls; each rank of a host takes one, in addition "
                           "to that of STRETTO_ADDR; by default the kernel chooses"},
    SettingInfo{.setting = Setting::transport,
                .variable = "STRETTO_TRANSPORT",
                .kind = SettingKind::text,
                .fallback = "auto",
                .meaning = "the transport that brings data to ranks on other hosts, tcp or ucx; "
                           "auto: ucx if all ranks have devices for RDMA, else tcp.  A rank with "
                           "another value than auto uses only that transport"},
    SettingInfo{.setting = Setting::sockets,
                .variable = "STRETTO_SOCKETS",
                .kind = SettingKind::count,
                .fallback = "1",
                .meaning =
                    "TCP connections for data between two ranks on different hosts, for networks "
                    "on which one connection does not fill the link; rank 0's value counts",
                .least = 1,
                .most = 16},
    SettingInfo{.setting = Setting::congestion,
                .variable = "STRETTO_CONGESTION",
                .kind = SettingKind::text,
                .fallback = "",
                .meaning = "TCP's congestion control between hosts, one that the machine allows: "
                           "cubic, reno, bbr; by default that of the machine"},
    SettingInfo{.setting = Setting::delay,
                .variable = "STRETTO_DELAY",
                .kind = SettingKind::duration,
                .fallback = "0",
                .meaning = "a delay for everything that is sent to another host: for experiments",
                .most = kLongestNs,
                .unit = "us"},
    SettingInfo{.setting = Setting::pinned_bytes,
                .variable = "STRETTO_PINNED_BYTES",
                .kind = SettingKind::bytes,
                .fallback = "",
                .meaning = "how much memory a rank pins over UCX (docs/ucx.md) for what others "
                           "write, for its rings, and for buffers; by default 64M each",
                .most = kMostBytes},
    SettingInfo{.setting = Setting::tuning_file,
                .variable = "STRETTO_TUNING_FILE",
                .kind = SettingKind::text,
                .fallback = "",
                .meaning = "the times of the network and its calls: a JSON file "
                           "(docs/hosts.md), assumed, or thorough; by default the network is "
                           "measured at the start; rank 0's value counts"},
    SettingInfo{.setting = Setting::secret_file,
                .variable = "STRETTO_SECRET_FILE",
                .kind = SettingKind::text,
                .fallback = "",
                .meaning = "a file with the secret that the ranks of a job share; only its owner "
                           "may be able to read it; by default "
                           "~/.config/stretto/secret, which `stretto secret` makes"},
    SettingInfo{.setting = Setting::secret,
                .variable = "STRETTO_SECRET",
                .kind = SettingKind::text,
                .fallback = "",
                .meaning = "the secret itself, in place of a file, from 32 to 4096 characters; its "
                           "value is never shown",
                .secret = true},
    SettingInfo{.setting = Setting::mpi,
                .variable = "STRETTO_MPI",
                .kind = SettingKind::text,
                .fallback = "all",
                .meaning = "calls of an MPI program that Stretto runs when it is preloaded "
                           "(docs/mpi.md): all, none, a list as allreduce,bcast, or all except a "
                           "list, as ^barrier; rank 0's value counts"},
    SettingInfo{.setting = Setting::mpi_report,
                .variable = "STRETTO_MPI_REPORT",
                .kind = SettingKind::boolean,
                .fallback = "0",
                .meaning = "whether rank 0 of an MPI program prints at its end which calls "
                           "Stretto ran, which it did not and why, and their times beside "
                           "those of the MPI library; rank 0's value counts"},
    SettingInfo{.setting = Setting::mpi_warmup,
                .variable = "STRETTO_MPI_WARMUP",
                .kind = SettingKind::duration,
                .fallback = "2ms",
                .meaning = "how much work an MPI program does on a communicator other than "
                           "MPI_COMM_WORLD, at 5 us a call and 1 ns a byte, before Stretto "
                           "makes one of its own for it; 0: at once; rank 0's value counts",
                .most = kLongestNs,
                .unit = "s"},
    SettingInfo{.setting = Setting::mpi_all_ranks,
                .variable = "STRETTO_MPI_ALL_RANKS",
                .kind = SettingKind::boolean,
                .fallback = "0",
                .meaning = "whether every rank of the MPI program is known to have the preload, so "
                           "that ranks do not ask the launcher (docs/mpi.md): for launchers whose "
                           "key-value space Stretto does not know; set it on all ranks"},
    SettingInfo{.setting = Setting::torch_mode,
                .variable = "STRETTO_TORCH_MODE",
                .kind = SettingKind::choice,
                .fallback = "",
                .meaning = "how the backend of PyTorch is made (docs/pytorch.md): backend (from "
                           "PyTorch 2.14 on the default), group (that of 2.13) or compiled",
                .words = "backend group compiled"},
    SettingInfo{.setting = Setting::torch_replace,
                .variable = "STRETTO_TORCH_REPLACE",
                .kind = SettingKind::choice,
                .fallback = "",
                .meaning = "the backend of PyTorch in whose place Stretto runs, for programs that "
                           "name it themselves (docs/pytorch.md); from PyTorch 2.14 on",
                .words = "gloo"},
    SettingInfo{.setting = Setting::rank,
                .variable = "STRETTO_RANK",
                .kind = SettingKind::count,
                .fallback = "",
                .meaning = "the rank of this process in its job",
                .most = kMostRanks - 1,
                .group = SettingGroup::launcher},
    SettingInfo{.setting = Setting::size,
                .variable = "STRETTO_SIZE",
                .kind = SettingKind::count,
                .fallback = "",
                .meaning = "the number of ranks of the job",
                .least = 1,
                .most = kMostRanks,
                .group = SettingGroup::launcher},
    SettingInfo{.setting = Setting::job,
                .variable = "STRETTO_JOB",
                .kind = SettingKind::text,
                .fallback = "default",
                .meaning = "the name of the job, the same for all its ranks on this host and "
                           "different from other jobs",
                .group = SettingGroup::launcher},
    SettingInfo{.setting = Setting::local_rank,
                .variable = "STRETTO_LOCAL_RANK",
                .kind = SettingKind::count,
                .fallback = "",
                .meaning = "the rank among the ranks of this host, for programs that need it",
                .most = kMostRanks - 1,
                .group = SettingGroup::launcher},
    SettingInfo{.setting = Setting::local_size,
                .variable = "STRETTO_LOCAL_SIZE",
                .kind = SettingKind::count,
                .fallback = "",
                .meaning = "the number of ranks of this host, for programs that need it",
                .least = 1,
                .most = kMostRanks,
                .group = SettingGroup::launcher},
};

} // namespace stretto
