// SPDX-License-Identifier: BSD-3-Clause
// What a rank notes of its calls: which of them are kept, and what is read of them again, whatever
// happens to the process.
#include "doctest.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "arrival/call_log_format.hpp"
#include "arrival/history.hpp"
#include "base/status.hpp"
#include "support/folder.hpp"
#include "support/text.hpp"

using namespace stretto;
using namespace stretto::arrival;

namespace {

const RankIdentity kMe{"job \"1\"", 0x1234'5678'9abc'def0, 2, 5};

// Of three ranks.
CallKind kind(const std::string &collective, std::uint64_t count) {
    return {77, "child of job", 1, 3, collective, "float32", "sum", -1, count, 4 * count};
}

std::vector<std::uint64_t> numbers(const CallsOfRank::Kind &kind) {
    std::vector<std::uint64_t> found;
    for (const CallsOfRank::Call &call : kind.kept)
        found.push_back(call.number);
    return found;
}

// The first `count` multiples.
std::vector<std::uint64_t> multiples(std::uint64_t of, std::uint64_t count) {
    std::vector<std::uint64_t> found;
    for (std::uint64_t i = 0; i < count; ++i)
        found.push_back(i * of);
    return found;
}

std::vector<std::byte> bytes_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> text((std::istreambuf_iterator<char>(file)), {});
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

std::string only(const test::Folder &folder) {
    const std::vector<std::string> files = folder.files("stretto-12345678-rank-2.calls");
    REQUIRE(files.size() == 1);
    return files[0];
}

std::string refusal(const std::function<void()> &body) {
    try {
        body();
    } catch (const Error &error) {
        return error.what();
    }
    return "";
}

} // namespace

TEST_CASE("of four places every call is kept, then every second one, then every fourth") {
    std::vector<KeptCall> places(4);
    CallSample sample(places);
    std::vector<std::uint64_t> kept;
    for (std::uint64_t call = 0; call < 17; ++call)
        if (sample.begin(call, 100 * call, 0) != nullptr)
            kept.push_back(call);
    // Full at 4: 0 and 2 stay.  Full again at 8: 0 and 4.  At 16: 0 and 8.
    CHECK(kept == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 6, 8, 12, 16});
    CHECK(sample.stride() == 8);
    CHECK(places[0].number == 1);
    CHECK(places[1].number == 9);
    CHECK(places[2].number == 17);
    CHECK(places[1].begin == 800);
}

TEST_CASE("what is noted is read again") {
    const test::Folder folder;
    CallLog log(folder.path(), kMe);
    CallLog::Calls &sums = log.of(kind("allreduce", 10));
    CallLog::Calls &others = log.of(kind("broadcast", 10));
    CHECK(&sums == &log.of(kind("allreduce", 10)));
    sums.begin(1000, kUnknown);
    sums.end(1300);
    others.begin(1400, -7); // 100 after the last call
    others.end(1450);
    sums.begin(1650, -9); // 200 after
    sums.end(1700);
    sums.begin(1701, -9); // 1 after, and it does not end
    const CallsOfRank found = read_calls(only(folder));
    CHECK(found.job == kMe.job);
    CHECK(found.job_id == kMe.job_id);
    CHECK(found.rank == 2);
    CHECK(found.ranks == 5);
    CHECK(found.pid == getpid());
    CHECK(!found.host.empty());
    CHECK(!found.clock.empty());
    CHECK(found.left_out == 0);
    REQUIRE(found.kinds.size() == 2);
    const CallsOfRank::Kind &first = found.kinds[0], &second = found.kinds[1];
    CHECK(first.what == kind("allreduce", 10));
    CHECK(first.begun == 3);
    CHECK(first.complete == 2);
    CHECK(first.inside == 350);
    CHECK(first.outside == 201);
    REQUIRE(first.kept.size() == 3);
    CHECK(first.kept[0].begin == 1000);
    CHECK(first.kept[0].end == 1300);
    CHECK(first.kept[0].offset == kUnknown);
    CHECK(first.kept[1].number == 1);
    CHECK(first.kept[1].offset == -9);
    CHECK(first.kept[2].end == 0);
    CHECK(second.what == kind("broadcast", 10));
    CHECK(second.inside == 50);
    CHECK(second.outside == 100);
}

TEST_CASE("many calls take no more room, and ranks keep the same of them") {
    constexpr std::uint64_t kPlaces = CallLog::kKeptCalls;
    for (const std::uint64_t calls :
         {std::uint64_t{1}, kPlaces - 1, kPlaces, kPlaces + 1, 2 * kPlaces, 2 * kPlaces + 1,
          3 * kPlaces, 100 * kPlaces + 77}) {
        CAPTURE(calls);
        const test::Folder folder;
        CallLog log(folder.path(), kMe);
        CallLog::Calls &sums = log.of(kind("allreduce", 10));
        for (std::uint64_t call = 0; call < calls; ++call) {
            sums.begin(10 * call + 1, 0);
            sums.end(10 * call + 4);
        }
        const CallsOfRank found = read_calls(only(folder));
        REQUIRE(found.kinds.size() == 1);
        const CallsOfRank::Kind &all = found.kinds[0];
        CHECK(all.complete == calls);
        CHECK(all.inside == 3 * calls);
        CHECK(all.outside == 7 * (calls - 1));
        CHECK(numbers(all) == multiples(all.stride, (calls + all.stride - 1) / all.stride));
        CHECK(all.kept.size() <= kPlaces);
        CHECK(all.kept.size() >= std::min(calls, kPlaces / 2));
        for (const CallsOfRank::Call &call : all.kept) {
            REQUIRE(call.begin == 10 * call.number + 1);
            REQUIRE(call.end == 10 * call.number + 4);
        }
    }
}

TEST_CASE("of kinds for which there is no room calls are counted") {
    const test::Folder folder;
    CallLog log(folder.path(), kMe);
    for (int turn = 0; turn < 2; ++turn)
        for (std::uint64_t count = 0; count < CallLog::kKinds + 3; ++count) {
            CallLog::Calls &calls = log.of(kind("allreduce", count));
            calls.begin(10, 0);
            calls.end(20);
        }
    const CallsOfRank found = read_calls(only(folder));
    CHECK(found.left_out == 6);
    REQUIRE(found.kinds.size() == CallLog::kKinds);
    for (const CallsOfRank::Kind &each : found.kinds)
        CHECK(each.complete == 2);
}

TEST_CASE("a process that is killed has left what it noted") {
    const test::Folder folder;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        CallLog log(folder.path(), kMe);
        CallLog::Calls &sums = log.of(kind("allreduce", 10));
        sums.begin(1000, 0);
        sums.end(1300);
        sums.begin(1400, 0);
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    const CallsOfRank found = read_calls(only(folder));
    REQUIRE(found.kinds.size() == 1);
    CHECK(found.kinds[0].begun == 2);
    CHECK(found.kinds[0].complete == 1);
    CHECK(numbers(found.kinds[0]) == std::vector<std::uint64_t>{0, 1});
}

TEST_CASE("what is no report is refused") {
    const test::Folder folder;
    std::string path;
    {
        CallLog log(folder.path(), kMe);
        log.of(kind("allreduce", 10)).begin(1, 0);
        path = only(folder);
    }
    const std::vector<std::byte> good = bytes_of(path);
    CHECK(read_calls(good, "it").kinds.size() == 1);
    CHECK(test::contains(refusal([&] { read_calls(folder.path() + "/nothing"); }).c_str(),
                         "cannot read the report"));
    const std::span<const std::byte> all(good);
    for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{1000}})
        CHECK(test::contains(refusal([&] { read_calls(all.first(size), "it"); }).c_str(),
                             "it is too short for a report"));
    CHECK(test::contains(refusal([&] { read_calls(all.first(good.size() - 8), "it"); }).c_str(),
                         "it is cut off"));
    // Whatever else is in it, nothing is read outside.
    for (std::size_t place = 0; place < kHeaderBytes + kLineBytes + 100; place += 3) {
        std::vector<std::byte> changed = good;
        changed[place] ^= std::byte{0xff};
        (void)refusal([&] { (void)read_calls(changed, "it"); });
    }
    std::vector<std::byte> changed = good;
    changed[0] = std::byte{1};
    CHECK(test::contains(refusal([&] { read_calls(changed, "it"); }).c_str(),
                         "it is no report of this version"));
}

TEST_CASE("queues of messages: sums of all communicators, and what filled the longest") {
    const test::Folder folder;
    CallLog log(folder.path(), kMe);
    CHECK(read_calls(only(folder)).posted.deepest == 0);
    const QueueUse small{10, 20, 1, 70, 65, 3, 5, 0.75, 0.5},
        large{1, 2, 0, 900, 800, 4, 6, 1, 0.25};
    log.add_queues(small, {});
    log.add_queues(large, small);
    log.add_queues(small, {});
    const CallsOfRank found = read_calls(only(folder));
    CHECK(found.posted == QueueUse{21, 42, 2, 900, 800, 4, 6, 1, 0.25});
    CHECK(found.unexpected == small);
    // Where most items were counted, fewer may have waited: of a longer queue fewer may be counted,
    // or none, if a collective filled it.
    const QueueUse longest{0, 0, 0, 1000}, counted{0, 0, 0, 999, 999, 7, 8, 1, 1};
    log.add_queues(longest, {});
    log.add_queues(counted, {});
    CHECK(read_calls(only(folder)).posted == QueueUse{21, 42, 2, 1000, 0, -1, -1, 0, 0});
}
