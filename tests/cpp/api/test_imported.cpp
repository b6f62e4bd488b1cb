// SPDX-License-Identifier: BSD-3-Clause
// Schedules of one's own: those that serve give what the library's algorithms give, those that do
// not are refused for what is wrong with them, and ranks that have different ones find out.
#include "doctest.h"

#include <barrier>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "schedule/json.hpp"
#include "support/calls.hpp"
#include "support/environment.hpp"
#include "support/folder.hpp"
#include "support/job.hpp"
#include "support/schedules.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

using namespace stretto::schedule;
using stretto::algorithms::Algorithm;
using stretto::test::with_programs;
using test::check;
using test::contains;
using test::Folder;

namespace {

Schedule made(Collective collective, const char *name, int ranks, int root = 0) {
    return stretto::algorithms::make(stretto::algorithms::parse(collective, name), ranks, root);
}

Schedule ring(int ranks) {
    return made(Collective::allreduce, "ring", ranks);
}

// Its path.
std::string write(const Folder &folder, const std::string &text, const char *name = "mine.json") {
    const std::string path = folder.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
}

std::string write(const Folder &folder, const Schedule &schedule, const char *name = "mine.json") {
    return write(folder, to_json(schedule), name);
}

std::string rule(const std::string &path) {
    return "allreduce=file:" + path;
}

void force(stretto_comm comm, const std::string &rules) {
    check(stretto_force_algorithm(comm, rules.c_str()));
}

stretto_status sum(stretto_comm comm, std::vector<int> &values) {
    return stretto_allreduce(comm, STRETTO_IN_PLACE, values.data(), values.size(), STRETTO_INT32,
                             STRETTO_SUM);
}

// That all its ranks work together.
void use(stretto_comm comm, std::size_t count = 3) {
    std::vector<int> ones(count, 1);
    check(sum(comm, ones));
    CHECK(ones == std::vector<int>(count, stretto_size(comm)));
}

// Forcing this is refused with these words; then all is as before.
void refused(stretto_comm comm, const std::string &rules, stretto_status status,
             const std::vector<std::string> &words) {
    CAPTURE(rules);
    CHECK(stretto_force_algorithm(comm, rules.c_str()) == status);
    const std::string message = stretto_last_error();
    CAPTURE(message);
    CHECK(contains(message, "rank " + std::to_string(stretto_rank(comm)) + ": "));
    for (const std::string &word : words)
        CHECK(contains(message, word));
    use(comm);
}

// This call is refused with these words, on all ranks, and does no harm.
void call_refused(stretto_comm comm, stretto_status status, const std::vector<std::string> &words) {
    CHECK(status == STRETTO_ERR_UNSUPPORTED);
    const std::string message = stretto_last_error();
    CAPTURE(message);
    for (const std::string &word : words)
        CHECK(contains(message, word));
    use(comm);
}

} // namespace

TEST_CASE("a ring from a file gives the same results as the ring") {
    for (const int ranks : {2, 3, 4, 5}) {
        const Folder folder;
        const std::string rules = rule(write(folder, ring(ranks)));
        const test::With setting("STRETTO_ALGORITHM", rules.c_str());
        test::with_ranks(ranks, [&](stretto_comm comm) {
            const char *name = nullptr;
            check(stretto_chosen_algorithm(comm, "allreduce", 5, STRETTO_INT32, &name));
            CHECK("allreduce=" + std::string(name) == rules);
            for (const std::size_t count : {0, 1, 4, 7, 1000, 100'003})
                use(comm, count);
            std::vector<int> mine(1000), sums(1000);
            for (std::size_t i = 0; i < mine.size(); ++i)
                mine[i] = static_cast<int>(i) * (stretto_rank(comm) + 1);
            check(stretto_allreduce(comm, mine.data(), sums.data(), mine.size(), STRETTO_INT32,
                                    STRETTO_SUM));
            for (std::size_t i = 0; i < sums.size(); ++i)
                CHECK(sums[i] == static_cast<int>(i) * ranks * (ranks + 1) / 2);
            stretto_request request = nullptr;
            std::vector<int> ones(1000, 1);
            check(stretto_iallreduce(comm, STRETTO_IN_PLACE, ones.data(), ones.size(),
                                     STRETTO_INT32, STRETTO_SUM, &request));
            check(stretto_wait(&request));
            CHECK(ones == std::vector<int>(ones.size(), ranks));
        });
    }
}

TEST_CASE("every algorithm from a file gives the bits that it gives by name") {
    constexpr int kRanks = 4, kRoot = 2;
    constexpr std::size_t kCount = 37;
    const Folder folder;
    for (const Algorithm &algorithm : stretto::algorithms::all()) {
        const std::string collective(stretto::schedule::name(algorithm.collective));
        const std::string name(algorithm.name);
        if (algorithm.of_hosts) // by name it goes by the hosts of the ranks
            continue;
        CAPTURE(collective);
        CAPTURE(name);
        const int root = rooted(algorithm.collective) ? kRoot : 0;
        const std::string path =
            write(folder, made(algorithm.collective, name.c_str(), kRanks, root),
                  (collective + "_" + name + ".json").c_str());
        test::with_ranks(kRanks, [&](stretto_comm comm) {
            const auto results = [&](const std::string &rules) {
                force(comm, rules);
                std::vector<float> send(kRanks * kCount), recv(kRanks * kCount, -1);
                for (std::size_t i = 0; i < send.size(); ++i)
                    send[i] = 1 / static_cast<float>(i + 1 + 10 * stretto_rank(comm));
                if (collective == "broadcast")
                    recv = send;
                for (const test::CallKind &kind : test::call_kinds())
                    if (kind.name == collective)
                        check(kind.call(comm, {.send = send.data(),
                                               .recv = recv.data(),
                                               .count = kCount,
                                               .root = root}));
                return recv;
            };
            CHECK(results("file:" + path) == results(collective + "=" + name));
        });
    }
}

TEST_CASE("a file runs for sizes, collectives and names that other rules leave") {
    const Folder folder;
    const std::string path = write(folder, ring(3), "a(1)=b.json");
    test::with_ranks(3, [&](stretto_comm comm) {
        force(comm, "allreduce:4K-8K=file:" + path + ",allreduce=direct,file:" + path + ",bruck");
        const char *name = nullptr;
        check(stretto_chosen_algorithm(comm, "allreduce", 4096, STRETTO_INT8, &name));
        CHECK(std::string(name) == "file:" + path);
        check(stretto_chosen_algorithm(comm, "allreduce", 4095, STRETTO_INT8, &name));
        CHECK(std::string(name) == "direct");
        check(stretto_chosen_algorithm(comm, "allgather", 1, STRETTO_INT8, &name));
        CHECK(std::string(name) == "bruck");
        use(comm, 1024);
        use(comm, 5000);
        stretto_comm twin = nullptr;
        check(stretto_comm_dup(comm, &twin)); // what was set holds there
        check(stretto_chosen_algorithm(twin, "allreduce", 4096, STRETTO_INT8, &name));
        CHECK(std::string(name) == "file:" + path);
        use(twin, 1024);
        check(stretto_finalize(&twin));
    });
}

TEST_CASE("a file that has changed is read when it is forced again") {
    const Folder folder;
    const std::string path = write(folder, ring(3));
    test::with_ranks(3, [&](stretto_comm comm) {
        force(comm, rule(path));
        use(comm);
        check(stretto_barrier(comm));
        if (stretto_rank(comm) == 0)
            write(folder, made(Collective::allreduce, "direct", 3));
        check(stretto_barrier(comm));
        use(comm); // as it was
        force(comm, rule(path));
        use(comm);
        check(stretto_barrier(comm));
        if (stretto_rank(comm) == 0)
            write(folder, "");
        check(stretto_barrier(comm));
        refused(comm, rule(path), STRETTO_ERR_ARGUMENT, {"is no schedule"});
    });
}

TEST_CASE("a file that cannot be read or played is refused with its name and the reason") {
    const Folder folder;
    const std::string four = write(folder, ring(4), "four.json");
    const std::string three = write(folder, ring(3), "three.json");

    Schedule broken = ring(3);
    auto programs = stretto::test::programs_of(broken);
    programs[1].ops.pop_back();
    const std::string dropped = write(folder, with_programs(broken, programs), "dropped.json");
    programs = stretto::test::programs_of(broken);
    std::swap(programs[1].ops[0].blocks, programs[1].ops[2].blocks);
    const std::string wrong = write(folder, with_programs(broken, programs), "wrong.json");

    Schedule choosing = ring(3);
    choosing.token = Token{};
    const std::string token = write(folder, choosing, "token.json");

    const Schedule custom =
        stretto::test::assemble("custom",
                                Contract::custom(3, 1, std::vector<std::optional<Atom>>(3),
                                                 std::vector<std::optional<Goal>>(3)),
                                stretto::test::empty_programs(3));
    const std::string own = write(folder, custom, "custom.json");

    const std::string fifo = folder.path() + "/fifo.json";
    REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);

    test::with_ranks(3, [&](stretto_comm comm) {
        refused(comm, rule(four), STRETTO_ERR_UNSUPPORTED,
                {four, "is for 4 ranks and cannot run on 3", "name an algorithm"});
        refused(comm, rule(dropped), STRETTO_ERR_ARGUMENT,
                {dropped, "is not correct and will not be played", "position", "stretto verify"});
        refused(comm, rule(wrong), STRETTO_ERR_ARGUMENT, {wrong, "is not correct"});
        refused(comm, rule(token), STRETTO_ERR_ARGUMENT, {token, "chooses its end by a token"});
        refused(comm, rule(own), STRETTO_ERR_ARGUMENT, {own, "contract of its own"});
        refused(comm, rule(fifo), STRETTO_ERR_ARGUMENT, {fifo, "no regular file"});
        refused(comm, rule(folder.path()), STRETTO_ERR_ARGUMENT, {"no regular file"});
        refused(comm, rule(folder.path() + "/none.json"), STRETTO_ERR_ARGUMENT,
                {"none.json' cannot be read: No such file", "every rank needs it"});
        refused(comm, "allgather=file:" + three, STRETTO_ERR_ARGUMENT,
                {"a schedule of allreduce", "write allreduce=file:"});
        refused(comm, "ring," + rule(four), STRETTO_ERR_UNSUPPORTED, {four});
        CHECK(stretto_force_algorithm(comm, "allreduce=file:") == STRETTO_ERR_ARGUMENT);
        CHECK(contains(stretto_last_error(), "names no file"));
        use(comm);
    });
}

TEST_CASE("a call that a schedule cannot run is refused by all ranks alike, and they continue") {
    const Folder folder;
    const std::string all = write(folder, ring(3), "all.json");
    const std::string tree = write(folder, made(Collective::broadcast, "binomial", 3, 2));
    const std::string parts = write(folder, made(Collective::allgather, "ring", 3), "parts.json");
    Schedule uneven = made(Collective::allgather, "ring", 3);
    uneven.partition = Partition::weighted({1, 2, 1});
    const std::string weighted = write(folder, uneven, "weighted.json");
    Schedule equal = ring(3);
    equal.partition = Partition::equal(3);
    const std::string multiples = write(folder, equal, "equal.json");
    const std::string arrival = write(folder, stretto::test::direct(3), "arrival.json");

    const auto keep_last = [](const void *, void *, std::size_t, stretto_dtype, void *) {};
    stretto_op in_order = STRETTO_SUM;
    check(stretto_op_create(keep_last, nullptr, 0, &in_order));
    test::with_ranks(3, [&](stretto_comm comm) {
        std::vector<int> mine(3, 1), theirs(9);
        force(comm, "file:" + all);
        call_refused(
            comm,
            stretto_allreduce(comm, STRETTO_IN_PLACE, mine.data(), 3, STRETTO_INT32, in_order),
            {all, "does not keep the order of ranks", "algorithms that can run: one_shot"});
        stretto_request request = nullptr;
        call_refused(comm,
                     stretto_iallreduce(comm, STRETTO_IN_PLACE, mine.data(), 3, STRETTO_INT32,
                                        in_order, &request),
                     {all, "does not keep the order of ranks"});
        CHECK(request == nullptr);
        check(stretto_set_reproducible(comm, STRETTO_REPRODUCIBLE_RUN));
        use(comm);
        check(stretto_set_reproducible(comm, STRETTO_REPRODUCIBLE_FULL));
        const stretto_status not_canonical = sum(comm, mine);
        CHECK(not_canonical == STRETTO_ERR_UNSUPPORTED);
        CHECK(contains(stretto_last_error(), "is not the canonical tree"));
        check(stretto_set_reproducible(comm, STRETTO_REPRODUCIBLE_OFF));

        force(comm, "file:" + tree);
        call_refused(comm, stretto_broadcast(comm, mine.data(), 3, STRETTO_INT32, 1),
                     {tree, "has root 2, the call 1"});
        check(stretto_broadcast(comm, mine.data(), 3, STRETTO_INT32, 2));

        force(comm, "file:" + parts);
        check(stretto_allgather(comm, mine.data(), theirs.data(), 3, STRETTO_INT32));
        const std::size_t counts[] = {1, 2, 3};
        call_refused(comm,
                     stretto_allgatherv(comm, mine.data(), theirs.data(), counts, STRETTO_INT32),
                     {parts, "unequal shares"});
        force(comm, "file:" + weighted);
        call_refused(comm, stretto_allgather(comm, mine.data(), theirs.data(), 3, STRETTO_INT32),
                     {weighted, "do not cut 9 elements into equal parts"});

        force(comm, "file:" + multiples);
        use(comm, 300);
        std::vector<int> four(4, 1);
        CHECK(sum(comm, four) == STRETTO_ERR_UNSUPPORTED);
        CHECK(contains(stretto_last_error(), "4 elements are not a multiple of 3"));
        use(comm, 300);

        force(comm, "file:" + arrival);
        use(comm);
        check(stretto_set_reproducible(comm, STRETTO_REPRODUCIBLE_RUN));
        CHECK(sum(comm, mine) == STRETTO_ERR_UNSUPPORTED);
        CHECK(contains(stretto_last_error(), "depends on the order of arrival"));
        force(comm, "auto");
        use(comm);
    });
    check(stretto_op_free(in_order));
}

TEST_CASE("a schedule that is right and that the engine cannot play is refused") {
    // What position 1 ends with may be written when all copies of what was there are made.
    constexpr Slot kCopies = 70'000;
    Schedule linear = stretto::test::linear(2);
    auto programs = stretto::test::programs_of(linear);
    std::vector<Op> &ops = programs[1].ops;
    for (Slot slot = 1; slot <= kCopies; ++slot)
        ops.insert(ops.end() - 1, copy({0}, kWork, slot));
    const Folder folder;
    const std::string path = write(folder, with_programs(linear, programs));
    test::with_ranks(2, [&](stretto_comm comm) {
        force(comm, rule(path));
        std::vector<int> ones(10, 1);
        CHECK(sum(comm, ones) == STRETTO_ERR_UNSUPPORTED);
        CHECK(contains(stretto_last_error(), path));
        CHECK(contains(stretto_last_error(), "cannot be played: schedule file:"));
        CHECK(contains(stretto_last_error(), "waits for 70"));
        force(comm, "auto");
        use(comm);
    });
}

namespace {

// Rank 0 reads one schedule, the others another at the same place.
void with_different(const Schedule &first, const Schedule &others, int ranks,
                    const std::function<void(stretto_comm)> &body) {
    const Folder folder;
    const std::string path = write(folder, first);
    std::barrier meeting(ranks); // one of the communicator could end with what fails in `body`
    test::with_ranks(ranks, [&](stretto_comm comm) {
        const std::string rules = "file:" + path;
        if (stretto_rank(comm) == 0)
            force(comm, rules);
        meeting.arrive_and_wait();
        if (stretto_rank(comm) == 1)
            write(folder, others);
        meeting.arrive_and_wait();
        if (stretto_rank(comm) != 0)
            force(comm, rules);
        body(comm);
    });
}

} // namespace

TEST_CASE("ranks whose files differ find out in the first call") {
    const test::With patience("STRETTO_TIMEOUT", "0"); // nobody waits for a timeout
    Schedule renamed = ring(3);
    renamed.name = "another";
    for (const Schedule &other : {made(Collective::allreduce, "direct", 3), renamed})
        with_different(ring(3), other, 3, [](stretto_comm comm) {
            std::vector<int> ones(10, 1);
            CHECK(sum(comm, ones) == STRETTO_ERR_MISMATCH);
            CHECK(contains(stretto_last_error(), "by a schedule from a file"));
        });
}

TEST_CASE("if one of the files cannot run the call, the other ranks get an error too") {
    const test::With patience("STRETTO_TIMEOUT", "0");
    for (const int root : {0, 1})
        with_different(made(Collective::broadcast, "binomial", 3, 0),
                       made(Collective::broadcast, "binomial", 3, 1), 3, [&](stretto_comm comm) {
                           std::vector<int> values(10, 1);
                           const bool refuses = (stretto_rank(comm) == 0) != (root == 0);
                           const stretto_status status = stretto_broadcast(
                               comm, values.data(), values.size(), STRETTO_INT32, root);
                           // Who only sends may be done before it learns.
                           if (refuses)
                               CHECK(status == STRETTO_ERR_UNSUPPORTED);
                           else if (status != STRETTO_OK)
                               CHECK(status == STRETTO_ERR_MISMATCH);
                           CHECK(stretto_barrier(comm) != STRETTO_OK);
                       });
}

TEST_CASE("a rank that could not read it and calls all the same is found out") {
    const test::With patience("STRETTO_TIMEOUT", "0");
    const Folder folder;
    const std::string path = write(folder, ring(2));
    test::with_ranks(2, [&](stretto_comm comm) {
        if (stretto_rank(comm) == 0)
            force(comm, rule(path));
        check(stretto_barrier(comm));
        if (stretto_rank(comm) == 1) {
            std::filesystem::remove(path);
            CHECK(stretto_force_algorithm(comm, rule(path).c_str()) == STRETTO_ERR_ARGUMENT);
        }
        std::vector<int> ones(10, 1);
        CHECK(sum(comm, ones) == STRETTO_ERR_MISMATCH);
    });
}

TEST_CASE("by the environment, for another number of ranks") {
    const Folder folder;
    const std::string rules = rule(write(folder, ring(3)));
    const test::With setting("STRETTO_ALGORITHM", rules.c_str());
    const std::string job = test::fresh_job();
    test::on_threads(2, [&](int rank) {
        stretto_comm comm = nullptr;
        CHECK(stretto_init_explicit(rank, 2, job.c_str(), &comm) == STRETTO_ERR_UNSUPPORTED);
        CHECK(contains(stretto_last_error(), "is for 3 ranks and cannot run on 2"));
        CHECK(comm == nullptr);
    });
    test::with_ranks(3, [](stretto_comm comm) {
        stretto_comm child = nullptr;
        CHECK(stretto_comm_split(comm, stretto_rank(comm) == 0 ? 1 : 0, 0, &child) ==
              STRETTO_ERR_UNSUPPORTED);
        CHECK(contains(stretto_last_error(), "is for 3 ranks and cannot run on"));
        use(comm); // the parent is whole
    });
}
