// SPDX-License-Identifier: BSD-3-Clause
// docs/settings.md, written from the table.
#include "base/settings.hpp"

namespace stretto {

namespace {

std::string code(std::string_view text) {
    return text.empty() ? "" : "`" + std::string(text) + "`";
}

void append_table(std::string &page, SettingGroup group) {
    page += "| variable | takes | default | meaning |\n|---|---|---|---|\n";
    for (const SettingInfo &entry : settings())
        if (entry.group == group)
            page += "| " + code(entry.variable) + " | " + takes(entry) + " | " +
                    code(entry.fallback) + " | " + std::string(entry.meaning) + " |\n";
}

} // namespace

std::string settings_page() {
    std::string page =
        "# Settings\n\n"
        "<!-- Written by `stretto info --markdown`; a test compares it with the library. -->\n\n"
        "Settings are environment variables. A process reads them once, when it joins a job "
        "(`stretto_init`); communicators that are made of another have the settings of their "
        "parent. If a value cannot be read, the error names the variable. Rank 0 warns once of a "
        "variable that begins with "
        "`STRETTO_` and does not exist. `stretto info` shows the values in force here and where "
        "they come from.\n\n"
        "All ranks of a job take the settings that shape it from rank 0's environment "
        "(`RING_BYTES`, `SLICE_BYTES`, `HEAP_BYTES`, `SOCKETS`). `STRETTO_ALGORITHM`, "
        "`STRETTO_AUTOTUNE` and `STRETTO_ARRIVALS` must be the same on all ranks: if they are "
        "not, calls end in a mismatch that names the ranks that differ.\n\n"
        "## For users\n\n";
    append_table(page, SettingGroup::user);
    page += "\n## Set by `stretto run`\n\nOther launchers have variables of their own, which "
            "Stretto reads as well: torchrun, Open MPI, MPICH, Intel MPI and Slurm.\n\n";
    append_table(page, SettingGroup::launcher);
    return page;
}

} // namespace stretto
