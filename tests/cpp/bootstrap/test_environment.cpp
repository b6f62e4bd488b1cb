// SPDX-License-Identifier: BSD-3-Clause
// Who a process is, by what its launcher says.
#include "doctest.h"

#include <map>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "bootstrap/environment.hpp"
#include "support/text.hpp"

using namespace stretto;
using bootstrap::identify;
using bootstrap::Identity;

namespace {

using Variables = std::map<std::string, std::string>;

Identity among(const Variables &variables,
               const bootstrap::ProcessText &process = bootstrap::process_text) {
    const auto addr = variables.find("STRETTO_ADDR");
    return identify(
        addr == variables.end() ? "" : addr->second,
        [&](const char *name) {
            const auto found = variables.find(name);
            return found == variables.end() ? nullptr : found->second.c_str();
        },
        process, [](int descriptor) { return descriptor == 7; });
}

std::string refusal(const Variables &variables) {
    try {
        among(variables);
    } catch (const Error &error) {
        CHECK(error.status() == Status::argument);
        return error.what();
    }
    return "";
}

void check(const Identity &me, int rank, int size, const std::string &job,
           const std::string &launcher) {
    CHECK(me.rank == rank);
    CHECK(me.size == size);
    CHECK(me.job == job);
    CHECK(me.launcher == launcher);
}

} // namespace

TEST_CASE("each launcher is understood") {
    check(among({{"STRETTO_RANK", "2"}, {"STRETTO_SIZE", "5"}, {"STRETTO_JOB", "j"}}), 2, 5, "j",
          "stretto run");
    check(among({{"STRETTO_RANK", "0"}, {"STRETTO_SIZE", "1"}}), 0, 1, "default", "stretto run");
    check(among({{"RANK", "1"},
                 {"WORLD_SIZE", "2"},
                 {"TORCHELASTIC_RUN_ID", "x"},
                 {"MASTER_PORT", "7"}}),
          1, 2, "torch-x-7-", "torchrun");
    check(among({{"OMPI_COMM_WORLD_RANK", "3"},
                 {"OMPI_COMM_WORLD_SIZE", "4"},
                 {"PMIX_NAMESPACE", "n"}}),
          3, 4, "ompi-n", "Open MPI");
    check(among({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_FD", "7"}, {"PMI_JOBID", "p"}}), 0, 2,
          "pmi-p", "PMI");
    check(among({{"SLURM_PROCID", "6"},
                 {"SLURM_NTASKS", "7"},
                 {"SLURM_JOB_ID", "8"},
                 {"SLURM_STEP_ID", "9"}}),
          6, 7, "slurm-8.9", "Slurm");
    check(among({}), 0, 1, "alone-" + std::to_string(getpid()), "none");
}

TEST_CASE("ours comes before those around it") {
    CHECK(among({{"STRETTO_RANK", "1"}, {"STRETTO_SIZE", "2"}, {"RANK", "3"}, {"WORLD_SIZE", "4"}})
              .rank == 1);
}

TEST_CASE("what makes no sense is refused") {
    CHECK(refusal({{"RANK", "one"}, {"WORLD_SIZE", "2"}}).find("RANK is 'one'") == 0);
    CHECK(refusal({{"RANK", "2"}, {"WORLD_SIZE", "2"}}).find("make no sense") != std::string::npos);
    for (const char *bad : {"-1", "1 ", " 1", "0x1", "99999999999"})
        CHECK(refusal({{"RANK", bad}, {"WORLD_SIZE", "2"}}) != "");
    CHECK(refusal({{"STRETTO_RANK", "0"}}).find("STRETTO_SIZE") != std::string::npos);
    CHECK(refusal({{"STRETTO_SIZE", "2"}}).find("STRETTO_RANK") != std::string::npos);
}

TEST_CASE("the processes above give a name to a job that has none") {
    const Variables pmi = {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"PMI_FD", "7"}};
    // This process, its parent 40, whose parent is the proxy 30.
    const auto family = [](int pid) -> std::string {
        if (pid == getpid())
            return "1 (me) S 40 0";
        return pid == 40 ? "40 (sh) S 30 0" : "30 (hydra_pmi_proxy) S 1 0";
    };
    CHECK(among(pmi, family).job == "pmi-30");
    const std::string parent = "pmi-" + std::to_string(getppid());
    CHECK(among(pmi, [](int) { return std::string(); }).job == parent);
    // A family without end.
    CHECK(among(pmi, [](int pid) { return "1 (x) S " + std::to_string(pid + 1); }).job == parent);
}

TEST_CASE("ranks on several hosts need to know where to meet") {
    struct Said {
        Variables variables; // four ranks, two of them here
        std::string launcher, hand_out;
    };
    const std::vector<Said> launchers = {
        {{{"STRETTO_RANK", "0"}, {"STRETTO_SIZE", "4"}, {"STRETTO_LOCAL_SIZE", "2"}},
         "stretto run",
         "STRETTO_LOCAL_SIZE=2, STRETTO_SIZE=4"},
        {{{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "2"}, {"MASTER_ADDR", "n"}},
         "torchrun",
         "MASTER_PORT"},
        {{{"OMPI_COMM_WORLD_RANK", "0"},
          {"OMPI_COMM_WORLD_SIZE", "4"},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
         "Open MPI",
         "mpirun -x STRETTO_ADDR"},
        {{{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}, {"PMI_FD", "7"}, {"MPI_LOCALNRANKS", "2"}},
         "PMI",
         "mpiexec -genvlist STRETTO_ADDR"},
        {{{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}, {"SLURM_STEP_NUM_NODES", "2"}},
         "PMI",
         "SLURM_STEP_NUM_NODES=2"},
        {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_NUM_NODES", "2"}},
         "Slurm",
         "srun --export=ALL"},
    };
    for (const auto &[variables, launcher, hand_out] : launchers) {
        CAPTURE(launcher);
        const std::string why = refusal(variables);
        CHECK(why.starts_with(launcher + " says that the job has ranks on several hosts"));
        CHECK(why.find("set STRETTO_ADDR to an address of rank 0's host") != std::string::npos);
        CHECK(why.find(hand_out) != std::string::npos);
        Variables told = variables;
        told["STRETTO_ADDR"] = "node1:29400";
        CHECK(among(told).address == "node1:29400");
    }
}

TEST_CASE("ranks that are all on one host need no address") {
    CHECK(among({{"OMPI_COMM_WORLD_RANK", "0"},
                 {"OMPI_COMM_WORLD_SIZE", "4"},
                 {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}})
              .address.empty());
    // MPICH's own word counts, not that of an allocation around it.
    CHECK(among({{"PMI_RANK", "0"},
                 {"PMI_SIZE", "4"},
                 {"PMI_FD", "7"},
                 {"MPI_LOCALNRANKS", "4"},
                 {"SLURM_STEP_NUM_NODES", "2"}})
              .address.empty());
    CHECK(among({{"RANK", "0"},
                 {"WORLD_SIZE", "4"},
                 {"LOCAL_WORLD_SIZE", "4"},
                 {"MASTER_ADDR", "n"},
                 {"MASTER_PORT", "7"}})
              .address.empty());
    CHECK(among({{"STRETTO_RANK", "0"}, {"STRETTO_SIZE", "4"}, {"SLURM_STEP_NUM_NODES", "2"}})
              .address.empty());
    CHECK(refusal({{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "two"}}) != "");
}

TEST_CASE("messages name a job by what the user has set") {
    Variables torch = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "29500"}};
    CHECK(among(torch).words() == "the job of MASTER_PORT=29500");
    torch["TORCHELASTIC_RUN_ID"] = "none"; // torchrun's default
    CHECK(among(torch).words() == "the job of MASTER_PORT=29500");
    torch["TORCHELASTIC_RUN_ID"] = "night";
    CHECK(among(torch).words() == "torchrun's job 'night'");
    torch["STRETTO_JOB"] = "mine";
    CHECK(among(torch).words() == "job 'mine'");
    CHECK(among({{"STRETTO_RANK", "0"}, {"STRETTO_SIZE", "2"}, {"STRETTO_JOB", "j"}}).words() ==
          "job 'j'");
    CHECK(
        among(
            {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_NAMESPACE", "n"}})
            .words() == "job 'ompi-n'");
}

TEST_CASE("torchrun says where ranks on several hosts meet") {
    const Variables several = {{"RANK", "3"},
                               {"WORLD_SIZE", "4"},
                               {"LOCAL_WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "node1"},
                               {"MASTER_PORT", "29500"}};
    CHECK(among(several).address == "node1:29501");
    Variables v6 = several;
    v6["MASTER_ADDR"] = "fd00::1";
    CHECK(among(v6).address == "[fd00::1]:29501");
    Variables ours = several;
    ours["STRETTO_ADDR"] = "node2:7";
    CHECK(among(ours).address == "node2:7");
    CHECK(among(several).address_from == "MASTER_ADDR, and the port after MASTER_PORT");
    CHECK(among(ours).address_from == "STRETTO_ADDR");
    Variables strange = several;
    for (const char *host : {"no de", "[node1]", "node\t1"}) {
        strange["MASTER_ADDR"] = host;
        CHECK(refusal(strange).starts_with("MASTER_ADDR is '"));
    }
    Variables last = several;
    last["MASTER_PORT"] = "65534";
    CHECK(among(last).address == "node1:65535");
    for (const char *port : {"65535", "65536", "0", "-1"}) {
        CAPTURE(port);
        last["MASTER_PORT"] = port;
        CHECK(refusal(last).starts_with("MASTER_PORT is " + std::string(port)));
    }
}

TEST_CASE(
    "what sets torch's variables and says nothing of hosts has its ranks meet at MASTER_ADDR") {
    Variables env = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "29500"}};
    CHECK(among(env).address.empty());
    for (const char *host : {"node1", "10.0.0.1"}) {
        env["MASTER_ADDR"] = host;
        CHECK(among(env).address == std::string(host) + ":29501");
    }
    for (const char *host : {"localhost", "127.0.0.1", "::1"}) { // nobody else gets there
        env["MASTER_ADDR"] = host;
        CHECK(among(env).address.empty());
    }
    env["MASTER_ADDR"] = "node1";
    env["RANK"] = "0";
    env["WORLD_SIZE"] = "1";
    CHECK(among(env).address.empty());
}

TEST_CASE("in a Slurm allocation a process is a rank if srun started it") {
    const auto alone = [](const Variables &more) {
        Variables all = {{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}};
        all.insert(more.begin(), more.end());
        return among(all).launcher == "none";
    };
    CHECK(alone({})); // a batch script
    CHECK(alone({{"SLURM_JOB_NUM_NODES", "2"}, {"SLURM_TASK_PID", std::to_string(getpid())}}));
    for (const char *step : {"4294967290", "4294967291", "4294967292", "batch"})
        CHECK(alone({{"SLURM_STEP_ID", step}}));
    CHECK_FALSE(alone({{"SLURM_STEP_ID", "0"}}));
    CHECK_FALSE(alone({{"SLURM_STEPID", "12"}}));
    // A step of fewer tasks than the allocation.
    CHECK(among({{"SLURM_PROCID", "1"},
                 {"SLURM_NTASKS", "4"},
                 {"SLURM_STEP_ID", "3"},
                 {"SLURM_STEP_NUM_TASKS", "2"}})
              .size == 2);
}

TEST_CASE("PMI counts where there is somebody to talk to") {
    const Variables inherited = {{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}, {"PMI_JOBID", "7.0"}};
    CHECK(refusal(inherited).starts_with("PMI_RANK=0 and PMI_SIZE=4 are set, but this process"));
    CHECK(test::contains(refusal(inherited), "PMI_FD is not set"));
    const auto with = [&](const char *name, const char *value) {
        Variables all = inherited;
        all[name] = value;
        return all;
    };
    CHECK(test::contains(refusal(with("PMI_FD", "8")), "PMI_FD=8 is no open file here"));
    for (const auto &[name, value] :
         Variables{{"PMI_FD", "7"}, {"PMI_PORT", "node1:4321"}, {"SLURM_STEP_ID", "0"}})
        CHECK(among(with(name.c_str(), value.c_str())).size == 4);
    CHECK(among(with("PMI_SIZE", "1")).size == 1); // waits for nobody
}

TEST_CASE("two launchers that disagree are named, unless one started the other") {
    using Pair = std::pair<std::string, std::string>;
    const Pair torch{"RANK", "WORLD_SIZE"},
        open_mpi{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, pmi{"PMI_RANK", "PMI_SIZE"},
        slurm{"SLURM_PROCID", "SLURM_NTASKS"};
    const auto both = [](const Pair &a, const Pair &b, Variables more) {
        more.insert({{a.first, "0"}, {a.second, "2"}, {b.first, "1"}, {b.second, "4"}});
        more.insert({{"PMI_FD", "7"}, {"SLURM_STEP_ID", "0"}});
        return more;
    };
    for (const auto &[a, b] : {std::pair(torch, open_mpi), std::pair(torch, pmi),
                               std::pair(open_mpi, pmi), std::pair(torch, slurm)}) {
        const std::string why = refusal(both(a, b, {}));
        CHECK(why.starts_with("two launchers say different things of this process: " + a.first +
                              "=0 and " + a.second + "=2 are of "));
        CHECK(test::contains(why, b.first + "=1 and " + b.second + "=4 of "));
        // Ours is the last word.
        CHECK(among(both(a, b, {{"STRETTO_RANK", "3"}, {"STRETTO_SIZE", "5"}})).rank == 3);
    }
    // mpirun starts its daemons by srun; so may torchrun be started, on each host.
    CHECK(among(both(open_mpi, slurm, {})).size == 2);
    CHECK(among(both(pmi, slurm, {})).size == 2);
    for (const Pair &outer : {open_mpi, pmi, slurm}) {
        CHECK(among(both(torch, outer, {{"LOCAL_RANK", "0"}})).size == 2);
        CHECK(among(both(torch, outer, {{"TORCHELASTIC_RUN_ID", "x"}})).size == 2);
    }
    // Inherited from where nobody listens any more.
    CHECK(among({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}).rank ==
          1);
    // Of one mind.
    CHECK(among({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}).size ==
          4);
}
