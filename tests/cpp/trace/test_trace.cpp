// SPDX-License-Identifier: BSD-3-Clause
// The trace by itself: what is recorded is read again, whatever happens to the process; what is no
// trace is refused.
#include "doctest.h"

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/status.hpp"
#include "support/folder.hpp"
#include "support/text.hpp"
#include "trace/events.hpp"
#include "trace/log.hpp"
#include "trace/recorder.hpp"

using namespace stretto;
using namespace stretto::trace;

namespace {

const Identity kMe{"job \"1\"\n", 0x1234'5678'9abc'def0, 2, 5};

CallWords translated(std::uint64_t what) {
    return {.collective = what == 0 ? "allreduce" : "broadcast",
            .dtype = Dtype::f32,
            .op = ReduceOp::max,
            .reduces = what == 0,
            .root = what == 0 ? -1 : 3,
            .nonblocking = what == 2};
}

std::string only(const std::vector<std::string> &files) {
    REQUIRE(files.size() == 1);
    return files[0];
}

std::vector<std::byte> bytes_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> text((std::istreambuf_iterator<char>(file)), {});
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

nlohmann::json json_of(const std::string &path) {
    std::ifstream file(path);
    return nlohmann::json::parse(file);
}

// Events of a kind, in order.
std::vector<nlohmann::json> events(const nlohmann::json &trace, const std::string &category) {
    std::vector<nlohmann::json> found;
    for (const nlohmann::json &event : trace["traceEvents"])
        if (event.value("cat", "") == category)
            found.push_back(event);
    return found;
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

TEST_CASE("calls, steps and waits are events") {
    const test::Folder folder;
    {
        auto buffer = std::make_shared<Buffer>(folder.path(), 1 << 16, kMe);
        buffer->set_offset(-17);
        Recorder recorder(buffer, 1, 3, "child", &translated);
        recorder.call_begins({7, 0, 100, 400, "ring", true});
        recorder.waits(7, 2, 4);
        recorder.waits(7, 2, 4); // still
        const std::uint64_t begin = recorder.step_begins();
        Recorder::Ranks sources, readers;
        for (const int rank : {4, 3, 65'535, 1, 2})
            sources.add(rank);
        readers.add(0);
        recorder.step_ends(begin, {7, 2, 132, 6, true, true}, sources, readers);
        recorder.waits(7, 3, Recorder::kAnyRank);
        recorder.call_ends(7);
        recorder.call_begins({8, 2, 5, 20, "chain", false});
        recorder.call_ends(8);
        recorder.sent(4, 1000, 5000);
        recorder.received(4, 24, 24);
        recorder.queue_converts(true, "list", "hash", 1000);
        recorder.failed("so \"it\" is");
        recorder.call_begins({9, 1, 6, 24, "linear", false}); // and does not end
    }
    CHECK(folder.files(".raw").empty());
    const nlohmann::json trace = json_of(only(folder.files("stretto-12345678-rank-2.json")));
    const auto &about = trace["otherData"];
    CHECK(about["job"] == "job \"1\"\n");
    CHECK(about["id"] == "123456789abcdef0");
    CHECK(about["rank"] == 2);
    CHECK(about["ranks"] == 5);
    CHECK(about["pid"] == getpid());
    CHECK(about["clock_offset_ns"] == -17);
    CHECK(about["records"] == 12);
    CHECK(about["dropped"] == 0);

    const auto calls = events(trace, "call");
    REQUIRE(calls.size() == 4); // a nonblocking one has two events
    CHECK(calls[0]["name"] == "allreduce");
    CHECK(calls[0]["args"] == nlohmann::json{{"call", 7},
                                             {"collective", "allreduce"},
                                             {"algorithm", "ring"},
                                             {"count", 100},
                                             {"bytes", 400},
                                             {"dtype", "float32"},
                                             {"op", "max"},
                                             {"synchronizing", true}});
    CHECK(calls[1]["ph"] == "b");
    CHECK(calls[2]["ph"] == "e");
    CHECK(calls[1]["id"] == calls[2]["id"]);
    CHECK(calls[1]["args"]["nonblocking"] == true);
    CHECK(calls[3]["args"]["unfinished"] == true);
    CHECK(calls[3]["args"]["root"] == 3);
    CHECK(!calls[3]["args"].contains("op"));

    const auto steps = events(trace, "step");
    REQUIRE(steps.size() == 1);
    CHECK(steps[0]["name"] == "reduce and send");
    CHECK(steps[0]["args"] == nlohmann::json{{"call", 7},
                                             {"step", 3},
                                             {"bytes", 132},
                                             {"from", {4, 3, 65'535, 1}},
                                             {"sources", 5},
                                             {"to", {0}}});
    const auto waits = events(trace, "wait");
    REQUIRE(waits.size() == 2);
    CHECK(waits[0]["name"] == "wait for rank 4");
    CHECK(waits[0]["args"]["for"] == 4);
    CHECK(waits[1]["name"] == "wait for another rank");
    // The wait ends where the step begins, and all lie in the call.
    CHECK(waits[0]["ts"].get<double>() + waits[0]["dur"].get<double>() ==
          doctest::Approx(steps[0]["ts"].get<double>()).epsilon(1e-15));
    const auto links = events(trace, "link");
    REQUIRE(links.size() == 2);
    CHECK(links[0]["args"] == nlohmann::json{{"rank", 4}, {"bytes", 1000}, {"total", 5000}});
    const auto queues = events(trace, "queue");
    REQUIRE(queues.size() == 1);
    CHECK(queues[0]["name"] == "messages: list to hash");
    CHECK(
        queues[0]["args"] ==
        nlohmann::json{{"queue", "unexpected"}, {"from", "list"}, {"to", "hash"}, {"items", 1000}});
    bool told = false;
    for (const auto &event : trace["traceEvents"])
        told = told || (event["name"] == "failure" && event["args"]["message"] == "so \"it\" is");
    CHECK(told);
}

TEST_CASE("a full trace keeps the newest, and says how much is gone") {
    const test::Folder folder;
    {
        auto buffer = std::make_shared<Buffer>(folder.path(), 100 * sizeof(Slot), kMe); // 64
        Recorder recorder(buffer, 0, 1, "job", &translated);
        for (std::uint64_t call = 0; call < 1000; ++call) {
            recorder.call_begins({call, 0, 1, 4, "ring", false});
            recorder.call_ends(call);
        }
    }
    const nlohmann::json trace = json_of(only(folder.files(".json")));
    CHECK(trace["otherData"]["records"] == 64);
    CHECK(trace["otherData"]["dropped"] == 2000 - 64);
    const auto calls = events(trace, "call");
    REQUIRE(calls.size() == 32);
    CHECK(calls.front()["args"]["call"] == 968);
    CHECK(calls.back()["args"]["call"] == 999);
}

TEST_CASE("the records of a killed process are not lost") {
    const test::Folder folder;
    const pid_t child = fork();
    if (child == 0) {
        auto buffer = std::make_shared<Buffer>(folder.path(), 1 << 16, kMe);
        Recorder recorder(buffer, 0, 1, "job", &translated);
        recorder.call_begins({0, 0, 1, 4, "ring", false});
        recorder.waits(0, 1, 3);
        recorder.waits_long();
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(folder.files(".json").empty());
    const Log log = read_log(only(folder.files(".raw")));
    CHECK(log.rank == 2);
    CHECK(log.pid == child);
    const std::string made = folder.path() + "/made.json";
    write_events(log, made);
    const nlohmann::json trace = json_of(made);
    const auto calls = events(trace, "call"), waits = events(trace, "wait");
    REQUIRE(calls.size() == 1);
    CHECK(calls[0]["args"]["unfinished"] == true);
    REQUIRE(waits.size() == 1); // of which nobody has told the end
    CHECK(waits[0]["args"]["for"] == 3);
    CHECK(waits[0]["args"]["unfinished"] == true);
}

TEST_CASE("a file that is no trace is refused") {
    const test::Folder folder;
    auto buffer = std::make_shared<Buffer>(folder.path(), 1 << 16, kMe);
    Recorder(buffer, 0, 1, "job", &translated).call_begins({0, 0, 1, 4, "ring", false});
    const std::vector<std::byte> good = bytes_of(only(folder.files(".raw")));
    CHECK(read_log(good, "it").records.size() == 1);
    CHECK(refusal([&] { read_log(folder.path() + "/nothing"); }).find("nothing") !=
          std::string::npos);
    const std::span<const std::byte> all(good);
    for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{5000}})
        CHECK(test::contains(refusal([&] { read_log(all.first(size), "it"); }).c_str(),
                             "it is too short for a trace"));
    CHECK(test::contains(refusal([&] { read_log(all.first(good.size() - 64), "it"); }).c_str(),
                         "it is cut off: it has room for 1023 records of 1024"));
    // Whatever else a header says, nothing is read outside.
    for (std::size_t place = 0; place < sizeof(Header); place += 5) {
        std::vector<std::byte> changed = good;
        changed[place] ^= std::byte{0xff};
        (void)refusal([&] {
            const Log log = read_log(changed, "it");
            write_events(log, folder.path() + "/made.json");
        });
    }
    std::vector<std::byte> changed = good;
    changed[0] = std::byte{1};
    CHECK(test::contains(refusal([&] { read_log(changed, "it"); }).c_str(),
                         "it is no trace of this version"));
}

TEST_CASE("many write at once, and one reads") {
    const test::Folder folder;
    auto buffer = std::make_shared<Buffer>(folder.path(), 256 * sizeof(Slot), kMe);
    constexpr int kWriters = 3;
    constexpr std::uint64_t kEach = 5000;
    std::vector<std::thread> threads;
    for (int writer = 0; writer < kWriters; ++writer)
        threads.emplace_back([&, writer] {
            Recorder recorder(buffer, writer, kWriters, "own", &translated);
            for (std::uint64_t i = 1; i <= kEach; ++i)
                recorder.sent(writer, static_cast<std::uint32_t>(i), i * i);
        });
    for (int i = 0; i < 20; ++i)
        buffer->write_json();
    for (std::thread &thread : threads)
        thread.join();
    const Log log = read_log(only(folder.files(".raw")));
    CHECK(log.records.size() + log.dropped == kWriters * kEach);
    CHECK(log.records.size() > 200); // all, but for those of writers that were overtaken by a lap
    for (const Record &record : log.records)
        CHECK(record.second == std::uint64_t{record.a} * record.a); // none is of two halves
}

TEST_CASE("names that find no room are none") {
    const test::Folder folder;
    Buffer buffer(folder.path(), 4096, kMe);
    CHECK(buffer.name("") == buffer.name(""));
    const std::uint32_t first = buffer.name("ring");
    CHECK(first != 0);
    CHECK(buffer.name("ring") == first);
    CHECK(buffer.name(std::string(kNameBytes, 'x')) == 0);
    for (int i = 0; i < 20'000; ++i)
        buffer.name("name " + std::to_string(i));
    CHECK(buffer.name("a longer one than all of these") == 0);
    CHECK(buffer.name("ring") == first);
    for (std::size_t i = 0; i < 2 * kCommunicators; ++i)
        CHECK(buffer.add_communicator(0, 1, "own") == std::min(i, kCommunicators - 1));
}

TEST_CASE("a trace that cannot be written is an error that says so") {
    const test::Folder folder;
    std::ofstream(folder.path() + "/file") << "no folder";
    CHECK(test::contains(refusal([&] { Buffer(folder.path() + "/file", 4096, kMe); }).c_str(),
                         "STRETTO_TRACE"));
    CHECK(test::contains(refusal([&] { Buffer(folder.path() + "/not/there", 4096, kMe); }).c_str(),
                         "cannot make the folder"));
    const std::string made = folder.path() + "/made";
    Buffer(made, 4096, kMe);
    CHECK(Buffer::open({}, kMe) == nullptr);
    CHECK(Buffer::open({.folder = made, .bytes = 4096}, kMe) != nullptr);
}
