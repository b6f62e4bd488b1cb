// SPDX-License-Identifier: BSD-3-Clause
// Functions of the program that throw anything, and threads that are cancelled in a call: neither
// goes through the library, and no process ends for it.
#include "doctest.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

#include "support/processes.hpp"
#include "support/shared_counter.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

struct NoException {};

bool sum_is_right(stretto_comm comm) {
    std::int64_t value = 10 + stretto_rank(comm);
    const int size = stretto_size(comm);
    test::check(stretto_allreduce(comm, STRETTO_IN_PLACE, &value, 1, STRETTO_INT64, STRETTO_SUM));
    return value == 10 * size + size * (size - 1) / 2;
}

} // namespace

TEST_CASE("an exchange that throws is an error of init") {
    const auto throws_number = [](const void *, void *, std::size_t, void *) -> int { throw 17; };
    const auto throws_error = [](const void *, void *, std::size_t, void *) -> int {
        throw std::runtime_error("no way");
    };
    stretto_comm comm = nullptr;
    CHECK(stretto_init_by_exchange(0, 2, throws_number, nullptr, &comm) == STRETTO_ERR_OPERATION);
    CHECK(test::contains(stretto_last_error(), "no std::exception"));
    CHECK(stretto_init_by_exchange(0, 2, throws_error, nullptr, &comm) == STRETTO_ERR_INTERNAL);
    CHECK(test::contains(stretto_last_error(), "no way"));
    CHECK(comm == nullptr);
}

TEST_CASE("a stall callback that throws is dropped, and the call ends well") {
    for (const bool standard : {false, true}) {
        std::atomic<int> raised{0};
        test::with_ranks(3, [&](stretto_comm comm) {
            struct Context {
                std::atomic<int> &raised;
                bool standard;
            } context{raised, standard};
            test::check(stretto_set_stall_callback(
                comm,
                [](const stretto_stall *, void *with) {
                    const Context &its = *static_cast<Context *>(with);
                    ++its.raised;
                    if (its.standard)
                        throw std::runtime_error("in a stall callback");
                    throw NoException();
                },
                &context, 0, 1e-4));
            if (stretto_rank(comm) == 2)
                while (raised < 2)
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
            CHECK(sum_is_right(comm));
            CHECK(sum_is_right(comm));
            test::check(stretto_set_stall_callback(comm, nullptr, nullptr, 0, 1));
        });
    }
}

TEST_CASE("an operation that throws a value other than an exception fails the call on all ranks") {
    test::with_ranks(3, [](stretto_comm comm) {
        stretto_op op = STRETTO_SUM;
        test::check(stretto_op_create(
            [](const void *, void *, std::size_t, stretto_dtype, void *) { throw NoException(); },
            nullptr, 1, &op));
        std::int64_t in = 1, out = 0;
        stretto_request request = nullptr;
        test::check(stretto_iallreduce(comm, &in, &out, 1, STRETTO_INT64, op, &request));
        CHECK(stretto_wait(&request) == STRETTO_ERR_OPERATION);
        CHECK(test::contains(stretto_last_error(), "no std::exception"));
        test::check(stretto_op_free(op));
    });
}

// The thread is cancelled while it waits, and ends when the call has: its result counts.
TEST_CASE("a thread that is cancelled in a call ends after it") {
    for (const bool message : {false, true})
        CHECK(test::on_processes(2, [message](stretto_comm comm) {
                  std::atomic<bool> begun{false}, came_back{false};
                  std::int64_t value = -1;
                  if (stretto_rank(comm) == 0) {
                      std::thread waits([&] {
                          int before = 0;
                          begun = true;
                          if (message)
                              test::check(
                                  stretto_recv(comm, &value, 1, STRETTO_INT64, 1, 3, nullptr));
                          else
                              test::check(stretto_barrier(comm));
                          pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
                          came_back = before == PTHREAD_CANCEL_ENABLE;
                      });
                      while (!begun)
                          std::this_thread::yield();
                      std::this_thread::sleep_for(std::chrono::milliseconds(20));
                      pthread_cancel(waits.native_handle());
                      const std::int64_t go = 1;
                      test::check(stretto_send(comm, &go, 1, STRETTO_INT64, 1, 4));
                      waits.join();
                  } else {
                      const std::int64_t sent = 4711;
                      std::int64_t go = 0;
                      test::check(stretto_recv(comm, &go, 1, STRETTO_INT64, 0, 4, nullptr));
                      if (message)
                          test::check(stretto_send(comm, &sent, 1, STRETTO_INT64, 0, 3));
                      else
                          test::check(stretto_barrier(comm));
                      came_back = true;
                      value = 4711;
                  }
                  const bool right = came_back && (value == 4711 || !message) && sum_is_right(comm);
                  test::check(stretto_finalize(&comm));
                  return right ? 0 : 1;
              }) == std::vector<int>{0, 0});
}

// The start waits in calls of the system that a cancellation would end, as poll() is.
TEST_CASE("a thread that is cancelled in the start ends after it") {
    int come[2]; // rank 1, when rank 0 is cancelled
    REQUIRE(pipe(come) == 0);
    CHECK(test::on_bare_processes(2, [&, job = test::fresh_job()](int rank) {
              stretto_comm comm = nullptr;
              char word = 0;
              if (rank == 1 && read(come[0], &word, 1) != 1)
                  return 1;
              if (rank == 1)
                  return stretto_init_explicit(1, 2, job.c_str(), &comm) == STRETTO_OK &&
                                 sum_is_right(comm)
                             ? 0
                             : 2;
              std::atomic<bool> begun{false}, came_back{false};
              std::thread starts([&] {
                  int before = 0;
                  begun = true;
                  const stretto_status status = stretto_init_explicit(0, 2, job.c_str(), &comm);
                  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
                  came_back = status == STRETTO_OK && before == PTHREAD_CANCEL_ENABLE;
              });
              while (!begun)
                  std::this_thread::yield();
              std::this_thread::sleep_for(std::chrono::milliseconds(20));
              pthread_cancel(starts.native_handle());
              if (write(come[1], &word, 1) != 1)
                  return 3;
              starts.join();
              return came_back && sum_is_right(comm) ? 0 : 4;
          }) == std::vector<int>{0, 0});
    close(come[0]);
    close(come[1]);
}

TEST_CASE("the library stays where its threads are, whatever is closed") {
    const auto name = [](void *symbol) {
        Dl_info info{};
        return dladdr(symbol, &info) != 0 ? std::string(info.dli_fname) : std::string();
    };
    void *const version = reinterpret_cast<void *>(&stretto_version);
    const std::string file = name(version);
    CHECK(test::on_processes(2, [&](stretto_comm comm) {
              stretto_request request = nullptr;
              std::int64_t in = 1, out = 0;
              test::check(stretto_iallreduce(comm, &in, &out, 1, STRETTO_INT64, STRETTO_SUM,
                                             &request)); // there is a thread from now on
              void *const again = dlopen(file.c_str(), RTLD_NOW);
              if (again == nullptr)
                  return 1;
              for (int i = 0; i < 3; ++i)
                  dlclose(again);
              test::check(stretto_wait(&request));
              return out == 2 && dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr ? 0 : 2;
          }) == std::vector<int>{0, 0});
}

TEST_CASE("a process may end while threads of a communicator run") {
    test::SharedCounter have_all;
    CHECK(test::on_bare_processes(3, [&, job = test::fresh_job()](int rank) {
              stretto_comm comm = nullptr;
              test::check(stretto_init_explicit(rank, 3, job.c_str(), &comm));
              static std::int64_t in = 1, out = 0, got = 0;
              stretto_request request = nullptr, receive = nullptr;
              test::check(stretto_irecv(comm, &got, 1, STRETTO_INT64, 1, 3, nullptr, &receive));
              test::check(
                  stretto_iallreduce(comm, &in, &out, 1, STRETTO_INT64, STRETTO_SUM, &request));
              test::check(stretto_wait(&request));
              ++*have_all; // on another host a rank that ends earlier would be one that died
              have_all.await(3);
              std::exit(out == 3 ? 0 : 1); // without finalize
              return 1;
          }) == std::vector<int>{0, 0, 0});
}

// Threads of the library play these calls while handlers of exit() and destructors of libraries
// run.  Not over UCX: 1.13 may abort a process over its TCP if a peer ends meanwhile (docs/ucx.md).
TEST_CASE("a process may end while calls are under way") {
    constexpr int rounds = 8;
    constexpr std::size_t calls = 100, count = 1 << 12;
    for (int round = 0; round < rounds; ++round) {
        CAPTURE(round);
        const std::vector<int> codes = test::on_processes(3, [&](stretto_comm comm) {
            for (std::size_t i = 0; i < calls; ++i) {
                auto *const values = new std::int64_t[count](); // stays to the end
                stretto_request request = nullptr; // an error, if another rank has gone
                (void)stretto_iallreduce(comm, STRETTO_IN_PLACE, values, count, STRETTO_INT64,
                                         STRETTO_SUM, &request);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(round));
            std::exit(0); // without finalize
            return 1;
        });
        for (const int code : codes)
            CHECK(code == 0);
    }
}
