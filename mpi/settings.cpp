// SPDX-License-Identifier: BSD-3-Clause
#include "settings.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "failure.hpp"
#include "kinds.hpp"
#include "stretto/info.h"

namespace stretto::mpi {

namespace {

stretto_setting setting(const char *name) {
    std::vector<stretto_setting> lines(128);
    std::size_t count = 0;
    check(stretto_settings(nullptr, lines.data(), lines.size(), &count));
    for (const stretto_setting &line : lines)
        if (line.name != nullptr && std::strcmp(line.name, name) == 0) {
            if (line.error != nullptr)
                throw Failure(STRETTO_ERR_ARGUMENT, line.error);
            return line;
        }
    throw Failure(STRETTO_ERR_INTERNAL, std::string("there is no setting ") + name);
}

} // namespace

std::uint32_t kinds_asked_for() {
    constexpr std::uint32_t kAll = (1u << kKinds) - 1;
    std::string list = setting("STRETTO_MPI").value;
    if (list.empty() || list == "all")
        return kAll;
    if (list == "none")
        return 0;
    const bool excludes = list[0] == '^';
    std::uint32_t named = 0;
    for (std::size_t at = excludes ? 1 : 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        const std::string word = list.substr(at, end - at);
        std::uint32_t bit = 0;
        std::string takes;
        for (std::size_t kind = 0; kind < kKinds; ++kind) {
            const auto name = short_name(static_cast<Kind>(kind));
            takes.append(takes.empty() ? "" : ", ").append(name);
            if (word == name)
                bit = 1u << kind;
        }
        if (bit == 0)
            throw Failure(STRETTO_ERR_ARGUMENT,
                          "STRETTO_MPI is '" + list + "', and '" + word + "' is none of " + takes +
                              "; it takes all, none, a list of these with commas, or one after ^ "
                              "of calls that Stretto must not run");
        named |= bit;
        at = end + 1;
    }
    return excludes ? kAll & ~named : named;
}

bool report_asked_for() {
    return setting("STRETTO_MPI_REPORT").number != 0;
}

std::uint64_t warmup_asked_for() {
    return setting("STRETTO_MPI_WARMUP").number;
}

bool user_says_all_ranks_have_it() {
    try {
        return setting("STRETTO_MPI_ALL_RANKS").number != 0;
    } catch (const Failure &) {
        return false;
    }
}

} // namespace stretto::mpi
