// SPDX-License-Identifier: BSD-3-Clause
// The C API: what Stretto finds on this machine.
#include <algorithm>
#include <climits>
#include <string>

#include "base/config.hpp"
#include "base/lazy.hpp"
#include "base/memory.hpp"
#include "bootstrap/cores.hpp"
#include "bootstrap/network/ucx_transport.hpp"
#include "handles.hpp"
#include "reduce/strings.hpp"
#include "transport/wait/doorbell.hpp"

using stretto::reduce::Isa;
using namespace stretto::api;

namespace {

#if defined(__clang__)
constexpr char kBuild[] = "Clang " __clang_version__ ", " STRETTO_BUILD_TEXT;
#else
constexpr char kBuild[] = "GCC " __VERSION__ ", " STRETTO_BUILD_TEXT;
#endif

std::string names_of(bool (*wanted)(Isa)) {
    std::string names;
    for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512})
        if (wanted(isa))
            names.append(names.empty() ? "" : " ").append(stretto::reduce::name(isa));
    return names;
}

// The kernels that this process uses: if it has used none yet, as its environment says now.  "",
// and no string copies, if the setting is malformed, which stretto_settings reports.
void find_kernels(stretto_machine &machine) {
    const stretto::ReadSettings read = stretto::read_settings();
    const auto readable = [&](stretto::Setting setting) {
        return read.states[static_cast<std::size_t>(setting)].error.empty();
    };
    machine.kernels = "";
    if (readable(stretto::Setting::isa)) {
        stretto::reduce::limit_isa(read.config.kernels.isa);
        machine.kernels = stretto::reduce::name(stretto::reduce::best_isa()).data();
    }
    machine.string_copies = 0;
    if (readable(stretto::Setting::rep_movsb)) {
        stretto::reduce::allow_string_copies(read.config.kernels.rep_movsb);
        machine.string_copies = stretto::reduce::string_copies() ? 1 : 0;
    }
}

constinit stretto::Lazy<std::string> built, able; // names of kernels
constinit stretto::Lazy<std::string> ucx;         // why ranks do not use it

} // namespace

extern "C" stretto_status stretto_examine(stretto_machine *machine) {
    return guarded([&] {
        require(machine != nullptr, "the place for the machine is NULL");
        const stretto::CoreSet allowed = stretto::bootstrap::affinity();
        const unsigned quota = stretto::bootstrap::quota();
        machine->build = kBuild;
        machine->kernels_built = built.get([] { return names_of(stretto::reduce::built); }).c_str();
        machine->kernels_able =
            able.get([] { return names_of(stretto::reduce::available); }).c_str();
        find_kernels(*machine);
        machine->cores_online = stretto::bootstrap::online();
        machine->cores_allowed = allowed.count();
        machine->cores_quota = quota == UINT_MAX ? 0 : quota;
        machine->cores = stretto::bootstrap::cores_worth(allowed);
        machine->memory_available = stretto::available_memory().value_or(UINT64_MAX);
        machine->ucx = ucx.get([] {
                              stretto::transport::Opening opening{};
                              opening.network.transport = "auto";
                              return stretto::bootstrap::ucx_factory().missing(opening);
                          })
                           .c_str();
        machine->asymmetric_barrier = stretto::transport::register_for_barrier() ? 1 : 0;
    });
}
