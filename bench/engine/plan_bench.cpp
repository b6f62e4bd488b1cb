// SPDX-License-Identifier: BSD-3-Clause
// What does it take to make a plan?
//
//     plan_bench ALGORITHM RANKS BYTES [COLLECTIVE]      as: plan_bench ring 64 1073741824
//
// Prints the seconds of processor time, the most memory that making it took beyond what the process
// had before, the size of the plan, and its steps: of the plan of the rank in the middle, of
// float32. One plan a process: memory that was taken once is not given back.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <sys/resource.h>

#include "algorithms/algorithm.hpp"
#include "base/status.hpp"
#include "engine/plan.hpp"

using namespace stretto;

namespace {

constexpr double kMiB = 1 << 20;

double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double most_memory_mib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

schedule::Collective collective_named(const std::string &name) {
    for (const algorithms::Algorithm &algorithm : algorithms::all())
        if (schedule::name(algorithm.collective) == name)
            return algorithm.collective;
    throw Error(Status::argument, "there is no collective '" + name + "'");
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: plan_bench ALGORITHM RANKS BYTES [COLLECTIVE]\n");
        return 2;
    }
    try {
        const int ranks = std::atoi(argv[2]);
        const auto collective = collective_named(argc > 4 ? argv[4] : "allreduce");
        const schedule::Schedule schedule =
            algorithms::make(algorithms::parse(collective, argv[1]), ranks);
        engine::PlanOptions options;
        options.count = schedule.partition.fitting(std::strtoull(argv[3], nullptr, 10) / 4);
        options.commutes = true;
        options.cores = static_cast<unsigned>(ranks);
        const double memory = most_memory_mib(), before = processor_seconds();
        const auto plan = engine::compile(schedule, ranks / 2, options);
        std::printf(
            "%-24s %5d ranks %10.2f MiB: %8.4f s, %8.1f MiB to make, %7.3f MiB, %zu steps\n",
            argv[1], ranks, static_cast<double>(options.count) * 4 / kMiB,
            processor_seconds() - before, most_memory_mib() - memory,
            static_cast<double>(plan->footprint()) / kMiB, plan->steps.size());
    } catch (const Error &error) {
        std::fprintf(stderr, "plan_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
