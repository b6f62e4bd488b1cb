// SPDX-License-Identifier: BSD-3-Clause
#include "comm/environment.hpp"

#include <charconv>
#include <optional>
#include <unistd.h>

#include "base/kernel_files.hpp"
#include "base/spelling.hpp"
#include "base/status.hpp"

namespace stretto::comm {

namespace {

struct Launcher {
    const char *name, *rank, *size;
    const char *local_size; // how many of its ranks share this host; null: it does not say
    const char *hand_out;   // how its ranks are given a variable
};

// One look at the environment and the processes above this one.
class Surroundings {
public:
    Surroundings(const Environment &environment, const ProcessText &process)
        : environment_(environment), process_(process) {}

    std::optional<std::string> get(const char *name) const {
        const char *value = environment_(name);
        return value != nullptr && *value != '\0' ? std::optional<std::string>(value)
                                                  : std::nullopt;
    }

    int integer(const char *name) const {
        const std::string value = get(name).value_or("");
        const char *end = value.data() + value.size();
        int result = 0;
        const auto [rest, error] = std::from_chars(value.data(), end, result);
        if (error == std::errc() && rest == end)
            return result;
        throw Error(Status::argument, std::string(name) + " is '" + shown(value) +
                                          "', which is no number; start the program by a "
                                          "launcher, or unset it");
    }

    // STRETTO_ADDR; or torchrun's, if it says that there are other hosts.  There is a store of
    // torchrun's own at its port, so the next one is taken.  Without an address, ranks on other
    // hosts would be waited for in vain.
    std::string address_of(const Launcher &launcher) const {
        if (const auto address = get("STRETTO_ADDR"))
            return *address;
        const std::string others = others_of(launcher);
        if (others.empty())
            return "";
        if (std::string_view(launcher.name) != "torchrun" || !get("MASTER_ADDR") ||
            !get("MASTER_PORT"))
            throw Error(Status::argument,
                        std::string(launcher.name) +
                            " says that the job has ranks on several "
                            "hosts (" +
                            others +
                            "), which need to know where to meet: set "
                            "STRETTO_ADDR to an address of rank 0's host and a port that is free "
                            "there, as node1:29400, on all ranks (" +
                            launcher.hand_out + ")");
        const std::string host = *get("MASTER_ADDR");
        const bool v6 = host.find(':') != std::string::npos;
        return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(integer("MASTER_PORT") + 1);
    }

    std::string job_of(const Launcher &launcher) const {
        const std::string name = launcher.name;
        if (name == "stretto run")
            return get("STRETTO_JOB").value_or(std::string(info(Setting::job).fallback));
        if (name == "torchrun")
            return "torch-" + get("TORCHELASTIC_RUN_ID").value_or("") + "-" +
                   get("MASTER_PORT").value_or("") + "-" +
                   get("TORCHELASTIC_RESTART_COUNT").value_or("");
        if (name == "Open MPI")
            return "ompi-" +
                   get("PMIX_NAMESPACE")
                       .value_or(
                           get("OMPI_MCA_ess_base_jobid").value_or(std::to_string(getppid())));
        if (name == "PMI")
            return "pmi-" + get("PMI_JOBID").value_or(nearest_ancestor_like("hydra_pmi_prox"));
        return "slurm-" + get("SLURM_JOB_ID").value_or("") + "." +
               get("SLURM_STEP_ID").value_or("");
    }

private:
    // How the launcher says that ranks are on other hosts; "" if it does not.
    std::string others_of(const Launcher &launcher) const {
        const char *const local = launcher.local_size;
        if (local != nullptr && get(local))
            return integer(local) < integer(launcher.size)
                       ? said(local) + ", " + said(launcher.size)
                       : "";
        constexpr char kNodes[] = "SLURM_STEP_NUM_NODES"; // srun's, whose ranks may use its PMI
        const std::string_view name = launcher.name;
        const bool by_srun = name == "Slurm" || name == "PMI";
        return by_srun && get(kNodes) && integer(kNodes) > 1 ? said(kNodes) : "";
    }
    std::string said(const char *name) const {
        return std::string(name) + "=" + std::to_string(integer(name));
    }

    // MPICH and Intel MPI give their ranks no name of the job, but one process per host starts
    // them all.
    std::string nearest_ancestor_like(const std::string &part) const {
        constexpr int kMostGenerations = 256;
        int pid = getpid();
        for (int i = 0; i < kMostGenerations && pid > 1; ++i) {
            const auto process = process_of(process_(pid));
            if (!process)
                break;
            if (process->name.find(part) != std::string::npos)
                return std::to_string(pid);
            pid = process->parent;
        }
        return std::to_string(getppid());
    }

    const Environment &environment_;
    const ProcessText &process_;
};

} // namespace

std::string process_text(int pid) {
    return contents("/proc/" + std::to_string(pid) + "/stat");
}

Identity identify(const Environment &environment, const ProcessText &process) {
    const Surroundings here(environment, process);
    static constexpr Launcher launchers[] = {
        {"stretto run", "STRETTO_RANK", "STRETTO_SIZE", "STRETTO_LOCAL_SIZE",
         "by whatever starts them"},
        {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "or MASTER_ADDR and MASTER_PORT"},
        {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
         "mpirun -x STRETTO_ADDR"},
        {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "mpiexec -genvlist STRETTO_ADDR"},
        {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", nullptr, "srun --export=ALL"},
    };
    // Others set a rank alone; ours sets both, so that half of it is a slip.
    if (here.get("STRETTO_RANK").has_value() != here.get("STRETTO_SIZE").has_value())
        throw Error(Status::argument, "one of STRETTO_RANK and STRETTO_SIZE is set without the "
                                      "other; start the program by `stretto run`, or set both");
    for (const Launcher &launcher : launchers) {
        if (!here.get(launcher.rank) || !here.get(launcher.size))
            continue;
        Identity me{here.integer(launcher.rank), here.integer(launcher.size), here.job_of(launcher),
                    launcher.name, here.address_of(launcher)};
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
