// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "mpi_job.hpp"

namespace stretto::mpi {

namespace {

// "Open MPI v5.0.11, package: ...", as far as its first comma or line goes.
std::string library() {
    std::vector<char> text(8193); // the longest of any interface
    int length = 0;
    if (MpiLibrary::get().Get_library_version(text.data(), &length) != 0)
        return MpiLibrary::get().mpi().soname;
    std::string words(text.data());
    words.resize(std::min(words.find_first_of(",\n"), words.size()));
    std::replace(words.begin(), words.end(), '\t', ' ');
    return words;
}

std::string of_bytes(std::size_t power) {
    static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    if (power == 0)
        return "0 B";
    --power;
    const std::size_t unit = std::min<std::size_t>(power / 10, 4);
    return std::to_string(std::size_t{1} << (power - 10 * unit)) + " " + kUnits[unit];
}

std::string in_words(double seconds) {
    char text[32];
    const double scale = seconds < 1e-3 ? 1e6 : seconds < 1 ? 1e3 : 1;
    std::snprintf(text, sizeof text, "%.*f %s", seconds * scale < 10 ? 2 : 1, seconds * scale,
                  scale == 1e6   ? "us"
                  : scale == 1e3 ? "ms"
                                 : "s");
    return text;
}

} // namespace

void Report::count(Kind kind, Reason reason) {
    const std::lock_guard lock(mutex_);
    ++numbers_.reasons[static_cast<std::size_t>(kind)][static_cast<std::size_t>(reason)];
}

void Report::time(Kind kind, bool by_stretto, std::size_t bytes, double seconds) {
    const auto power = std::min(kSizes - 1, static_cast<std::size_t>(std::bit_width(bytes)));
    const std::lock_guard lock(mutex_);
    Times &times = numbers_.times[static_cast<std::size_t>(kind)][power][by_stretto ? 0 : 1];
    times.seconds += seconds;
    ++times.calls;
}

void Report::print(const MpiJob &job, double waited) {
    numbers_.waited = waited;
    const auto ranks = static_cast<std::size_t>(job.size());
    const std::vector<Numbers> all =
        job.gather(MpiLibrary::get().abi().comm_world, numbers_, job.size());
    if (job.rank() != 0)
        return;
    std::string text = "stretto: " + std::to_string(ranks) + " ranks under " + library() +
                       "; calls of all ranks together\n";
    const auto line = [&text](const char *format, auto... values) {
        char buffer[256];
        std::snprintf(buffer, sizeof buffer, format, values...);
        text.append("stretto: ").append(buffer).append("\n");
    };
    line("%-26s %12s  %s", "call", "calls", "");
    for (std::size_t kind = 0; kind < kKinds; ++kind)
        for (std::size_t reason = 0; reason < kReasons; ++reason) {
            std::uint64_t calls = 0;
            for (const Numbers &each : all)
                calls += each.reasons[kind][reason];
            if (calls != 0)
                line("%-26s %12llu  %s%s", call_name(static_cast<Kind>(kind)),
                     static_cast<unsigned long long>(calls),
                     reason == 0 ? "" : "by the MPI library: ",
                     std::string(words(static_cast<Reason>(reason))).c_str());
        }
    bool headed = false;
    for (std::size_t kind = 0; kind < kKinds; ++kind)
        for (std::size_t power = 0; power < kSizes; ++power) {
            Times sums[2];
            for (const Numbers &each : all)
                for (std::size_t who = 0; who < 2; ++who) {
                    sums[who].seconds += each.times[kind][power][who].seconds;
                    sums[who].calls += each.times[kind][power][who].calls;
                }
            if (sums[0].calls == 0)
                continue;
            if (!headed)
                line("%-26s %9s %12s %12s %9s", "mean time of a call", "from", "Stretto",
                     "the library", "ratio");
            headed = true;
            const double mean = sums[0].seconds / static_cast<double>(sums[0].calls);
            if (sums[1].calls == 0) {
                line("%-26s %9s %12s %12s", call_name(static_cast<Kind>(kind)),
                     of_bytes(power).c_str(), in_words(mean).c_str(), "-");
                continue;
            }
            const double other = sums[1].seconds / static_cast<double>(sums[1].calls);
            line("%-26s %9s %12s %12s %9.2f", call_name(static_cast<Kind>(kind)),
                 of_bytes(power).c_str(), in_words(mean).c_str(), in_words(other).c_str(),
                 other / mean);
        }
    // The rank that waits least is the one that the others wait for.
    std::vector<std::size_t> order(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank)
        order[rank] = rank;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return all[a].waited < all[b].waited; });
    const std::size_t shown = std::min<std::size_t>(ranks, 4);
    std::string late, early;
    for (std::size_t i = 0; i < shown; ++i) {
        late += " " + std::to_string(order[i]) + " (" + in_words(all[order[i]].waited) + ")";
        early = " " + std::to_string(order[ranks - 1]) + " (" +
                in_words(all[order[ranks - 1]].waited) + ")";
    }
    line("late: ranks that waited least for others:%s; most:%s", late.c_str(), early.c_str());
    std::fputs(text.c_str(), stderr);
}

} // namespace stretto::mpi
