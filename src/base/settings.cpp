// SPDX-License-Identifier: BSD-3-Clause
#include "base/settings.hpp"

#include <array>
#include <charconv>
#include <cstdlib>

#include "base/status.hpp"

namespace stretto {

static constexpr std::array<SettingInfo, 10> kSettings{{
    {Setting::timeout_s, "STRETTO_TIMEOUT", "seconds", "600",
     "how long a collective waits for a rank that does not come; 0: for ever"},
    {Setting::init_timeout_s, "STRETTO_INIT_TIMEOUT", "seconds", "60",
     "how long stretto_init waits for the other ranks"},
    {Setting::spin_us, "STRETTO_SPIN", "microseconds", "",
     "how long a waiting rank spins before it yields; by default 100 with a core for every rank, "
     "else 0"},
    {Setting::ring_bytes, "STRETTO_RING_BYTES", "bytes", "",
     "each of the two rings of a rank, a power of two; by default 512K to 2M by number of ranks"},
    {Setting::slice_bytes, "STRETTO_SLICE_BYTES", "bytes", "",
     "the piece in which blocks travel; by default by the size of the vector"},
    {Setting::plan_bytes, "STRETTO_PLAN_BYTES", "bytes", "64M",
     "memory for plans of calls that may be repeated; when it is full, all are forgotten"},
    {Setting::heap_bytes, "STRETTO_HEAP_BYTES", "bytes", "64G",
     "address space for stretto_alloc, per rank; pages are taken only when allocated"},
    {Setting::algorithm, "STRETTO_ALGORITHM", "text", "",
     "forces the algorithm of allreduce: a name of `stretto list`, with parameters"},
    {Setting::reproducible, "STRETTO_REPRODUCIBLE", "text", "off",
     "off, run (the same bits in every run) or full (also for every size, split and algorithm)"},
    {Setting::isa, "STRETTO_ISA", "text", "",
     "narrows the instruction set of the kernels: baseline, avx2 or avx512"},
}};

std::span<const SettingInfo> settings() {
    return kSettings;
}

static const SettingInfo &info(Setting setting) {
    return kSettings[static_cast<std::size_t>(setting)];
}

std::string text(Setting setting) {
    const SettingInfo &entry = info(setting);
    const char *value = std::getenv(std::string(entry.variable).c_str());
    return value != nullptr ? value : std::string(entry.fallback);
}

// "64", "64K", "64M", "64G": powers of 1024.
static bool parse(std::string_view value, std::uint64_t &result) {
    std::uint64_t shift = 0;
    if (!value.empty()) {
        const std::string_view units = "KMG";
        const char last = static_cast<char>(value.back() & ~0x20);
        if (const auto unit = units.find(last); unit != std::string_view::npos) {
            shift = 10 * (unit + 1);
            value.remove_suffix(1);
        }
    }
    const char *end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, result);
    if (error != std::errc() || rest != end || result > (UINT64_MAX >> shift))
        return false;
    result <<= shift;
    return true;
}

std::uint64_t number(Setting setting) {
    const SettingInfo &entry = info(setting);
    const std::string value = text(setting);
    if (value.empty())
        return 0;
    std::uint64_t result = 0;
    if (!parse(value, result))
        throw Error(Status::argument, std::string(entry.variable) + " is '" + value +
                                          "'; it takes a number of " + std::string(entry.kind) +
                                          ", for instance 64 or 2M (" + std::string(entry.meaning) +
                                          ")");
    return result;
}

} // namespace stretto
