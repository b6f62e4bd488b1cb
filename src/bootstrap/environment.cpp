// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/environment.hpp"

#include <charconv>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

#include "base/kernel_files.hpp"
#include "base/spelling.hpp"
#include "base/status.hpp"
#include "net/address.hpp"
#include "net/bytes.hpp"
#include "net/crypto.hpp"

namespace stretto::bootstrap {

namespace {

enum class Kind { own, torchrun, open_mpi, pmi, slurm };

struct Launcher {
    Kind kind;
    const char *name, *rank, *size;
    const char *local_size; // how many of its ranks share this host; null: it does not say
    const char *hand_out;   // how its ranks are given a variable
};

// One look at the environment and the processes above this one.
class Surroundings {
public:
    Surroundings(const std::string &addr, const Environment &environment,
                 const ProcessText &process, const IsOpen &is_open)
        : addr_(addr), environment_(environment), process_(process), is_open_(is_open) {}

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

    // What a launcher says of this process.  Nothing, if it has not started it: variables of an
    // allocation, or of a step in which something else started this process, stay in the
    // environment.
    std::optional<Identity> said_by(const Launcher &launcher) const {
        if (!get(launcher.rank) || !get(launcher.size))
            return std::nullopt;
        if (launcher.kind == Kind::slurm && !in_step())
            return std::nullopt;
        Identity me{integer(launcher.rank), integer(launcher.size), "", launcher.name};
        if (launcher.kind == Kind::slurm && get("SLURM_STEP_NUM_TASKS"))
            me.size = integer("SLURM_STEP_NUM_TASKS"); // that of the allocation may be another
        if (me.size < 1 || me.rank < 0 || me.rank >= me.size)
            throw Error(Status::argument, in_words(launcher) +
                                              " make no sense together: a rank lies in 0 ... "
                                              "size - 1");
        return me;
    }

    // Whether a launcher may say something else than `inner`, which counts, since it started the
    // processes that started this one.
    bool surrounds(const Launcher &outer, const Launcher &inner) const {
        if (inner.kind == Kind::own)
            return true;
        if (inner.kind == Kind::torchrun) // or what sets its variables, on each host
            return get("TORCHELASTIC_RUN_ID") || (integer(inner.size) != integer(outer.size) &&
                                                  (get("LOCAL_WORLD_SIZE") || get("LOCAL_RANK")));
        return outer.kind == Kind::slurm; // mpirun starts its daemons by srun
    }

    std::string in_words(const Launcher &launcher) const {
        return said(launcher.rank) + " and " + said(launcher.size);
    }

    // PMI is a conversation with the process that started this one: without it no process has
    // started the other ranks as well.
    bool is_reachable(const Launcher &launcher) const {
        return launcher.kind != Kind::pmi || integer(launcher.size) == 1 || get("PMI_PORT") ||
               (get("PMI_FD") && is_open_(integer("PMI_FD"))) || in_step() ||
               ancestor_like("hydra_pmi_prox");
    }
    Error unreachable(const Launcher &launcher) const {
        return Error(
            Status::argument,
            in_words(launcher) +
                " are set, but this process has not been started by the launcher that "
                "they are from: " +
                (get("PMI_FD") ? said("PMI_FD") + " is no open file here" : "PMI_FD is not set") +
                "; unset them to run it alone, or start its ranks by that launcher or by "
                "`stretto run`");
    }

    // STRETTO_ADDR; or where torch.distributed meets (env://), unless all ranks are on this host.
    // There is a store of torch's own at its port, so the next one is taken.  Without an address,
    // ranks on other hosts would be waited for in vain.
    void find_address(const Launcher &launcher, Identity &me) const {
        if (!addr_.empty()) {
            me.address = addr_;
            return;
        }
        if (launcher.kind == Kind::torchrun && get("MASTER_ADDR") && get("MASTER_PORT") &&
            (!get(launcher.local_size) ? integer(launcher.size) > 1 && !loopback("MASTER_ADDR")
                                       : !others_of(launcher).empty())) {
            me.address = after_master();
            me.address_from = "MASTER_ADDR, and the port after MASTER_PORT";
            return;
        }
        const std::string others = others_of(launcher);
        if (others.empty())
            return;
        throw Error(Status::argument,
                    std::string(launcher.name) + " says that the job has ranks on several hosts (" +
                        others +
                        "), which need to know where to meet: set STRETTO_ADDR to an address of "
                        "rank 0's host and a port that is free there, as node1:29400, on all "
                        "ranks (" +
                        launcher.hand_out + ")");
    }

    // Whether other jobs may meet at this job's address as well: neither launcher nor user has said
    // that it has ranks on other hosts, or chosen an address for it.
    bool may_be_taken(const Launcher &launcher) const {
        return launcher.kind == Kind::torchrun && addr_.empty() && !get(launcher.local_size) &&
               !get("TORCHELASTIC_RUN_ID");
    }

    // What tells this job from others of the same name.  A name that the user has given is as
    // good as any that could be found.
    void tell_launch(const Launcher &launcher, const Processes &all, Identity &me) const {
        if (const auto name = get("STRETTO_JOB")) {
            me.launch = launcher.kind == Kind::own ? "" : *name + " " + me.job;
            return;
        }
        switch (launcher.kind) {
        case Kind::own: me.launch = launcher_mark(launcher.rank, all); break;
        case Kind::torchrun: me.launch = torch_launch(environment_, all); break;
        case Kind::open_mpi: me.launch = open_mpi_launch(environment_, all); break;
        case Kind::pmi: me.launch = pmi_launch(environment_, all); break;
        case Kind::slurm: return; // the numbers of the job and its step are given once
        }
        // But for PMI's, whose name may be a process number that differs from rank to rank.
        if (launcher.kind != Kind::pmi || get("PMI_JOBID"))
            me.launch += " " + me.job;
        me.by_process = launcher.kind == Kind::own ||
                        (launcher.kind == Kind::torchrun && !get("TORCHELASTIC_RUN_ID"));
    }

    std::string job_of(const Launcher &launcher) const {
        if (launcher.kind == Kind::own)
            return get("STRETTO_JOB").value_or(std::string(info(Setting::job).fallback));
        if (launcher.kind == Kind::torchrun)
            return "torch-" + get("TORCHELASTIC_RUN_ID").value_or("") + "-" +
                   get("MASTER_PORT").value_or("") + "-" +
                   get("TORCHELASTIC_RESTART_COUNT").value_or("");
        if (launcher.kind == Kind::open_mpi)
            return "ompi-" +
                   get("PMIX_NAMESPACE")
                       .value_or(
                           get("OMPI_MCA_ess_base_jobid").value_or(std::to_string(getppid())));
        if (launcher.kind == Kind::pmi)
            return "pmi-" + get("PMI_JOBID")
                                .value_or(std::to_string(
                                    ancestor_like("hydra_pmi_prox").value_or(getppid())));
        return "slurm-" + get("SLURM_JOB_ID").value_or("") + "." +
               get("SLURM_STEP_ID").value_or("");
    }

    // For messages, where users have set something else than the name; "" where they have not.
    std::string call_job(const Launcher &launcher) const {
        if (launcher.kind == Kind::own)
            return "";
        if (const auto name = get("STRETTO_JOB"))
            return "job '" + shown(*name) + "'";
        if (launcher.kind != Kind::torchrun)
            return "";
        const std::string run = get("TORCHELASTIC_RUN_ID").value_or("none"); // torchrun's default
        if (run != "none")
            return "torchrun's job '" + shown(run) + "'";
        return "the job of MASTER_PORT=" + shown(get("MASTER_PORT").value_or(""));
    }

private:
    // A task of a step that srun has started.  In an allocation without one (a batch script, or
    // salloc) only the variables of the allocation are set; the shell of an interactive one is a
    // step of its own kind, whose number is one of the highest.
    bool in_step() const {
        constexpr unsigned kLeastSpecialId = 0xffff'fff0;
        for (const char *name : {"SLURM_STEP_ID", "SLURM_STEPID"})
            if (const auto step = get(name)) {
                unsigned number = 0;
                const auto [rest, error] =
                    std::from_chars(step->data(), step->data() + step->size(), number);
                return error == std::errc() && number < kLeastSpecialId;
            }
        return get("SLURM_STEP_NUM_TASKS").has_value() || get("SLURM_STEP_NUM_NODES").has_value();
    }

    bool loopback(const char *name) const {
        const std::string host = get(name).value_or("");
        return host == "localhost" || host == "::1" || host.starts_with("127.");
    }

    std::string after_master() const {
        constexpr int kMostPort = 65535;
        const int port = integer("MASTER_PORT");
        if (port < 1 || port >= kMostPort)
            throw Error(Status::argument,
                        "MASTER_PORT is " + std::to_string(port) +
                            ", and the ranks meet at the port after it, of which there are those "
                            "from 2 to 65535; choose another MASTER_PORT, or set STRETTO_ADDR");
        const std::string host = *get("MASTER_ADDR");
        if (!net::can_name_host(host))
            throw Error(Status::argument, "MASTER_ADDR is '" + shown(host) +
                                              "', which names no host; it takes a name or an "
                                              "address, as node7, 10.0.0.1 or fd00::1");
        const bool v6 = host.find(':') != std::string::npos;
        return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port + 1);
    }

    // How the launcher says that ranks are on other hosts; "" if it does not.
    std::string others_of(const Launcher &launcher) const {
        const char *const local = launcher.local_size;
        if (local != nullptr && get(local))
            return integer(local) < integer(launcher.size)
                       ? said(local) + ", " + said(launcher.size)
                       : "";
        constexpr char kNodes[] = "SLURM_STEP_NUM_NODES"; // srun's, whose ranks may use its PMI
        const bool by_srun = launcher.kind == Kind::slurm || launcher.kind == Kind::pmi;
        return by_srun && get(kNodes) && integer(kNodes) > 1 ? said(kNodes) : "";
    }
    std::string said(const char *name) const {
        return std::string(name) + "=" + std::to_string(integer(name));
    }

    // MPICH and Intel MPI give their ranks no name of the job, but one process per host starts
    // them all.
    std::optional<int> ancestor_like(const std::string &part) const {
        constexpr int kMostGenerations = 256;
        int pid = getpid();
        for (int i = 0; i < kMostGenerations && pid > 1; ++i) {
            const auto process = process_of(process_(pid));
            if (!process)
                break;
            if (process->name.find(part) != std::string::npos)
                return pid;
            pid = process->parent;
        }
        return std::nullopt;
    }

    const std::string &addr_;
    const Environment &environment_;
    const ProcessText &process_;
    const IsOpen &is_open_;
};

} // namespace

std::uint64_t launch_hash(const Identity &me) {
    if (me.launch.empty())
        return 0;
    const net::Bytes32 hash =
        net::KeyedHash("stretto launch").add(std::string_view(me.launch)).finish();
    return net::get<std::uint64_t>(hash, 0) | 1;
}

std::string process_text(int pid) {
    return contents("/proc/" + std::to_string(pid) + "/stat");
}

bool is_open(int descriptor) {
    return fcntl(descriptor, F_GETFD) >= 0;
}

Identity identify(const std::string &addr, const Environment &environment,
                  const ProcessText &process, const IsOpen &is_open, const Processes &all) {
    const Surroundings here(addr, environment, process, is_open);
    // The innermost first.
    static constexpr Launcher launchers[] = {
        {Kind::own, "stretto run", "STRETTO_RANK", "STRETTO_SIZE", "STRETTO_LOCAL_SIZE",
         "by whatever starts them"},
        {Kind::torchrun, "torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
         "or MASTER_ADDR and MASTER_PORT"},
        {Kind::open_mpi, "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
         "OMPI_COMM_WORLD_LOCAL_SIZE", "mpirun -x STRETTO_ADDR"},
        {Kind::pmi, "PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS",
         "mpiexec -genvlist STRETTO_ADDR"},
        {Kind::slurm, "Slurm", "SLURM_PROCID", "SLURM_NTASKS", nullptr, "srun --export=ALL"},
    };
    // Others set a rank alone; ours sets both, so that half of it is a slip.
    if (here.get("STRETTO_RANK").has_value() != here.get("STRETTO_SIZE").has_value())
        throw Error(Status::argument, "one of STRETTO_RANK and STRETTO_SIZE is set without the "
                                      "other; start the program by `stretto run`, or set both");
    std::optional<Identity> found;
    const Launcher *by = nullptr;
    for (const Launcher &launcher : launchers) {
        const std::optional<Identity> said = here.said_by(launcher);
        if (said && !found) {
            found = said;
            by = &launcher;
        } else if (said && (said->rank != found->rank || said->size != found->size) &&
                   here.is_reachable(launcher) && !here.surrounds(launcher, *by)) {
            throw Error(Status::argument,
                        "two launchers say different things of this process: " +
                            here.in_words(*by) + " are of " + by->name + ", " +
                            here.in_words(launcher) + " of " + launcher.name +
                            "; unset those of the launcher that did not start it, or set "
                            "STRETTO_RANK and STRETTO_SIZE");
        }
    }
    if (found) {
        if (!here.is_reachable(*by))
            throw here.unreachable(*by);
        found->job = here.job_of(*by);
        found->called = here.call_job(*by);
        here.find_address(*by, *found);
        if (found->address.empty() || here.may_be_taken(*by))
            here.tell_launch(*by, all, *found);
        return *found;
    }
    return {0, 1, "alone-" + std::to_string(getpid()), "none"};
}

} // namespace stretto::bootstrap
