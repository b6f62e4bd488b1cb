// SPDX-License-Identifier: BSD-3-Clause
// Compositions on real ranks, of which some share a host as far as that can be told.
#include "doctest.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/stretto.h"
#include "support/dtypes.hpp"
#include "support/environment.hpp"
#include "support/exact.hpp"
#include "support/hosts.hpp"
#include "support/numbers.hpp"
#include "support/oracle.hpp"
#include "support/survivors.hpp"
#include "support/text.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"

using stretto::algorithms::Choice;
using stretto::schedule::Collective;
using test::check;
using test::contains;

namespace {

constexpr const char *kIntra[] = {"direct", "ring", "circulant", "generalized",
                                  "recursive_halving"};
constexpr const char *kInter[] = {"ring", "direct", "recursive_doubling", "circulant",
                                  "generalized"};
// Hosts by turns of ranks: dealt out, ragged, neighbours of four, each alone, one for all.
constexpr const char *kHosts[] = {"a,b", "a,b,a", "a,a,a,b,b,b,b", "a,b,c,d,e,f,g,h,i,j,k,l,m",
                                  "a"};

Choice choice(const std::string &text) {
    return stretto::algorithms::parse(Collective::allreduce, text);
}

std::string drawn(std::minstd_rand &random) {
    const std::string leaders[] = {"", ", leaders=1", ", leaders=2"};
    if (random() % 4 == 0)
        return "salar(chunks=" + std::to_string(1 + random() % 8) +
               ", segments=" + std::to_string(1 + random() % 4) + ")";
    const char *const inter = kInter[random() % 5], *const intra = kIntra[random() % 5];
    return std::string("hierarchical(inter=") + inter + ", intra=" + intra + leaders[random() % 3] +
           (random() % 4 == 0 ? ", level=cache" : "") + ")";
}

// Runs the ranks of a job that is on the hosts which the environment names.
void on_hosts(const char *hosts, int ranks, const std::function<void(stretto_comm)> &body) {
    const test::With named("STRETTO_FAKE_HOSTS", hosts);
    const test::With secret("STRETTO_SECRET", "of-tests-only-0123456789abcdef-0123");
    const test::MeetingPlace place;
    test::with_ranks(ranks, body);
}

// An operation that takes the last operand, which is the last rank's if they are in order.
void keep_last(const void *, void *, std::size_t, stretto_dtype, void *) {}

} // namespace

TEST_CASE("random pairs, counts, types and buffers on hosts of all kinds") {
    const int calls = test::full_tier() ? 60 : test::sampled() ? 6 : 20;
    int nth = 0;
    for (const char *hosts : kHosts)
        for (const int ranks : {2, 3, 5, 7, 8, 13}) {
            if (test::sampled() && (ranks == 7 || ranks == 13))
                continue;
            const int first = ++nth * 1000;
            on_hosts(hosts, ranks, [&](stretto_comm comm) {
                std::minstd_rand random(static_cast<unsigned>(first)); // the same on all ranks
                for (int turn = 0; turn < calls; ++turn) {
                    const std::string algorithm = drawn(random);
                    check(stretto_force_algorithm(comm, algorithm.c_str()));
                    const test::Pair &pair = test::pairs()[random() % test::pairs().size()];
                    test::Call call;
                    constexpr std::size_t kCounts[] = {0, 1, 2, 7, 67, 1009, 4'099, 70'001};
                    call.count = kCounts[random() % 8];
                    call.dtype = pair.dtype;
                    call.op = pair.op;
                    call.in_place = random() % 2 == 0;
                    call.shared = random() % 3 == 0;
                    call.salt = static_cast<std::size_t>(first + turn);
                    const std::string wrong = test::play(comm, call);
                    CHECK_MESSAGE(wrong == "", hosts, ", rank ", stretto_rank(comm), " of ", ranks,
                                  ", ", algorithm, ", ", label(call), ": ", wrong);
                }
            });
        }
}

TEST_CASE("all ranks have the same bits where the algorithm between hosts gives them") {
    for (const char *hosts : {"a,b,a", "a,a,a,b,b,b,b"})
        for (const int ranks : {3, 5, 8, 13})
            on_hosts(hosts, ranks, [&](stretto_comm comm) {
                constexpr std::size_t kCount = 1009;
                const auto rank = static_cast<std::size_t>(stretto_rank(comm));
                for (const char *inter : kInter)
                    for (const char *intra : {"direct", "ring"}) {
                        const std::string algorithm =
                            std::string("hierarchical(inter=") + inter + ", intra=" + intra + ")";
                        const Choice given = choice(algorithm);
                        if (!given.algorithm->consistent(test::problem_of(given, ranks)))
                            continue;
                        check(stretto_force_algorithm(comm, algorithm.c_str()));
                        std::vector<float> send(kCount), recv(kCount);
                        for (std::size_t i = 0; i < kCount; ++i)
                            send[i] = 1.0f / static_cast<float>(3 + rank * 7 + i % 101);
                        check(stretto_allreduce(comm, send.data(), recv.data(), kCount,
                                                STRETTO_FLOAT32, STRETTO_SUM));
                        std::vector<std::uint32_t> bits(kCount), low(kCount), high(kCount);
                        std::memcpy(bits.data(), recv.data(), kCount * sizeof(float));
                        check(stretto_allreduce(comm, bits.data(), low.data(), kCount,
                                                STRETTO_UINT32, STRETTO_MIN));
                        check(stretto_allreduce(comm, bits.data(), high.data(), kCount,
                                                STRETTO_UINT32, STRETTO_MAX));
                        CHECK_MESSAGE(low == high, algorithm, " on ", hosts);
                    }
            });
}

TEST_CASE("an operation that does not commute is refused where operands do not stay in order") {
    stretto_op last = STRETTO_SUM;
    check(stretto_op_create(keep_last, nullptr, 0, &last));
    // Neighbours share a host, or they do not.
    for (const char *hosts : {"a,a,a,b,b,b", "a,b"})
        on_hosts(hosts, 6, [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            for (const char *algorithm :
                 {"hierarchical(inter=direct)", "hierarchical(inter=direct, leaders=1)",
                  "hierarchical(inter=recursive_doubling, intra=recursive_halving)",
                  "hierarchical(inter=ring)", "hierarchical(inter=direct, intra=circulant)",
                  "salar(chunks=3, segments=2)"}) {
                const Choice given = choice(algorithm);
                const bool keeps = given.algorithm->order_preserving(test::problem_of(given, 6));
                check(stretto_force_algorithm(comm, algorithm));
                std::vector<std::int64_t> send(101), recv(101, -1);
                for (std::size_t i = 0; i < send.size(); ++i)
                    send[i] = rank * 1000 + static_cast<std::int64_t>(i);
                const stretto_status status = stretto_allreduce(comm, send.data(), recv.data(),
                                                                send.size(), STRETTO_INT64, last);
                CAPTURE(algorithm);
                CAPTURE(std::string(hosts));
                CHECK(status == (keeps ? STRETTO_OK : STRETTO_ERR_UNSUPPORTED));
                if (!keeps)
                    CHECK(contains(stretto_last_error(), "does not keep the order of ranks"));
                for (std::size_t i = 0; keeps && i < recv.size(); ++i)
                    REQUIRE(recv[i] == 5000 + static_cast<std::int64_t>(i));
            }
        });
    check(stretto_op_free(last));
}

TEST_CASE("the library chooses a composition where hosts have several ranks") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    for (const char *hosts : {"a,a,a,b,c,c", "a,b,c,d,e,f"})
        on_hosts(hosts, 6, [&](stretto_comm comm) {
            const char *name = nullptr;
            check(stretto_chosen_algorithm(comm, "allreduce", 1'000'000, STRETTO_FLOAT32, &name));
            CAPTURE(std::string(name));
            const bool composed = contains(name, "hierarchical") || contains(name, "salar");
            CHECK(composed == (std::string_view(hosts) == "a,a,a,b,c,c"));
            std::vector<float> values(1'000'003);
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = static_cast<float>(stretto_rank(comm) + static_cast<int>(i % 1009));
            check(stretto_allreduce(comm, STRETTO_IN_PLACE, values.data(), values.size(),
                                    STRETTO_FLOAT32, STRETTO_SUM));
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < values.size(); ++i)
                wrong += values[i] != static_cast<float>(15 + 6 * static_cast<int>(i % 1009));
            CHECK(wrong == 0);
        });
}

TEST_CASE("what cannot run between hosts is refused") {
    on_hosts("a,b,c", 6, [](stretto_comm comm) {
        check(stretto_force_algorithm(comm, "hierarchical(inter=hybrid)")); // of 6 hosts, perhaps
        std::int32_t send = 1, recv = 0;
        CHECK(stretto_allreduce(comm, &send, &recv, 1, STRETTO_INT32, STRETTO_SUM) ==
              STRETTO_ERR_UNSUPPORTED);
        CHECK(contains(stretto_last_error(), "inter=hybrid, which cannot run on 3 ranks"));
        check(stretto_force_algorithm(comm, "hierarchical"));
        check(stretto_allreduce(comm, &send, &recv, 1, STRETTO_INT32, STRETTO_SUM));
        CHECK(recv == 6);
    });
}
