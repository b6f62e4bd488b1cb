// SPDX-License-Identifier: BSD-3-Clause
// Statistics and traces say that one process has performed a call.  Ranks are processes.
#include "doctest.h"

#include <array>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "device/ordered_vector.hpp"
#include "support/environment.hpp"
#include "support/exact.hpp"
#include "support/folder.hpp"
#include "support/text.hpp"

using namespace test;

namespace {

// The line of an algorithm; without calls if there is none.
stretto_stat line_of(stretto_comm comm, const std::string &algorithm,
                     const std::string &collective = "allreduce") {
    std::array<stretto_stat, 64> lines{};
    std::size_t number = 0;
    check(stretto_stats(comm, lines.data(), lines.size(), &number));
    for (std::size_t i = 0; i < number; ++i)
        if (lines[i].collective == collective && lines[i].algorithm == algorithm)
            return lines[i];
    return {};
}

} // namespace

TEST_CASE("statistics know calls that were one pass from those that were steps") {
    const auto codes = on_processes(kRanks, [](stretto_comm comm) {
        OnDevice device;
        OrderedVector vector(device, kCount, nullptr);
        for (int call = 0; call < 4; ++call)
            check(vector.sum_blocking(comm));
        check(stretto_force_algorithm(comm, "ring"));
        for (int call = 0; call < 3; ++call)
            check(vector.sum_blocking(comm));
        const stretto_stat one = line_of(comm, "one_pass"), steps = line_of(comm, "ring");
        const bool leads = stretto_rank(comm) == 0;
        return one.calls == 4 && one.bytes == 4 * 4 * kCount && one.seconds > 0 &&
                       one.messages == 0 &&
                       one.bytes_reduced == (leads ? 4 * kRanks * 4 * kCount : 0) &&
                       steps.calls == 3 && steps.messages > 0
                   ? kRight
                   : kWrong;
    });
    CHECK(codes == std::vector<int>(kRanks, kRight));
}

TEST_CASE("a forced algorithm is kept") {
    const auto codes = on_processes(kRanks, [](stretto_comm comm) {
        check(stretto_force_algorithm(comm, "allgather=ring,reduce_scatter=direct"));
        const OnDevice device(OnDevice::Buffers::reused);
        for (const Collective collective : {Collective::allgather, Collective::reduce_scatter})
            for (std::size_t round = 0; round < 3; ++round) {
                Call call;
                call.collective = collective;
                call.count = kCount;
                call.salt = round;
                if (play(comm, call) != "")
                    return kWrong;
            }
        // The pass of one process is `direct` in other words.
        return line_of(comm, "ring", "allgather").calls == 3 &&
                       line_of(comm, "one_pass", "reduce_scatter").calls == 3
                   ? kRight
                   : kWrong;
    });
    CHECK(codes == std::vector<int>(kRanks, kRight));
}

TEST_CASE("a trace shows the pass of the leader, from all ranks to all, and no step of a plan") {
    const Folder folder;
    const With traced("STRETTO_TRACE", folder.path().c_str());
    const auto codes = on_processes(kRanks, [](stretto_comm comm) {
        OnDevice device;
        OrderedVector vector(device, kCount, nullptr);
        check(vector.sum_blocking(comm));
        check(stretto_finalize(&comm));
        return kRight;
    });
    CHECK(codes == std::vector<int>(kRanks, kRight));
    const auto files = folder.files(".json");
    REQUIRE(files.size() == kRanks);
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
        CAPTURE(rank);
        std::ifstream file(files[rank]);
        const std::string text(std::istreambuf_iterator<char>(file), {});
        CHECK(contains(text, R"("from":[0,1,2],"to":[0,1,2])") == (rank == 0));
        CHECK(contains(text, R"("cat":"step")") == (rank == 0));
    }
}
