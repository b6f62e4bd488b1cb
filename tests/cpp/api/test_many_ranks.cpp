// SPDX-License-Identifier: BSD-3-Clause
// Far more ranks than cores, as processes: every allreduce is exact, and no rank takes much memory.
#include "doctest.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "support/processes.hpp"
#include "support/tier.hpp"

namespace {

using stretto::algorithms::Algorithm;

// What one rank tells of itself, in memory that all processes share.
struct Told {
    std::size_t private_kib = 0; // at the end, which has all plans
    char wrong[200] = "";
};

// 200 in the full tier.
int many() {
    return test::full_tier() ? 200 : 24;
}

std::int32_t contribution(int rank, std::size_t i) {
    return rank * 31 + static_cast<std::int32_t>(i % 1009) * (rank % 7 + 1);
}

// Sums over all ranks, by index modulo 1009.
std::vector<std::int32_t> sums(int ranks) {
    std::vector<std::int32_t> all(1009, 0);
    for (int rank = 0; rank < ranks; ++rank)
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i] += contribution(rank, i);
    return all;
}

// Memory of this process alone.
std::size_t private_kib() {
    std::ifstream rollup("/proc/self/smaps_rollup");
    std::size_t sum = 0;
    for (std::string line; std::getline(rollup, line);)
        if (line.starts_with("Private_"))
            sum += std::stoul(line.substr(line.find(':') + 1));
    return sum;
}

bool call(stretto_comm comm, const std::string &algorithm, std::size_t count,
          const std::vector<std::int32_t> &right, Told &told) {
    std::vector<std::int32_t> data(count);
    for (std::size_t i = 0; i < count; ++i)
        data[i] = contribution(stretto_rank(comm), i);
    if (stretto_force_algorithm(comm, algorithm.c_str()) != STRETTO_OK ||
        stretto_allreduce(comm, STRETTO_IN_PLACE, data.data(), count, STRETTO_INT32, STRETTO_SUM) !=
            STRETTO_OK) {
        std::snprintf(told.wrong, sizeof told.wrong, "%s: %s", algorithm.c_str(),
                      stretto_last_error());
        return false;
    }
    for (std::size_t i = 0; i < count; ++i)
        if (data[i] != right[i % right.size()]) {
            std::snprintf(told.wrong, sizeof told.wrong, "%s: element %zu of %zu is wrong",
                          algorithm.c_str(), i, count);
            return false;
        }
    return true;
}

} // namespace

TEST_CASE("every allreduce by many more ranks than there are cores") {
    const int ranks = many();
    const std::vector<std::int32_t> right = sums(ranks);
    std::vector<std::string> names;
    for (const Algorithm &algorithm : stretto::algorithms::all())
        if (algorithm.collective == stretto::schedule::Collective::allreduce &&
            algorithm.runs(ranks))
            names.emplace_back(algorithm.name);
    const std::size_t bytes = static_cast<std::size_t>(ranks) * sizeof(Told);
    void *const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    auto *const told = static_cast<Told *>(memory);
    const auto codes = test::on_processes(ranks, [&](stretto_comm comm) {
        Told &mine = told[stretto_rank(comm)];
        for (const std::string &name : names)
            for (const std::size_t count : {std::size_t{1}, std::size_t{1} << 18}) {
                const auto begin = std::chrono::steady_clock::now();
                if (!call(comm, name, count, right, mine))
                    return 1;
                const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
                if (stretto_rank(comm) == 0 && test::full_tier()) {
                    std::printf("%-22s %8zu B  %7.3f s  %6zu KiB private\n", name.c_str(),
                                4 * count, took.count(), private_kib());
                    std::fflush(stdout);
                }
            }
        mine.private_kib = private_kib();
        return stretto_finalize(&comm) == STRETTO_OK ? 0 : 2;
    });
    std::size_t most = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        CHECK_MESSAGE(std::string(told[rank].wrong) == "", "rank ", rank);
        most = std::max(most, told[rank].private_kib);
    }
    CHECK(codes == std::vector<int>(static_cast<std::size_t>(ranks), 0));
    MESSAGE(ranks, " ranks, ", names.size(), " algorithms: at most ", most,
            " KiB of private memory a rank");
    munmap(memory, bytes);
}
