// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/launch.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/descriptor.hpp"
#include "base/kernel_files.hpp"
#include "base/lazy.hpp"

namespace stretto::bootstrap {

namespace {

std::string stat_of(int pid) {
    return contents("/proc/" + std::to_string(pid) + "/stat");
}

std::optional<int> parent_of(int pid) {
    if (pid == getpid())
        return getppid();
    const auto process = process_of(stat_of(pid));
    return process ? std::optional(process->parent) : std::nullopt;
}

// A process that runs has some environment, so an empty text is one that cannot be read.
std::optional<std::string> environment_of(int pid) {
    std::string text = contents("/proc/" + std::to_string(pid) + "/environ");
    return text.empty() ? std::nullopt : std::optional(std::move(text));
}

// Since Linux 6.9 each process has an inode that no other one ever has, the same in all namespaces.
std::string mark_of(const Descriptor &pidfd) {
    constexpr auto kPidFileSystemMagic = 0x50494446;
    struct statfs system{};
    struct stat status{};
    if (!pidfd.open() || fstatfs(pidfd.get(), &system) != 0 ||
        static_cast<std::uint64_t>(system.f_type) != kPidFileSystemMagic ||
        fstat(pidfd.get(), &status) != 0)
        return "";
    return "process " + std::to_string(status.st_ino);
}

std::string mark_of_pid(int pid) {
#if !defined(SYS_pidfd_open)
    constexpr long SYS_pidfd_open = 434; // older headers; the same on all architectures but Alpha
#endif
    if (pid > 0) {
        const Descriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
        if (std::string mark = mark_of(pidfd); !mark.empty())
            return mark;
    }
    return "process " + std::to_string(pid) + " since " + start_of(stat_of(pid)) + " in " +
           std::to_string(pid_namespace());
}

std::string mark_of_peer(int descriptor) {
    ucred credentials{};
    socklen_t length = sizeof(credentials);
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
        return "";
#if defined(SO_PEERPIDFD)
    constexpr int kPeerPidfdOption = SO_PEERPIDFD;
#else
    constexpr int kPeerPidfdOption = 77; // Linux 6.5
#endif
    int pidfd = -1;
    length = sizeof(pidfd);
    if (getsockopt(descriptor, SOL_SOCKET, kPeerPidfdOption, &pidfd, &length) == 0)
        if (std::string mark = mark_of(Descriptor(pidfd)); !mark.empty())
            return mark;
    return credentials.pid > 0 ? mark_of_pid(credentials.pid) : "";
}

std::string value_of(const Environment &environment, const char *name) {
    const char *value = environment(name);
    return value == nullptr ? "" : value;
}

bool has(std::string_view environment, const std::string &variable) {
    const std::string begin = variable + "=";
    while (!environment.empty()) {
        if (environment.starts_with(begin))
            return true;
        environment.remove_prefix(std::min(environment.size(), environment.find('\0')));
        environment.remove_prefix(std::min<std::size_t>(environment.size(), 1));
    }
    return false;
}

constinit Lazy<Processes> real_processes;

} // namespace

const Processes &processes() {
    return real_processes.get(
        [] { return Processes{parent_of, environment_of, mark_of_pid, mark_of_peer}; });
}

std::string launcher_mark(const std::string &rank_variable, const Processes &all) {
    constexpr int kMostGenerations = 256, kInitPid = 1;
    std::optional<int> pid = all.parent(getpid());
    for (int i = 0; i < kMostGenerations && pid && *pid > kInitPid; ++i) {
        const auto environment = all.environment(*pid);
        if (environment && !has(*environment, rank_variable))
            return all.mark(*pid);
        pid = all.parent(*pid);
    }
    return all.mark(kInitPid);
}

std::string pmi_launch(const Environment &environment, const Processes &all) {
    const std::string text = value_of(environment, "PMI_FD");
    int descriptor = -1;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), descriptor);
    if (error == std::errc() && rest == text.data() + text.size() && descriptor >= 0)
        if (std::string mark = all.mark_of_peer(descriptor); !mark.empty())
            return mark;
    if (std::string port = value_of(environment, "PMI_PORT"); !port.empty())
        return port;
    return launcher_mark("PMI_RANK", all);
}

std::string open_mpi_launch(const Environment &environment, const Processes &all) {
    for (const char *name : {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
                             "PMIX_SERVER_URI2", "OMPI_MCA_orte_local_daemon_uri"})
        if (std::string server = value_of(environment, name); !server.empty())
            return server;
    return launcher_mark("OMPI_COMM_WORLD_RANK", all);
}

// TORCHELASTIC_ERROR_FILE=/tmp/torchelastic_k3v1/none_x7yz/attempt_0/1/error.json of rank 1.
std::string torch_launch(const Environment &environment, const Processes &all) {
    const std::string file = value_of(environment, "TORCHELASTIC_ERROR_FILE");
    const std::size_t end = file.rfind("/attempt_");
    return end != std::string::npos ? file.substr(0, end) : launcher_mark("RANK", all);
}

} // namespace stretto::bootstrap
