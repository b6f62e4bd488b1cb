// SPDX-License-Identifier: BSD-3-Clause
// What tells a job from another one of the same name.
#include "doctest.h"

#include <fcntl.h>
#include <map>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/environment.hpp"
#include "bootstrap/launch.hpp"

using namespace stretto;
using bootstrap::Processes;

namespace {

using Variables = std::map<std::string, std::string>;

Environment environment(const Variables &variables) {
    return [variables](const char *name) -> const char * {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    };
}

struct Process {
    int parent;
    std::string variables; // NAME=value;NAME=value;
};

// Processes by number; this one is the child of 40.
Processes those(const std::map<int, Process> &known) {
    const auto find = [known](int pid) -> std::optional<Process> {
        if (pid == getpid())
            return Process{40, ""};
        const auto found = known.find(pid);
        return found == known.end() ? std::nullopt : std::optional(found->second);
    };
    Processes all;
    all.parent = [find](int pid) {
        const auto process = find(pid);
        return process ? std::optional(process->parent) : std::nullopt;
    };
    all.environment = [find](int pid) -> std::optional<std::string> {
        const auto process = find(pid);
        if (!process || process->variables == "hidden")
            return std::nullopt;
        std::string text = process->variables;
        for (char &each : text)
            each = each == ';' ? '\0' : each;
        return text;
    };
    all.mark = [](int pid) { return "mark " + std::to_string(pid); };
    all.mark_of_peer = [](int fd) { return fd == 9 ? std::string("mark 30") : std::string(); };
    return all;
}

std::string launch_of(const Variables &variables, const Processes &all) {
    const auto addr = variables.find("STRETTO_ADDR");
    return bootstrap::identify(
               addr == variables.end() ? "" : addr->second, environment(variables),
               [](int) { return std::string(); }, [](int) { return true; }, all)
        .launch;
}

const Variables kTorch = {
    {"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}};

Variables with(Variables variables, const std::string &name, const std::string &value) {
    variables[name] = value;
    return variables;
}

} // namespace

TEST_CASE("the launcher is the nearest process that was started without a rank") {
    // A shell around each rank has the rank in its environment, and so has what is around that.
    CHECK(bootstrap::launcher_mark("RANK", those({{40, {30, "HOME=/;"}}})) == "mark 40");
    CHECK(bootstrap::launcher_mark("RANK", those({{40, {35, "HOME=/;RANK=1;X=;"}},
                                                  {35, {30, "RANK=1;"}},
                                                  {30, {1, "LOCAL_RANK=1;"}}})) == "mark 30");
    // Another user's, such as one of sudo, cannot be read, and may be different for each rank.
    CHECK(bootstrap::launcher_mark("RANK", those({{40, {35, "hidden"}}, {35, {30, "X=;"}}})) ==
          "mark 35");
    CHECK(bootstrap::launcher_mark("RANK", those({{40, {30, "RANK=1;"}}, {30, {1, "hidden"}}})) ==
          "mark 1");
    CHECK(bootstrap::launcher_mark("RANK", those({})) == "mark 1");
    CHECK(bootstrap::launcher_mark("RANK", those({{40, {1, "RANK=1;"}}})) == "mark 1");
    std::map<int, Process> circle = {{40, {41, "RANK=1;"}}, {41, {40, "RANK=1;"}}};
    CHECK(bootstrap::launcher_mark("RANK", those(circle)) == "mark 1");
}

TEST_CASE("jobs of one name differ by what each launcher gives once") {
    const Processes all =
        those({{40, {30, "PMI_RANK=0;RANK=0;OMPI_COMM_WORLD_RANK=0;"}}, {30, {1, "HOME=/;"}}});
    const Processes others =
        those({{40, {31, "PMI_RANK=0;RANK=0;OMPI_COMM_WORLD_RANK=0;"}}, {31, {1, "HOME=/;"}}});
    // env://: what has started the ranks; its port may be that of another job.
    CHECK(launch_of(kTorch, all) == "mark 30 torch--29500-");
    CHECK(launch_of(kTorch, others) == "mark 31 torch--29500-");
    // torchrun: its folder for logs, the same for all ranks.
    const std::string folder = "/tmp/torchelastic_k3v1/none_x7yz";
    const Variables elastic = with(kTorch, "TORCHELASTIC_RUN_ID", "none");
    for (const char *file : {"/attempt_0/0/error.json", "/attempt_1/17/error.json"})
        CHECK(launch_of(with(elastic, "TORCHELASTIC_ERROR_FILE", folder + file), all) ==
              folder + " torch-none-29500-");
    CHECK(launch_of(elastic, all) == "mark 30 torch-none-29500-");

    // PMI: the process at the other end of the socket, which needs no look at others.
    const Variables pmi = {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_FD", "9"}};
    CHECK(launch_of(pmi, those({})) == "mark 30");
    CHECK(launch_of(with(pmi, "PMI_FD", "8"), others) == "mark 31"); // no socket
    CHECK(launch_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_PORT", "vm:7"}}, all) == "vm:7");

    CHECK(launch_of(with(pmi, "PMI_JOBID", "8.0"), those({})) == "mark 30 pmi-8.0");

    // Open MPI: its server's port.
    const Variables open_mpi = {{"OMPI_COMM_WORLD_RANK", "0"},
                                {"OMPI_COMM_WORLD_SIZE", "2"},
                                {"PMIX_NAMESPACE", "prterun-vm-7@1"}};
    CHECK(launch_of(open_mpi, others) == "mark 31 ompi-prterun-vm-7@1");
    CHECK(launch_of(with(open_mpi, "PMIX_SERVER_URI2", "prterun-vm-7@0.0;tcp4://127.0.0.1:42265"),
                    others) == "prterun-vm-7@0.0;tcp4://127.0.0.1:42265 ompi-prterun-vm-7@1");
}

TEST_CASE("an address belongs to one job, unless it is one that many scripts have") {
    const Processes all = those({{40, {30, "HOME=/;"}}});
    const Variables away = with(kTorch, "MASTER_ADDR", "node1");
    CHECK(launch_of(away, all) == "mark 40 torch--29500-");
    CHECK(launch_of(with(away, "LOCAL_WORLD_SIZE", "1"), all) == "");
    CHECK(launch_of(with(away, "STRETTO_ADDR", "node1:7"), all) == "");
    CHECK(launch_of(with(away, "TORCHELASTIC_RUN_ID", "x"), all) == "");
    bootstrap::Identity me;
    CHECK(bootstrap::launch_hash(me) == 0);
    me.launch = "a";
    const auto hash = bootstrap::launch_hash(me);
    me.launch = "b";
    CHECK(bootstrap::launch_hash(me) != hash);
}

TEST_CASE("a name that the user gives to a job is enough") {
    const Variables mine = {{"STRETTO_RANK", "0"}, {"STRETTO_SIZE", "2"}};
    CHECK(launch_of(mine, those({{40, {30, ""}}})) == "mark 40 default");
    CHECK(launch_of(with(mine, "STRETTO_JOB", "j"), those({})) == "");
    CHECK(launch_of(with(kTorch, "STRETTO_JOB", "j"), those({})) == "j torch--29500-");
}

TEST_CASE("the kernel's mark of a process is the same however it is found, and another's is not") {
    const Processes &all = bootstrap::processes();
    int pair[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    const pid_t child = fork(); // as a launcher does, for a rank
    if (child == 0) {
        const std::string mine = all.mark(getpid()), parents = all.mark(getppid());
        _exit(all.mark_of_peer(pair[1]) == parents && mine != parents ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(all.mark(getpid()) == all.mark(getpid()));
    CHECK(all.mark_of_peer(pair[0]) == all.mark(getpid()));
    CHECK(all.mark_of_peer(-1) == "");
    for (const int fd : pair)
        close(fd);
    CHECK(all.parent(getpid()) == getppid());
    CHECK(all.environment(getpid()).has_value());
}
