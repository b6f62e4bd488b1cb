// SPDX-License-Identifier: BSD-3-Clause
// The traces of whole jobs: what the ranks have called is in them, once, and well nested.
#include "doctest.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/environment.hpp"
#include "support/folder.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using Json = nlohmann::json;

// Of all ranks, in their order.
std::vector<Json> traces(const test::Folder &folder) {
    std::vector<Json> found;
    for (const std::string &path : folder.files(".json")) {
        std::ifstream file(path);
        found.push_back(Json::parse(file));
    }
    std::sort(found.begin(), found.end(), [](const Json &a, const Json &b) {
        return a["otherData"]["rank"] < b["otherData"]["rank"];
    });
    return found;
}

long nanoseconds(const Json &time) {
    return static_cast<long>(time.get<double>() * 1000 + 0.5);
}

// Spans of a track lie in one another or apart.
bool well_nested(const Json &trace) {
    struct Span {
        long begin, end;
    };
    std::map<int, std::vector<Span>> tracks;
    for (const Json &event : trace["traceEvents"])
        if (event["ph"] == "X") {
            const long begin = nanoseconds(event["ts"]);
            tracks[event["tid"]].push_back({begin, begin + nanoseconds(event["dur"])});
        }
    for (auto &[track, spans] : tracks) {
        std::stable_sort(spans.begin(), spans.end(), [](const Span &a, const Span &b) {
            return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
        });
        std::vector<Span> open;
        for (const Span &span : spans) {
            while (!open.empty() && open.back().end <= span.begin)
                open.pop_back();
            if (!open.empty() && span.end > open.back().end)
                return false;
            open.push_back(span);
        }
    }
    return true;
}

// Arguments of the events of a kind on a track, those of calls without their ends.
std::vector<Json> arguments(const Json &trace, const std::string &category, int track = 1) {
    std::vector<Json> found;
    for (const Json &event : trace["traceEvents"])
        if (event.value("cat", "") == category && event["tid"] == track && event["ph"] != "e")
            found.push_back(event["args"]);
    return found;
}

void work(stretto_comm comm) {
    const int rank = stretto_rank(comm), size = stretto_size(comm);
    std::vector<float> x(5000, 1), y(5000);
    for (int i = 0; i < 3; ++i)
        test::check(
            stretto_allreduce(comm, x.data(), y.data(), 1000, STRETTO_FLOAT32, STRETTO_MAX));
    test::check(stretto_broadcast(comm, x.data(), 7, STRETTO_INT32, size - 1));
    // Several in flight, with a blocking call among them.
    stretto_request requests[3];
    std::vector<float> results[3];
    for (int i = 0; i < 3; ++i) {
        results[i].resize(5000);
        test::check(stretto_iallreduce(comm, x.data(), results[i].data(), 5000, STRETTO_FLOAT32,
                                       STRETTO_SUM, &requests[i]));
    }
    test::check(stretto_barrier(comm));
    for (stretto_request &request : requests)
        test::check(stretto_wait(&request));
    // On a communicator of its own.
    stretto_comm child = nullptr;
    test::check(stretto_comm_split(comm, 0, -rank, &child));
    test::check(stretto_allreduce(child, x.data(), y.data(), 10, STRETTO_FLOAT32, STRETTO_SUM));
    test::check(stretto_finalize(&child));
}

void check_calls(const Json &trace, int size) {
    const std::vector<Json> calls = arguments(trace, "call");
    REQUIRE(calls.size() == 9); // split gathers
    std::map<std::string, int> counts;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        CHECK(calls[i]["call"] == i);
        CHECK(!calls[i].contains("unfinished"));
        ++counts[calls[i]["collective"]];
    }
    CHECK(counts == std::map<std::string, int>{
                        {"allgather", 1}, {"allreduce", 6}, {"barrier", 1}, {"broadcast", 1}});
    CHECK(calls[0]["count"] == 1000);
    CHECK(calls[0]["bytes"] == 4000);
    CHECK(calls[0]["dtype"] == "float32");
    CHECK(calls[0]["op"] == "max");
    CHECK(calls[0]["algorithm"] != "");
    CHECK(calls[3]["root"] == size - 1);
    CHECK(calls[3]["dtype"] == "int32");
    for (int i = 4; i < 7; ++i)
        CHECK(calls[static_cast<std::size_t>(i)]["nonblocking"] == true);
    CHECK(!calls[7].contains("nonblocking"));
    REQUIRE(arguments(trace, "call", 3).size() == 1);
    CHECK(arguments(trace, "call", 3)[0]["count"] == 10);
}

// What one rank says that it sends to another, that one says that it takes from there.
void check_steps(const std::vector<Json> &all) {
    std::map<std::vector<int>, long> sent, taken; // by call, sender and receiver
    for (std::size_t rank = 0; rank < all.size(); ++rank)
        for (const Json &step : arguments(all[rank], "step")) {
            const int me = static_cast<int>(rank);
            for (const int to : step["to"])
                sent[{step["call"], me, to}] += step["bytes"].get<long>();
            for (const int from : step["from"])
                taken[{step["call"], from, me}] += step["bytes"].get<long>();
        }
    CHECK(sent == taken);
    CHECK(sent.empty() == (all.size() == 1));
}

} // namespace

TEST_CASE("each call of each rank is in its trace") {
    for (const int ranks : {1, 2, 3, 5}) {
        CAPTURE(ranks);
        const test::Folder folder;
        {
            const test::With wanted("STRETTO_TRACE", folder.path().c_str());
            test::with_ranks(ranks, work);
        }
        CHECK(folder.files(".raw").empty());
        const std::vector<Json> all = traces(folder);
        REQUIRE(all.size() == static_cast<std::size_t>(ranks));
        for (const Json &trace : all) {
            CHECK(trace["otherData"]["id"] == all[0]["otherData"]["id"]);
            CHECK(trace["otherData"]["dropped"] == 0);
            CHECK(well_nested(trace));
            check_calls(trace, ranks);
            for (const Json &wait : arguments(trace, "wait"))
                CHECK((!wait.contains("for") || wait["for"] != trace["otherData"]["rank"]));
        }
        check_steps(all);
    }
}

TEST_CASE("a failure is in the trace, which is there at once") {
    const test::Folder folder;
    const test::With wanted("STRETTO_TRACE", folder.path().c_str());
    test::with_ranks(3, [&](stretto_comm comm) {
        int x = 1, y = 0;
        const stretto_op op = stretto_rank(comm) == 1 ? STRETTO_MAX : STRETTO_SUM;
        CHECK(stretto_allreduce(comm, &x, &y, 1, STRETTO_INT32, op) == STRETTO_ERR_MISMATCH);
        const std::string mine = "rank-" + std::to_string(stretto_rank(comm)) + ".json";
        CHECK(folder.files(mine).size() == 1); // before the end of the communicator
    });
    std::size_t entered = 0; // who comes late finds the communicator failed already
    for (const Json &trace : traces(folder)) {
        std::string told;
        for (const Json &event : trace["traceEvents"])
            if (event["name"] == "failure")
                told = event["args"]["message"];
        CHECK(test::contains(told, "all ranks must call the same collectives"));
        for (const Json &call : arguments(trace, "call")) {
            CHECK(call["unfinished"] == true);
            ++entered;
        }
        CHECK(well_nested(trace));
    }
    CHECK(entered >= 1);
    CHECK(entered <= 3);
}

TEST_CASE("a queue that adapts to many messages is in the trace of its rank") {
    const test::Folder folder;
    const test::With wanted("STRETTO_TRACE", folder.path().c_str());
    test::with_ranks(2, [&](stretto_comm comm) {
        constexpr int kMessages = 500;
        const int other = 1 - stretto_rank(comm);
        for (int tag = 0; stretto_rank(comm) == 0 && tag < kMessages; ++tag)
            test::check(stretto_send(comm, &tag, 1, STRETTO_INT32, other, tag));
        int last = 0, got = 0;
        if (stretto_rank(comm) == 1)
            for (int tag = kMessages; tag-- > 0;) {
                test::check(stretto_recv(comm, &got, 1, STRETTO_INT32, other, tag, nullptr));
                last += got == tag ? 0 : 1;
            }
        CHECK(last == 0);
        test::check(stretto_barrier(comm));
    });
    const std::vector<Json> found = traces(folder);
    REQUIRE(found.size() == 2);
    CHECK(arguments(found[0], "queue").empty());
    const auto queues = arguments(found[1], "queue");
    REQUIRE(!queues.empty());
    CHECK(queues[0]["queue"] == "unexpected");
    CHECK(queues[0]["from"] == "list");
    CHECK(queues[0]["to"] == "hash");
    CHECK(queues[0]["items"] > 100);
}

TEST_CASE("a rank that cannot write its trace is an error") {
    const test::Folder folder;
    std::ofstream(folder.path() + "/file") << "no folder";
    const test::With wanted("STRETTO_TRACE", (folder.path() + "/file").c_str());
    stretto_comm comm = nullptr;
    CHECK(stretto_init_explicit(0, 1, test::fresh_job().c_str(), &comm) == STRETTO_ERR_SYSTEM);
    CHECK(test::contains(stretto_last_error(), "STRETTO_TRACE names a folder"));
}
