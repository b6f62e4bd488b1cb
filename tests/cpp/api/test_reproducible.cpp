// SPDX-License-Identifier: BSD-3-Clause
// Mode full: the same bits whatever the algorithm, the split, the arrival order and the kernels.
#include "doctest.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "support/hosts.hpp"
#include "support/rounding.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using Float16 = test::RoundedFloat16;
using Bfloat16 = test::RoundedBfloat16;
using Float32 = test::RoundedFloat32;
using Float64 = test::RoundedFloat64;
using test::value;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kEvery =
    2; // sanitizers look at memory, not at bits: every second case will do
#else
constexpr std::size_t kEvery = 1;
#endif

constexpr int kRanks = 7;
constexpr std::size_t kCount = 5003;

template<class T>
std::uint64_t hash_of(const T *values, std::size_t count) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::size_t i = 0; i < count * sizeof(T); ++i)
        hash = (hash ^ reinterpret_cast<const unsigned char *>(values)[i]) * 0x100000001b3u;
    return hash;
}

// How the vector is given to the library: calls that begin at these elements, cut in slices of so
// many bytes (0: as the library likes), in buffers that begin so many elements off a cache line.
struct Split {
    std::vector<std::size_t> begins;
    const char *slice;
    std::size_t shift;
};
const std::array<Split, 5> kSplits{{{{0}, "", 0},
                                    {{0, 1667}, "", 0},
                                    {{0, 1, 8, 500, 512, 3000, 5002}, "", 3},
                                    {{0}, "256", 0},
                                    {{0, 4001}, "4K", 1}}};

// Which rank comes in which place.
constexpr std::array<std::array<int, kRanks>, 5> kArrivals{{{0, 0, 0, 0, 0, 0, 0},
                                                            {0, 1, 2, 3, 4, 5, 6},
                                                            {6, 5, 4, 3, 2, 1, 0},
                                                            {0, 0, 0, 9, 0, 0, 0},
                                                            {4, 1, 6, 0, 3, 5, 2}}};

// The vector of all, reduced on every rank by the calls of a split; 0 if ranks differ.
template<class T>
std::uint64_t reduced(stretto_comm comm, stretto_op op, const Split &split,
                      const std::array<int, kRanks> &late) {
    const int rank = stretto_rank(comm);
    std::vector<typename T::Element> send(kCount + split.shift), recv(kCount + split.shift);
    for (std::size_t i = 0; i < kCount; ++i)
        send[split.shift + i] = value<T>(rank, i);
    std::this_thread::sleep_for(
        std::chrono::microseconds(50 * late[static_cast<std::size_t>(rank)]));
    for (std::size_t i = 0; i < split.begins.size(); ++i) {
        const std::size_t begin = split.begins[i];
        const std::size_t end = i + 1 < split.begins.size() ? split.begins[i + 1] : kCount;
        test::check(stretto_allreduce(comm, &send[split.shift + begin], &recv[split.shift + begin],
                                      end - begin, T::dtype, op));
    }
    std::int64_t range[2] = {static_cast<std::int64_t>(hash_of(&recv[split.shift], kCount) >> 1),
                             0};
    range[1] = -range[0];
    std::int64_t most[2] = {0, 0};
    test::check(stretto_reduce(comm, range, most, 2, STRETTO_INT64, STRETTO_MAX, 0));
    return most[0] == -most[1] ? static_cast<std::uint64_t>(most[0]) : 0;
}

std::vector<std::string> qualifying() {
    std::vector<std::string> names{"auto"};
    for (const stretto::algorithms::Algorithm &each : stretto::algorithms::all())
        if (each.collective == stretto::schedule::Collective::allreduce && each.runs(kRanks) &&
            each.canonical(test::problem_of({&each, {}}, kRanks)))
            names.emplace_back(each.name);
    return names;
}

// Every hash that rank 0 saw: of all algorithms, splits and arrivals.
template<class T>
std::set<std::uint64_t> hashes(stretto_reproducible mode, stretto_op op,
                               const std::vector<std::string> &names) {
    std::set<std::uint64_t> seen;
    for (std::size_t i = 0; i < kSplits.size(); i += kEvery) {
        const Split &split = kSplits[i];
        if (*split.slice != '\0')
            setenv("STRETTO_SLICE_BYTES", split.slice, 1);
        test::with_ranks(kRanks, [&](stretto_comm comm) {
            test::check(stretto_set_reproducible(comm, mode));
            for (const std::string &name : names)
                for (std::size_t j = 0; j < kArrivals.size(); j += kEvery) {
                    test::check(stretto_force_algorithm(comm, name.c_str()));
                    const std::uint64_t hash = reduced<T>(comm, op, split, kArrivals[j]);
                    if (stretto_rank(comm) == 0)
                        seen.insert(hash);
                    test::check(stretto_barrier(comm));
                }
        });
        unsetenv("STRETTO_SLICE_BYTES");
    }
    return seen;
}

// Runs this program again, its test case of that name alone, with these kernels; what it prints.
std::string output_with(const char *isa, const char *test_case) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    const std::string command = "STRETTO_ISA=" + std::string(isa) + " " STRETTO_TEST_EMULATOR " '" +
                                self + "' --no-skip --no-intro --test-case='" + test_case + "'";
    std::string text;
    std::FILE *const pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    for (char line[256]; std::fgets(line, sizeof line, pipe) != nullptr;)
        if (std::strncmp(line, "hash ", 5) == 0)
            text += line;
    CHECK(pclose(pipe) == 0);
    return text;
}

template<class T>
void print_hashes(const char *name, stretto_op op) {
    for (const std::uint64_t hash : hashes<T>(STRETTO_REPRODUCIBLE_FULL, op, qualifying()))
        std::printf("hash %s %016llx\n", name, static_cast<unsigned long long>(hash));
}

} // namespace

// Not a test by itself: what the next one runs with each instruction set.
TEST_CASE("hashes of mode full" * doctest::skip()) {
    print_hashes<Float32>("float32", STRETTO_SUM);
    print_hashes<Float64>("float64", STRETTO_SUM);
    print_hashes<Float16>("float16", STRETTO_SUM);
    print_hashes<Bfloat16>("bfloat16", STRETTO_AVG);
}

TEST_CASE("mode full has one result whatever happens") {
    REQUIRE(qualifying().size() >= 6);
    std::set<std::string> lines;
    for (const char *isa : {"baseline", "avx2", "avx512"}) {
        std::istringstream text(output_with(isa, "hashes of mode full"));
        int found = 0;
        for (std::string line; std::getline(text, line); ++found)
            lines.insert(line);
        CHECK(found == 4);
    }
    CHECK(lines.size() == 4); // one of each type
}

TEST_CASE("the values distinguish brackets") {
    // What the other modes give: the test above could fail.
    const auto off = STRETTO_REPRODUCIBLE_OFF, run = STRETTO_REPRODUCIBLE_RUN;
    CHECK(hashes<Float32>(off, STRETTO_SUM, {"ring", "binomial", "direct"}).size() > 1);
    CHECK(hashes<Float64>(run, STRETTO_SUM, {"direct", "binomial"}).size() > 1);
    // The tree alone is not enough for 16 bits: a pass of many operands rounds once.
    const std::vector<std::string> canonical{"one_shot_canonical", "recursive_doubling"};
    CHECK(hashes<Float32>(off, STRETTO_SUM, canonical).size() == 1);
    CHECK(hashes<Float16>(off, STRETTO_SUM, canonical).size() > 1);
    CHECK(hashes<Bfloat16>(off, STRETTO_AVG, canonical).size() > 1);
}

TEST_CASE_TEMPLATE("all collectives that reduce give the same bits in mode full", T, Float32,
                   Bfloat16) {
    test::with_ranks(kRanks, [](stretto_comm comm) {
        test::check(stretto_set_reproducible(comm, STRETTO_REPRODUCIBLE_FULL));
        const int rank = stretto_rank(comm);
        constexpr std::size_t kPart = 101, kWhole = kPart * kRanks;
        using Element = typename T::Element;
        std::vector<Element> send(kWhole), all(kWhole), one(kWhole), part(kPart);
        for (std::size_t i = 0; i < kWhole; ++i)
            send[i] = value<T>(rank, i);
        for (const stretto_op op : {STRETTO_SUM, STRETTO_AVG}) {
            test::check(stretto_allreduce(comm, send.data(), all.data(), kWhole, T::dtype, op));
            for (int root = 0; root < kRanks; ++root) {
                test::check(
                    stretto_reduce(comm, send.data(), one.data(), kWhole, T::dtype, op, root));
                if (rank == root)
                    CHECK(one == all);
            }
            test::check(
                stretto_reduce_scatter(comm, send.data(), part.data(), kPart, T::dtype, op));
            CHECK(std::equal(part.begin(), part.end(),
                             all.begin() + static_cast<std::ptrdiff_t>(kPart) * rank));
        }
    });
}

TEST_CASE("an operation of one's own has the canonical tree as well") {
    stretto_op mine;
    test::check(stretto_op_create(
        [](const void *in, void *inout, size_t count, stretto_dtype, void *) {
            for (size_t i = 0; i < count; ++i)
                static_cast<double *>(inout)[i] =
                    static_cast<const double *>(in)[i] + static_cast<double *>(inout)[i];
        },
        nullptr, 0, &mine));
    const auto full = STRETTO_REPRODUCIBLE_FULL;
    const std::vector<std::string> some{"auto", "rabenseifner"};
    CHECK(hashes<Float64>(full, mine, some) == hashes<Float64>(full, STRETTO_SUM, some));
    test::check(stretto_op_free(mine));
}

TEST_CASE("a forced algorithm that does not qualify is an error that lists those that do") {
    test::with_ranks(5, [](stretto_comm comm) {
        float x = 1, y = 0;
        test::check(stretto_force_algorithm(comm, "ring"));
        test::check(stretto_allreduce(comm, &x, &y, 1, STRETTO_FLOAT32, STRETTO_SUM));
        test::check(stretto_set_reproducible(comm, STRETTO_REPRODUCIBLE_FULL));
        CHECK(stretto_allreduce(comm, &x, &y, 1, STRETTO_FLOAT32, STRETTO_SUM) ==
              STRETTO_ERR_UNSUPPORTED);
        const std::string message = stretto_last_error();
        CHECK(test::contains(message, "ring is not the canonical tree at 5 ranks"));
        CHECK(test::contains(message, "direct_canonical"));
        test::check(stretto_force_algorithm(comm, nullptr));
        test::check(stretto_allreduce(comm, &x, &y, 1, STRETTO_FLOAT32, STRETTO_SUM));
        CHECK(y == 5);
        CHECK(stretto_set_reproducible(comm, static_cast<stretto_reproducible>(3)) ==
              STRETTO_ERR_ARGUMENT);
    });
}

TEST_CASE("ranks in different modes do not match") {
    test::with_ranks(3, [](stretto_comm comm) {
        if (stretto_rank(comm) == 1)
            test::check(stretto_set_reproducible(comm, STRETTO_REPRODUCIBLE_FULL));
        float x = 1, y = 0;
        CHECK(stretto_allreduce(comm, &x, &y, 1, STRETTO_FLOAT32, STRETTO_SUM) ==
              STRETTO_ERR_MISMATCH);
        CHECK(test::contains(stretto_last_error(), "reproducible full"));
    });
}
