// SPDX-License-Identifier: BSD-3-Clause
// Which transport a job uses: what ranks can use, what they agree on, and what is said if there is
// none.
#include "doctest.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include "bootstrap/fake_transport.hpp"
#include "bootstrap/network/transports.hpp"
#include "support/environment.hpp"
#include "support/job.hpp"
#include "support/on_threads.hpp"
#include "support/processes.hpp"
#include "support/sums.hpp"
#include "support/text.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"
#include "transport/ucx/rdma_devices.hpp"

using namespace stretto;
using bootstrap::agreed_transport;
using bootstrap::Lack;
using bootstrap::no_common_transport;
using stretto::test::FakeTransport;
using ::test::contains;
using ::test::With;
using transport::Endpoints;

namespace {

// In this order, before TCP.
FakeTransport &fake() {
    static auto &one = *new FakeTransport("fake");
    static const bool known = (bootstrap::add_transport(one), true);
    (void)known;
    return one;
}
FakeTransport &spare() {
    (void)fake();
    static auto &one = *new FakeTransport("spare");
    static const bool known = (bootstrap::add_transport(one), true);
    (void)known;
    return one;
}

struct Hosts {
    With addr{"STRETTO_ADDR", ("127.0.0.1:" + std::to_string(21'000 + getpid() % 8'000)).c_str()},
        hosts{"STRETTO_FAKE_HOSTS", "a,b,a,c"},
        secret{"STRETTO_SECRET", "of-tests-only-0123456789abcdef-0123"},
        profile{"STRETTO_TUNING_FILE", "assumed"};
    Hosts() {
        for (FakeTransport *each : {&fake(), &spare()}) {
            each->lacks = each->fails = [](int) { return ""; };
            each->has_version = [] { return std::uint16_t{3}; };
            each->tells = FakeTransport::Reports::by_descriptors;
            each->longest = 0;
            each->opened = each->closed = each->connected = 0;
        }
        spare().lacks = [](int) { return "none is in this machine"; };
    }
};

void check_sums(stretto_comm comm, std::size_t count) {
    const int rank = stretto_rank(comm), size = stretto_size(comm);
    stretto::test::Vector mine(count), sum(count, -1);
    for (std::size_t i = 0; i < count; ++i)
        mine[i] = stretto::test::contribution(rank, i);
    ::test::check(
        stretto_allreduce(comm, mine.data(), sum.data(), count, STRETTO_INT64, STRETTO_SUM));
    CHECK(stretto::test::wrong_sums(sum, size) == 0);
}

// What each rank is told whose job cannot start.
std::vector<std::string> refusals(int ranks) {
    const std::string job = ::test::fresh_job();
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    ::test::on_threads(ranks, [&](int rank) {
        stretto_comm comm = nullptr;
        if (stretto_init_explicit(rank, ranks, job.c_str(), &comm) != STRETTO_OK)
            errors[static_cast<std::size_t>(rank)] = stretto_last_error();
        else
            stretto_finalize(&comm);
    });
    return errors;
}

Endpoints endpoints(const std::vector<std::string> &names, std::uint16_t version = 1) {
    Endpoints all;
    for (const std::string &name : names)
        all.push_back({name, version, true, {}});
    return all;
}

} // namespace

TEST_CASE("ranks agree on the first transport of rank 0 that all of them can use") {
    const auto agreed = [](std::vector<Endpoints> table) { return agreed_transport(table); };
    CHECK(agreed({endpoints({"a", "b", "tcp"}), endpoints({"a", "b", "tcp"})}) == "a");
    CHECK(agreed({endpoints({"b", "a", "tcp"}), endpoints({"a", "b", "tcp"})}) == "b");
    CHECK(agreed({endpoints({"a", "b", "tcp"}), endpoints({"a", "tcp"}),
                  endpoints({"tcp", "b"})}) == "tcp");
    CHECK(agreed({endpoints({"a"}), endpoints({"b"})}).empty());
    CHECK(agreed({endpoints({"a", "tcp"}), endpoints({"a", "tcp"}, 2)}).empty());
    std::vector<Endpoints> table{endpoints({"a", "tcp"}), endpoints({"a", "tcp"})};
    table[1][0].version = 2; // of "a"
    CHECK(agreed(table) == "tcp");
    for (const std::size_t rank : {0u, 1u}) { // for control alone
        std::vector<Endpoints> narrowed{endpoints({"a", "tcp"}), endpoints({"a", "tcp"})};
        narrowed[rank][0].for_data = false;
        CHECK(agreed(narrowed) == "tcp");
        narrowed[1 - rank][1].for_data = false;
        CHECK(agreed(narrowed).empty());
    }
}

TEST_CASE("why there is no common transport names ranks, what they lack, and versions") {
    std::vector<Endpoints> table{endpoints({"a", "tcp"}), endpoints({"tcp"}), endpoints({"tcp"})};
    table[0][1].for_data = false;
    table[2][0].version = 9;
    const std::vector<std::vector<Lack>> lacks{
        {{"tcp", "it was set so"}}, {{"a", "no device"}}, {}};
    const std::vector<std::string> who{"rank 0 on x", "rank 1 on y", "rank 2 on z"};
    const std::string why = no_common_transport(table, lacks, who);
    CHECK(contains(why, "rank 1 on y cannot use a (no device), nor can 1 more"));
    CHECK(contains(why, "rank 0 on x cannot use tcp (it was set so), nor can 1 more"));
}

TEST_CASE("a job uses the preferred transport that all its ranks can use, however its links tell") {
    for (const auto tells :
         {FakeTransport::Reports::by_descriptors, FakeTransport::Reports::when_armed,
          FakeTransport::Reports::in_memory}) {
        CAPTURE(static_cast<int>(tells));
        const Hosts hosts;
        fake().tells = tells;
        fake().longest = 3000;
        ::test::with_ranks(5, [](stretto_comm comm) {
            for (const std::size_t count : {1u, 1000u, 300'000u})
                check_sums(comm, count);
            stretto_comm half = nullptr;
            ::test::check(stretto_comm_split(comm, stretto_rank(comm) % 2, 0, &half));
            check_sums(half, 5000);
            ::test::check(stretto_finalize(&half));
        });
        // Ranks 0, 2 and 4 are on one host, ranks 1 and 3 on two: of the halves one has links.
        CHECK(fake().opened == 5);
        CHECK(fake().closed == 5);
        CHECK(fake().connected == 5 + 2);
        CHECK(spare().opened == 0);
    }
}

TEST_CASE("where one rank lacks the preferred transport, all take the next") {
    const Hosts hosts;
    spare().lacks = [](int) { return ""; };
    fake().lacks = [](int rank) { return rank == 3 ? "no device" : ""; };
    fake().longest = spare().longest = 3000;
    const auto run = [] {
        ::test::with_ranks(4, [](stretto_comm comm) { check_sums(comm, 1000); });
    };
    run();
    CHECK(fake().opened == 3);
    CHECK(fake().closed == 3);
    CHECK(fake().connected == 0);
    CHECK(spare().connected == 4);
    spare().fails = [](int rank) { return rank == 0 ? "the driver does not answer" : ""; };
    run();
    CHECK(fake().connected == 0);
    CHECK(spare().connected == 4); // as before: TCP
}

TEST_CASE("a setting says what ranks can use") {
    const Hosts hosts;
    const auto run = [] {
        ::test::with_ranks(4, [](stretto_comm comm) { check_sums(comm, 1000); });
        return fake().connected.exchange(0);
    };
    CHECK(run() == 4);
    {
        const With tcp("STRETTO_TRANSPORT", "tcp");
        fake().opened = 0;
        CHECK(run() == 0);
        CHECK(fake().opened == 0);
    }
    const With one("STRETTO_TRANSPORT", "fake");
    CHECK(run() == 4);
}

TEST_CASE("a setting that names no transport is an error with a list, and what was meant") {
    for (const bool several : {false, true}) {
        const Hosts hosts;
        const With other("STRETTO_TRANSPORT", "spar");
        if (!several) {
            unsetenv("STRETTO_ADDR");
            unsetenv("STRETTO_FAKE_HOSTS");
        }
        for (const std::string &error : refusals(2)) {
            CHECK(contains(error, "STRETTO_TRANSPORT is 'spar'"));
            CHECK(contains(error, "auto, fake, spare, ucx, tcp; did you mean spare?"));
        }
    }
}

TEST_CASE("a rank with a setting that makes no sense is named to all others, before the limit") {
    struct Bad {
        const char *variable, *value, *said;
    };
    const Bad all[] = {{"STRETTO_TRANSPORT", "tpc", "did you mean tcp?"},
                       {"STRETTO_IFACE", "eth^0", "STRETTO_IFACE is 'eth^0'"},
                       {"STRETTO_PORTS", "9-1", "STRETTO_PORTS is '9-1'"},
                       {"STRETTO_CONGESTION", "none-such", "STRETTO_CONGESTION is 'none-such'"},
                       {"STRETTO_TIMEOUT", "soon", "STRETTO_TIMEOUT is 'soon'"},
                       {"STRETTO_INIT_TIMEOUT", "soon", "STRETTO_INIT_TIMEOUT is 'soon'"},
                       {"STRETTO_HEAP_BYTES", "much", "STRETTO_HEAP_BYTES is 'much'"},
                       {"STRETTO_HEAP_BYTES", "5000", "a multiple of the page size"},
                       {"STRETTO_RING_BYTES", "9K", "it takes a power of two"}};
    const With limit("STRETTO_INIT_TIMEOUT", "120");
    for (const bool one_host : {false, true})
        for (const auto &[variable, value, said] : all)
            for (const int culprit : {0, 2, 3}) { // rank 0; one beside it; one alone on its host
                CAPTURE(std::string(variable));
                CAPTURE(culprit);
                CAPTURE(one_host);
                // Others go by the same way, and ranks wait for late callers.  Rank 0 looks at the
                // shape of segments before it can be called.
                const std::string name(variable);
                const bool shapes = name == "STRETTO_HEAP_BYTES" || name == "STRETTO_RING_BYTES";
                if (!one_host && culprit != 3 && name != "STRETTO_IFACE" &&
                    (!shapes || culprit != 0))
                    continue;
                std::optional<Hosts> hosts;
                if (!one_host)
                    hosts.emplace();
                const std::string job = ::test::fresh_job();
                const auto start = std::chrono::steady_clock::now();
                const auto codes = ::test::on_bare_processes(4, [&, bad = variable, wrong = value,
                                                                 says = said](int rank) {
                    if (rank == culprit)
                        setenv(bad, wrong, 1);
                    stretto_comm comm = nullptr;
                    const stretto_status status =
                        stretto_init_explicit(rank, 4, job.c_str(), &comm);
                    const std::string told = stretto_last_error();
                    const bool right = status == STRETTO_ERR_ARGUMENT &&
                                       contains(told, "rank " + std::to_string(culprit) + " on ") &&
                                       contains(told, std::string(bad) + " is '" + wrong + "'") &&
                                       contains(told, says);
                    if (!right)
                        std::fprintf(stderr, "rank %d: %s\n", rank, told.c_str());
                    return right ? 0 : 1;
                });
                CHECK(codes == std::vector<int>(4, 0));
                CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(100));
            }
}

TEST_CASE("where no transport is common, every rank is told who lacks what, before the limit") {
    const Hosts hosts;
    const With one("STRETTO_TRANSPORT", "fake"), limit("STRETTO_INIT_TIMEOUT", "120");
    fake().longest = 20'000;
    for (const bool opens : {false, true}) { // it shows at once, or when it is opened
        CAPTURE(opens);
        (opens ? fake().fails : fake().lacks) = [](int rank) {
            return rank == 2 ? "no device; load the driver fk0" : "";
        };
        const auto start = std::chrono::steady_clock::now();
        for (const std::string &error : refusals(4)) {
            CHECK(contains(error, "the ranks have no transport in common"));
            CHECK(contains(error, "rank 2 on 127.0.0.1 cannot use fake (no device; load the driver "
                                  "fk0)"));
        }
        CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(100));
    }
}

// Not under sanitizers: UCX puts hooks of its own into functions that they have replaced.
TEST_CASE("where UCX has no device, ranks that must use it are told so, and others use TCP" *
          doctest::skip(::test::sanitized())) {
    if (transport::no_rdma_device().empty())
        return;
    const Hosts hosts;
    fake().lacks = [](int) { return "none is in this machine"; };
    ::test::with_ranks(4, [](stretto_comm comm) { check_sums(comm, 1000); });
    const With one("STRETTO_TRANSPORT", "ucx"), list("UCX_TLS", "all");
    for (const std::string &error : refusals(3)) {
        CHECK(contains(error, "the ranks have no transport in common"));
        CHECK(contains(error, "rank 0 on 127.0.0.1 cannot use ucx ("));
        CHECK((contains(error, "no device for RDMA on this host has an active port") ||
               contains(error, "cannot load UCX (") || contains(error, "may lock only")));
    }
}

TEST_CASE("on one host nobody needs a transport") {
    const Hosts hosts;
    const With together("STRETTO_FAKE_HOSTS", "a"), one("STRETTO_TRANSPORT", "fake");
    fake().lacks = [](int rank) { return rank == 1 ? "no device" : ""; };
    ::test::with_ranks(3, [](stretto_comm comm) { check_sums(comm, 1000); });
    CHECK(fake().connected == 0);
}
