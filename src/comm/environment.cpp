// SPDX-License-Identifier: BSD-3-Clause
#include "comm/environment.hpp"

#include <cstdlib>
#include <fstream>
#include <optional>
#include <unistd.h>

#include "base/status.hpp"

namespace stretto::comm {

namespace {

std::optional<std::string> get(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

int integer(const char *name) {
    const std::string value = get(name).value_or("");
    try {
        std::size_t used = 0;
        const int result = std::stoi(value, &used);
        if (used == value.size())
            return result;
    } catch (const std::exception &) {
    }
    throw Error(Status::argument, std::string(name) + " is '" + value +
                                      "', which is no number; start the program by a launcher, or "
                                      "unset it");
}

// MPICH and Intel MPI give their ranks no name of the job, but one process per host starts them
// all.
std::string nearest_ancestor_like(const std::string &part) {
    for (pid_t pid = getpid(); pid > 1;) {
        std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
        std::string line;
        std::getline(stat, line);
        // "pid (name) state parent ..."; the name may hold anything, so look from the right.
        const auto open = line.find('('), close = line.rfind(')');
        if (open == std::string::npos || close == std::string::npos)
            break;
        if (line.substr(open + 1, close - open - 1).find(part) != std::string::npos)
            return std::to_string(pid);
        pid = std::atoi(line.c_str() + close + 4);
    }
    return std::to_string(getppid());
}

struct Launcher {
    const char *name, *rank, *size;
};

std::string job_of(const Launcher &launcher) {
    const std::string name = launcher.name;
    if (name == "stretto run")
        return get("STRETTO_JOB").value_or("default");
    if (name == "torchrun")
        return "torch-" + get("TORCHELASTIC_RUN_ID").value_or("") + "-" +
               get("MASTER_PORT").value_or("") + "-" +
               get("TORCHELASTIC_RESTART_COUNT").value_or("");
    if (name == "Open MPI")
        return "ompi-" +
               get("PMIX_NAMESPACE")
                   .value_or(get("OMPI_MCA_ess_base_jobid").value_or(std::to_string(getppid())));
    if (name == "PMI")
        return "pmi-" + get("PMI_JOBID").value_or(nearest_ancestor_like("hydra_pmi_prox"));
    return "slurm-" + get("SLURM_JOB_ID").value_or("") + "." + get("SLURM_STEP_ID").value_or("");
}

} // namespace

Identity identify() {
    static constexpr Launcher launchers[] = {
        {"stretto run", "STRETTO_RANK", "STRETTO_SIZE"},
        {"torchrun", "RANK", "WORLD_SIZE"},
        {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"PMI", "PMI_RANK", "PMI_SIZE"},
        {"Slurm", "SLURM_PROCID", "SLURM_NTASKS"},
    };
    for (const Launcher &launcher : launchers) {
        if (!get(launcher.rank) || !get(launcher.size))
            continue;
        Identity me{integer(launcher.rank), integer(launcher.size), job_of(launcher),
                    launcher.name};
        if (me.size < 1 || me.rank < 0 || me.rank >= me.size)
            throw Error(Status::argument,
                        std::string(launcher.rank) + "=" + std::to_string(me.rank) + " and " +
                            launcher.size + "=" + std::to_string(me.size) +
                            " make no sense together: a rank lies in 0 ... size - 1");
        return me;
    }
    return {0, 1, "alone-" + std::to_string(getpid()), "none"};
}

} // namespace stretto::comm
