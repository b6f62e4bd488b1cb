// SPDX-License-Identifier: BSD-3-Clause
#include "launcher.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <string>
#include <unistd.h>

namespace stretto::mpi {

const char *launcher_variable(const char *name) {
    return std::getenv(name);
}

namespace {

constexpr const char *kKey = "stretto-preload";

// PMIx, whose client library the MPI library has loaded.  Keys that are put before PMIx_Commit are
// sent with those of the MPI library, so Stretto intercepts that function.  The layouts are those
// of the PMIx standard since version 2.
struct PmixProcess {
    char job[256] = "";
    std::uint32_t rank = 0;
};
struct PmixValue {
    std::uint16_t type = 0;
    union {
        const char *string;
        int integer;
        bool flag;
        char room[24];
    };
};
struct PmixInfo {
    char key[512] = "";
    std::uint32_t flags = 0;
    PmixValue value{};
};
constexpr std::uint16_t kPmixBool = 1, kPmixString = 3, kPmixInt = 6;
constexpr std::uint8_t kPmixGlobal = 3; // for ranks on any host
constexpr int kPmixSuccess = 0;

struct Pmix {
    int (*commit)() = nullptr;
    int (*put)(std::uint8_t, const char *, PmixValue *) = nullptr;
    int (*get)(const PmixProcess *, const char *, const PmixInfo *, std::size_t,
               PmixValue **) = nullptr;
};

// Written by the thread that is in MPI_Init, before it commits.
Pmix pmix;
std::atomic<bool> in_init{false};
bool has_published_by_pmix = false;

struct Wanted {
    const char *prefix;
    Pmix found;
};

// Among all libraries of the process, since the client may be loaded for one of the MPI library's
// modules alone.
int look_for_pmix(dl_phdr_info *info, std::size_t, void *where) {
    auto *const wanted = static_cast<Wanted *>(where);
    if (info->dlpi_name == nullptr || std::strstr(info->dlpi_name, "pmix") == nullptr)
        return 0;
    void *const library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr)
        return 0;
    const auto function = [&](const char *name) {
        return dlsym(library, (std::string(wanted->prefix) + name).c_str());
    };
    wanted->found = {reinterpret_cast<int (*)()>(function("PMIx_Commit")),
                     reinterpret_cast<decltype(Pmix::put)>(function("PMIx_Put")),
                     reinterpret_cast<decltype(Pmix::get)>(function("PMIx_Get"))};
    return wanted->found.commit != nullptr ? 1 : 0;
}

int commit(const char *prefix) {
    Wanted wanted{prefix, {}};
    (void)dl_iterate_phdr(look_for_pmix, &wanted);
    if (wanted.found.commit == nullptr)
        return -1; // PMIX_ERROR: no caller can have reached it
    if (in_init.load(std::memory_order_relaxed) && wanted.found.put != nullptr &&
        wanted.found.get != nullptr) {
        PmixValue value;
        value.type = kPmixString;
        value.string = "1";
        pmix = wanted.found;
        has_published_by_pmix = pmix.put(kPmixGlobal, kKey, &value) == kPmixSuccess;
    }
    return wanted.found.commit();
}

class PmixLauncher : public Launcher {
public:
    explicit PmixLauncher(const char *job) : job_(job) {}
    bool has(int rank, Ask ask) override {
        // Keys that came with the MPI library's exchange are here.  If that library asks for keys
        // later, as it needs them, this asks the launcher, which may wait for a key that never
        // comes.
        PmixInfo here;
        std::strcpy(here.key, "pmix.optional");
        here.value.type = kPmixBool;
        here.value.flag = true;
        PmixInfo soon;
        std::strcpy(soon.key, "pmix.timeout");
        soon.value.type = kPmixInt;
        soon.value.integer = kSeconds;
        return get(rank, here) || (ask == Ask::thoroughly && get(rank, soon));
    }

private:
    static constexpr int kSeconds = 2;

    bool get(int rank, const PmixInfo &how) const {
        PmixProcess process;
        std::strncpy(process.job, job_, sizeof process.job - 1);
        process.rank = static_cast<std::uint32_t>(rank);
        PmixValue *value = nullptr; // a few bytes, which are never freed
        return pmix.get(&process, kKey, &how, 1, &value) == kPmixSuccess;
    }

    const char *job_;
};

// PMI 1, as Hydra speaks it (MPICH, Intel MPI): lines of text over a socket that the launcher has
// left open.  Before MPI_Init and after it, the MPI library has no request on its way.
class PmiLauncher : public Launcher {
public:
    // Null if the launcher does not speak PMI 1, or the MPI library is set to another version.
    static std::unique_ptr<PmiLauncher> connect(bool publish) {
        const char *const file = launcher_variable("PMI_FD");
        if (file == nullptr || launcher_variable("MPI_LOCALNRANKS") == nullptr) // which Hydra sets
            return nullptr;
        for (const char *name : {"MPIR_CVAR_PMI_VERSION", "I_MPI_PMI"})
            if (const char *version = launcher_variable(name);
                version != nullptr && std::strpbrk(version, "2xX") != nullptr)
                return nullptr;
        std::unique_ptr<PmiLauncher> launcher(new PmiLauncher(std::atoi(file)));
        if (publish)
            (void)launcher->ask("cmd=init pmi_version=1 pmi_subversion=1");
        launcher->job_ = word(launcher->ask("cmd=get_my_kvsname"), "kvsname");
        const char *const rank = launcher_variable("PMI_RANK");
        if (launcher->job_.empty() || rank == nullptr)
            return nullptr;
        if (publish && word(launcher->ask("cmd=put kvsname=" + launcher->job_ +
                                          " key=" + key(std::atoi(rank)) + " value=1"),
                            "rc") != "0")
            return nullptr;
        return launcher;
    }
    bool has(int rank, Ask) override {
        return word(ask("cmd=get kvsname=" + job_ + " key=" + key(rank)), "rc") == "0";
    }

private:
    explicit PmiLauncher(int file) : file_(file) {}

    static std::string key(int rank) { return std::string(kKey) + "-" + std::to_string(rank); }

    // The value of a key in an answer: "0" for "rc" in "cmd=put_result rc=0".
    static std::string word(const std::string &answer, const std::string &name) {
        const std::size_t at = (" " + answer).find(" " + name + "=");
        if (at == std::string::npos)
            return "";
        const std::size_t from = at + name.size() + 1;
        return answer.substr(from, answer.find(' ', from) - from);
    }

    // Empty if the launcher has ended.
    std::string ask(const std::string &request) const {
        const std::string line = request + "\n";
        for (std::size_t sent = 0; sent < line.size();) {
            const ssize_t n = write(file_, line.data() + sent, line.size() - sent);
            if (n < 0 && errno != EINTR)
                return "";
            sent += n > 0 ? static_cast<std::size_t>(n) : 0;
        }
        std::string answer;
        for (char letter = 0;;) {
            const ssize_t n = read(file_, &letter, 1);
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                return "";
            if (letter == '\n')
                return answer;
            answer += letter;
        }
    }

    int file_;
    std::string job_;
};

bool has_published_by_pmi = false;

} // namespace

void Launcher::begin() {
    if (!in_init.exchange(true, std::memory_order_relaxed))
        has_published_by_pmi = PmiLauncher::connect(true) != nullptr;
}

void Launcher::end() {
    in_init.store(false, std::memory_order_relaxed);
}

std::unique_ptr<Launcher> Launcher::find() {
    const char *const job = launcher_variable("PMIX_NAMESPACE");
    if (has_published_by_pmix && job != nullptr)
        return std::make_unique<PmixLauncher>(job);
    return has_published_by_pmi ? PmiLauncher::connect(false) : nullptr;
}

} // namespace stretto::mpi

extern "C" {

// The names in a separate PMIx client library, and in the one inside of Open MPI 4.
int PMIx_Commit(void) {
    return stretto::mpi::commit("");
}
int OPAL_MCA_PMIX3X_PMIx_Commit(void) {
    return stretto::mpi::commit("OPAL_MCA_PMIX3X_");
}

} // extern "C"
