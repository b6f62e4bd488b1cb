// SPDX-License-Identifier: BSD-3-Clause
// Ranks that fork: a child can do nothing in the name of its parent, and takes nothing from it.
#include "doctest.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/calls.hpp"
#include "support/processes.hpp"
#include "support/shared_counter.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

// Gives the exit code of `body` in a child; as of on_bare_processes.
int in_child(const std::function<int()> &body) {
    const pid_t child = fork();
    if (child == 0)
        std::exit(body()); // with all handlers and destructors
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// What rank 0 has at hand when it forks.
struct Parent {
    stretto_comm comm;
    stretto_request request = nullptr;
    void *memory = nullptr;
};

using Calls = std::vector<std::pair<const char *, std::function<stretto_status()>>>;

// Every function that uses a communicator, but for those that only look at a number.
Calls calls_of(Parent &parent) {
    static double a[64], b[64];
    static const std::size_t counts[] = {1, 1, 1};
    static const int ranks[] = {0, 1, 2};
    static stretto_comm other;
    static stretto_request request;
    static void *memory;
    static const char *text;
    static std::size_t count;
    static std::int64_t offset;
    static stretto_message_queue queue;
    static std::uint64_t completed;
    static double number;
    static int known;
    const stretto_comm comm = parent.comm;
    const auto type = STRETTO_FLOAT64;
    const auto sum = STRETTO_SUM;
    Calls calls = {
        {"alloc", [=] { return stretto_alloc(comm, 8, &memory); }},
        {"free", [=, &parent] { return stretto_free(comm, parent.memory); }},
        {"allgatherv", [=] { return stretto_allgatherv(comm, a, b, counts, type); }},
        {"reduce_scatterv", [=] { return stretto_reduce_scatterv(comm, a, b, counts, type, sum); }},
        {"gatherv", [=] { return stretto_gatherv(comm, a, 1, b, counts, nullptr, type, 0); }},
        {"scatterv", [=] { return stretto_scatterv(comm, a, counts, nullptr, b, 1, type, 0); }},
        {"alltoallv",
         [=] { return stretto_alltoallv(comm, a, counts, nullptr, b, counts, nullptr, type); }},
        {"iallreduce", [=] { return stretto_iallreduce(comm, a, b, 1, type, sum, &request); }},
        {"allreduce_batch", [=] { return stretto_allreduce_batch(comm, nullptr, 0, type, sum); }},
        {"iallreduce_batch",
         [=] { return stretto_iallreduce_batch(comm, nullptr, 0, type, sum, &request); }},
        {"ireduce", [=] { return stretto_ireduce(comm, a, b, 1, type, sum, 0, &request); }},
        {"ibroadcast", [=] { return stretto_ibroadcast(comm, a, 1, type, 0, &request); }},
        {"ireduce_scatter",
         [=] { return stretto_ireduce_scatter(comm, a, b, 1, type, sum, &request); }},
        {"iallgather", [=] { return stretto_iallgather(comm, a, b, 1, type, &request); }},
        {"igather", [=] { return stretto_igather(comm, a, b, 1, type, 0, &request); }},
        {"iscatter", [=] { return stretto_iscatter(comm, a, b, 1, type, 0, &request); }},
        {"ialltoall", [=] { return stretto_ialltoall(comm, a, b, 1, type, &request); }},
        {"iallgatherv", [=] { return stretto_iallgatherv(comm, a, b, counts, type, &request); }},
        {"ireduce_scatterv",
         [=] { return stretto_ireduce_scatterv(comm, a, b, counts, type, sum, &request); }},
        {"igatherv",
         [=] { return stretto_igatherv(comm, a, 1, b, counts, nullptr, type, 0, &request); }},
        {"iscatterv",
         [=] { return stretto_iscatterv(comm, a, counts, nullptr, b, 1, type, 0, &request); }},
        {"ialltoallv",
         [=] {
             return stretto_ialltoallv(comm, a, counts, nullptr, b, counts, nullptr, type,
                                       &request);
         }},
        {"ibarrier", [=] { return stretto_ibarrier(comm, &request); }},
        {"allreduce_init",
         [=] { return stretto_allreduce_init(comm, a, b, 1, type, sum, &request); }},
        {"send", [=] { return stretto_send(comm, a, 1, type, 0, 0); }},
        {"recv", [=] { return stretto_recv(comm, a, 1, type, 0, 0, nullptr); }},
        {"isend", [=] { return stretto_isend(comm, a, 1, type, 0, 0, &request); }},
        {"irecv", [=] { return stretto_irecv(comm, a, 1, type, 0, 0, nullptr, &request); }},
        {"probe", [=] { return stretto_probe(comm, 0, 0, nullptr); }},
        {"iprobe", [=] { return stretto_iprobe(comm, 0, 0, &known, nullptr); }},
        {"force_algorithm", [=] { return stretto_force_algorithm(comm, "ring"); }},
        {"set_reproducible",
         [=] { return stretto_set_reproducible(comm, STRETTO_REPRODUCIBLE_RUN); }},
        {"set_mixed", [=] { return stretto_set_mixed(comm, 1); }},
        {"stats", [=] { return stretto_stats(comm, nullptr, 0, &count); }},
        {"stats_reset", [=] { return stretto_stats_reset(comm); }},
        {"chosen_algorithm",
         [=] { return stretto_chosen_algorithm(comm, "allreduce", 1, type, &text); }},
        {"comm_split", [=] { return stretto_comm_split(comm, 0, 0, &other); }},
        {"comm_dup", [=] { return stretto_comm_dup(comm, &other); }},
        {"comm_create", [=] { return stretto_comm_create(comm, ranks, 3, 0, &other); }},
        {"comm_abort", [=] { return stretto_comm_abort(comm, "x"); }},
        {"comm_shrink", [=] { return stretto_comm_shrink(comm, &completed, &other); }},
        {"settings", [=] { return stretto_settings(comm, nullptr, 0, &count); }},
        {"probe_memory", [=] { return stretto_probe_memory(comm, &number); }},
        {"network_profile", [=] { return stretto_network_profile(comm, &text); }},
        {"message_queues", [=] { return stretto_message_queues(comm, &queue, &queue); }},
        {"clock_offset", [=] { return stretto_clock_offset(comm, &offset, &known); }},
        {"tuning_candidates",
         [=] { return stretto_tuning_candidates(comm, "allreduce", 1, type, &text); }},
        {"phase_begin", [=] { return stretto_phase_begin(comm); }},
        {"edge", [=] { return stretto_edge(comm, 0.5); }},
        {"set_timeout", [=] { return stretto_set_timeout(comm, 1); }},
        {"set_stall_callback",
         [=] { return stretto_set_stall_callback(comm, nullptr, nullptr, 0, 1); }},
    };
    if (parent.request != nullptr)
        calls.insert(
            calls.end(),
            {{"start", [&parent] { return stretto_start(parent.request); }},
             {"wait", [&parent] { return stretto_wait(&parent.request); }},
             {"wait_for", [&parent] { return stretto_wait_for(&parent.request, 1); }},
             {"test", [&parent] { return stretto_test(&parent.request, &known); }},
             {"notify",
              [&parent] {
                  return stretto_request_notify(
                      parent.request, [](stretto_status, const char *, void *) {}, nullptr);
              }},
             {"stream_wait", [&parent] { return stretto_stream_wait(nullptr, parent.request); }},
             {"free", [&parent] { return stretto_request_free(&parent.request); }}});
    for (const test::CallKind &kind : test::call_kinds())
        calls.emplace_back(kind.name, [comm, call = kind.call] {
            return call(comm, {a, b, 1, STRETTO_FLOAT64, STRETTO_SUM, 0});
        });
    return calls;
}

// Of a child: how many calls were anything but an error that says so.
int not_refused(Parent &parent) {
    int wrong = 0;
    const std::string who =
        "was forked from rank " + std::to_string(stretto_rank(parent.comm)) + " of job '";
    for (const auto &[name, call] : calls_of(parent)) {
        const stretto_status status = call();
        if (status == STRETTO_ERR_UNSUPPORTED && test::contains(stretto_last_error(), who))
            continue;
        std::fprintf(stderr, "%s in a child: %s, %s\n", name, stretto_status_name(status),
                     stretto_last_error());
        ++wrong;
    }
    return wrong;
}

bool sums_are_right(stretto_comm comm, int calls) {
    const int rank = stretto_rank(comm), size = stretto_size(comm);
    for (int call = 0; call < calls; ++call) {
        std::int64_t values[3];
        for (int i = 0; i < 3; ++i)
            values[i] = 100 * call + 10 * i + rank;
        test::check(
            stretto_allreduce(comm, STRETTO_IN_PLACE, values, 3, STRETTO_INT64, STRETTO_SUM));
        for (int i = 0; i < 3; ++i)
            if (values[i] != size * (100 * call + 10 * i) + size * (size - 1) / 2)
                return false;
    }
    return true;
}

const std::vector<int> kAllWell = {0, 0, 0};

} // namespace

TEST_CASE("in a child every call is an error, and the job goes on") {
    CHECK(test::on_processes(3, [](stretto_comm comm) {
              Parent parent{comm};
              double x = 1, y = 0;
              test::check(stretto_alloc(comm, 8, &parent.memory));
              test::check(stretto_allreduce_init(comm, &x, &y, 1, STRETTO_FLOAT64, STRETTO_SUM,
                                                 &parent.request));
              auto *const shared = static_cast<std::int64_t *>(parent.memory);
              *shared = 4711;
              const int wrong = in_child([&] {
                  const int found = not_refused(parent);
                  return stretto_finalize(&comm) == STRETTO_OK && comm == nullptr ? found : 99;
              });
              if (wrong != 0 || *shared != 4711 || !sums_are_right(comm, 50))
                  return 1;
              test::check(stretto_start(parent.request));
              test::check(stretto_wait(&parent.request));
              test::check(stretto_free(comm, parent.memory));
              test::check(stretto_finalize(&comm));
              return y == 3 ? 0 : 2;
          }) == kAllWell);
}

TEST_CASE("a child may be forked while calls and messages are in flight, and by any thread") {
    CHECK(test::on_processes(3, [](stretto_comm comm) {
              const int rank = stretto_rank(comm);
              std::vector<std::int64_t> in(1 << 16, rank + 1), out(in.size(), -1);
              std::int64_t sent = rank, got = -1;
              stretto_request call = nullptr, message = nullptr;
              test::check(stretto_irecv(comm, &got, 1, STRETTO_INT64, (rank + 1) % 3, 5, nullptr,
                                        &message));
              test::check(stretto_iallreduce(comm, in.data(), out.data(), in.size(), STRETTO_INT64,
                                             STRETTO_SUM, &call));
              int codes[2] = {-1, -1};
              const auto child = [&] {
                  Parent parent{comm, call};
                  return not_refused(parent);
              };
              std::thread other([&] { codes[0] = in_child(child); });
              codes[1] = in_child([&] { return child() + (stretto_finalize(&comm) != 0); });
              other.join();
              test::check(stretto_send(comm, &sent, 1, STRETTO_INT64, (rank + 2) % 3, 5));
              test::check(stretto_wait(&message));
              test::check(stretto_wait(&call));
              for (const std::int64_t each : out)
                  if (each != 6)
                      return 1;
              if (got != (rank + 1) % 3 || !sums_are_right(comm, 50))
                  return 2;
              test::check(stretto_finalize(&comm));
              return codes[0] != 0 || codes[1] != 0 ? 3 : 0;
          }) == kAllWell);
}

TEST_CASE("a child joins a job of its own, but not that of its parent") {
    const std::string job = test::fresh_job(), others = test::fresh_job();
    CHECK(test::on_bare_processes(3, [&](int rank) {
              stretto_comm comm = nullptr;
              test::check(stretto_init_explicit(rank, 3, job.c_str(), &comm));
              const int code = in_child([&] {
                  stretto_comm own = nullptr;
                  if (stretto_init_explicit(rank, 3, job.c_str(), &own) !=
                          STRETTO_ERR_UNSUPPORTED ||
                      own != nullptr || !test::contains(stretto_last_error(), "was forked from"))
                      return 1;
                  test::check(stretto_init_explicit(rank, 3, others.c_str(), &own));
                  if (!sums_are_right(own, 20))
                      return 2;
                  const int grandchild = in_child([&] {
                      Parent child{own};
                      return not_refused(child);
                  });
                  test::check(stretto_finalize(&own));
                  return grandchild == 0 ? 0 : 3;
              });
              if (code != 0 || !sums_are_right(comm, 20))
                  return 10 + code;
              test::check(stretto_finalize(&comm));
              return 0;
          }) == kAllWell);
}

// Without the end of the wait the test would hang: who is silent is waited for without end.
TEST_CASE("the death of a rank is seen while its child lives") {
    setenv("STRETTO_TIMEOUT", "0", 1);
    setenv("STRETTO_PEER_TIMEOUT", "0", 1);
    int pipe_of_child[2];
    REQUIRE(pipe(pipe_of_child) == 0);
    test::SharedCounter told;
    CHECK(test::on_processes(3, [&](stretto_comm comm) {
              close(pipe_of_child[1]);
              if (stretto_rank(comm) != 1) {
                  std::int64_t value = 1;
                  const stretto_status status = stretto_allreduce(comm, STRETTO_IN_PLACE, &value, 1,
                                                                  STRETTO_INT64, STRETTO_SUM);
                  const bool right = status == STRETTO_ERR_PEER &&
                                     test::contains(stretto_last_error(), "rank 1 has died");
                  ++*told; // a rank whose process ends before is dead, too
                  told.await(2);
                  return right ? 0 : 1;
              }
              char nothing;
              if (fork() == 0) { // until the whole test has ended
                  (void)!read(pipe_of_child[0], &nothing, 1);
                  _exit(0);
              }
              raise(SIGKILL);
              return 0;
          }) == std::vector<int>{0, -SIGKILL, 0});
    close(pipe_of_child[0]);
    close(pipe_of_child[1]);
    unsetenv("STRETTO_TIMEOUT");
    unsetenv("STRETTO_PEER_TIMEOUT");
}

// Each thread of the parent holds a lock of the whole process now and then, and the children want
// all of them.  If fork() does not wait for a lock, a child hangs in it until its alarm.
TEST_CASE("a child joins a job and makes ops while threads of its parent do so") {
    if (std::getenv("STRETTO_FAKE_HOSTS") != nullptr)
        return; // jobs of one rank each, which all would meet at one address
    const auto make_op = [] {
        const int factor = 3;
        stretto_op op{};
        return stretto_op_create_premul_sum(&factor, STRETTO_INT32, &op) == STRETTO_OK &&
               stretto_op_free(op) == STRETTO_OK;
    };
    const auto join = [] {
        stretto_comm comm = nullptr;
        return stretto_init_explicit(0, 1, test::fresh_job().c_str(), &comm) == STRETTO_OK &&
               stretto_finalize(&comm) == STRETTO_OK;
    };
    std::atomic<bool> over{false};
    std::atomic<int> failed{0};
    std::thread makes_ops([&] {
        while (!over)
            failed += make_op() ? 0 : 1;
    });
    std::thread joins([&] {
        while (!over)
            failed += join() ? 0 : 1;
    });
    int wrong = 0;
    for (int child = 0; child < 100 && wrong == 0; ++child)
        wrong += in_child([&] {
                     alarm(60);
                     return make_op() && join() ? 0 : 1;
                 }) == 0
                     ? 0
                     : 1;
    over = true;
    makes_ops.join();
    joins.join();
    CHECK(wrong == 0);
    CHECK(failed == 0);
}

TEST_CASE("no function that uses a communicator or a request is left out") {
    const std::set<std::string> exempt = {
        "stretto_init", "stretto_init_explicit", "stretto_init_by_exchange", "stretto_finalize",
        "stretto_rank", "stretto_size",          "stretto_comm_parent_rank"};
    const std::filesystem::path root(STRETTO_SOURCE);
    const auto text_of = [](const std::filesystem::path &path) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    };
    const std::string tests = text_of(root / "tests/cpp/support/calls.hpp") +
                              text_of(root / "tests/cpp/api/test_fork.cpp");
    int functions = 0;
    for (const auto &each : std::filesystem::directory_iterator(root / "include/stretto")) {
        const std::string header = text_of(each.path());
        for (std::size_t at = 0; (at = header.find("STRETTO_API ", at)) != std::string::npos;
             ++at) {
            const std::size_t end = header.find('(', at), begin = header.rfind("stretto_", end);
            const std::string name = header.substr(begin, end - begin);
            const std::string arguments = header.substr(end, header.find(')', end) - end);
            if (!test::contains(arguments, "stretto_comm ") &&
                !test::contains(arguments, "stretto_request "))
                continue;
            CAPTURE(name);
            CHECK((exempt.contains(name) || test::contains(tests, name + "(")));
            ++functions;
        }
    }
    CHECK(functions > 55);
}
