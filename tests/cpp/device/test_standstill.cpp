// SPDX-License-Identifier: BSD-3-Clause
// A thread of the program waits in the driver for a stream that waits for a call, and keeps the
// call from the driver meanwhile: the process stands still, and neither for ever nor in silence.
// Ranks are processes.
#include "doctest.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/kernel_files.hpp"
#include "device/ordered_vector.hpp"
#include "stretto/communicators.h"
#include "support/environment.hpp"
#include "support/folder.hpp"
#include "support/text.hpp"

using namespace test;

namespace {

using std::chrono::milliseconds;

// What a rank does behind the call in its stream.
using Deed = std::function<void(OnDevice &, OrderedVector &)>;

void copies(OnDevice &, OrderedVector &vector) {
    (void)vector.first();
}

void frees(OnDevice &device, OrderedVector &) {
    simulated_cuda::simulated_cuda_let_free_wait();
    device.free(device.allocate(64, true));
}

// The error of the call after one in which rank `stuck` has waited in the driver for its stream;
// nothing if there was none.  Others begin the call when it does.
// `meanwhile`: what these do then.
std::string error_of_a_standstill(stretto_comm comm, int stuck, const Deed &deed,
                                  const std::function<void()> &meanwhile = {}) {
    OnDevice device;
    OrderedVector vector(device, kCount, stream_with(kBlocking)); // for which cuMemcpy waits
    if (!vector.get_ready(comm))
        return "a sum was wrong";
    if (stretto_rank(comm) == stuck) {
        check(vector.begin(comm));
        deed(device, vector);
    } else {
        std::this_thread::sleep_for(milliseconds(200));
        check(vector.begin(comm));
        if (meanwhile)
            meanwhile();
        (void)cuStreamSynchronize(vector.stream()); // which keeps nobody
    }
    return vector.begin(comm) != STRETTO_OK ? stretto_last_error() : "";
}

bool explains(const std::string &error, int stuck) {
    return contains(error, "rank " + std::to_string(stuck) + " has waited ") &&
           contains(error, "for the CUDA driver to take a kernel or a copy") &&
           contains(error, "such as cudaFree or cudaMemcpy") &&
           contains(error, "the stream goes on without the result") &&
           contains(error, "cudaStreamSynchronize");
}

// The same by another rank, of which the time is over first.
bool names_cause(const std::string &error, int stuck) {
    return contains(error, "rank " + std::to_string(stuck) +
                               " waits for the driver of its device, as another thread") &&
           contains(error, "such as cudaFree or cudaMemcpy");
}

} // namespace

TEST_CASE("a rank that stands still lets its stream go on when its time is over, and says why") {
    const With silent("STRETTO_WARN", "0");
    struct Case {
        const char *launch; // the pass of rank 0, or one of each rank
        Deed deed;
        const char *others; // how long the other ranks wait
    };
    for (const Case &each : {Case{"auto", copies, "30"}, Case{"own", copies, "30"},
                             Case{"auto", frees, "30"}, Case{"auto", copies, "1"}}) {
        CAPTURE(each.launch);
        CAPTURE(each.others);
        const With launches("STRETTO_GPU_LAUNCH", each.launch);
        const std::string job = fresh_job();
        const auto codes = on_bare_processes(kRanks, [&](int rank) {
            const With limit("STRETTO_TIMEOUT", rank == 0 ? "1" : each.others);
            stretto_comm comm = nullptr;
            check(stretto_init_explicit(rank, kRanks, job.c_str(), &comm));
            check(stretto_force_algorithm(comm, "direct"));
            const std::string error = error_of_a_standstill(comm, 0, each.deed);
            const bool may_be_first = *each.others == '1';
            return explains(error, 0) || (may_be_first && names_cause(error, 0)) ? kRight : kWrong;
        });
        CHECK(codes == std::vector<int>(kRanks, kRight));
    }
}

TEST_CASE("the stream goes on soon if the communicator has failed meanwhile") {
    const With silent("STRETTO_WARN", "0");
    on_ranks(kRanks, [&](stretto_comm comm) {
        const std::string error = error_of_a_standstill(comm, 0, copies, [&] {
            std::this_thread::sleep_for(milliseconds(300));
            if (stretto_rank(comm) == 2)
                (void)stretto_comm_abort(comm, "of the test");
        });
        return contains(error, "of the test") ? kRight : kWrong;
    });
}

// Reports name ranks by their numbers in the job as well.
TEST_CASE("the cause is named where a communicator numbers its ranks otherwise") {
    const With silent("STRETTO_WARN", "0");
    const With launches("STRETTO_GPU_LAUNCH", "own");
    const std::string job = fresh_job();
    const auto codes = on_bare_processes(kRanks, [&](int rank) {
        const With limit("STRETTO_TIMEOUT", rank == 0 ? "30" : "1");
        stretto_comm all = nullptr, comm = nullptr;
        check(stretto_init_explicit(rank, kRanks, job.c_str(), &all));
        check(stretto_comm_split(all, 0, kRanks - rank, &comm));
        check(stretto_force_algorithm(comm, "direct"));
        const std::string error = error_of_a_standstill(comm, kRanks - 1, copies);
        return contains(error, "rank 0 of the job (rank 2 of this communicator) waits for the "
                               "driver of its device")
                   ? kRight
                   : kWrong;
    });
    CHECK(codes == std::vector<int>(kRanks, kRight));
}

TEST_CASE("a call whose last copy is kept from the device is an error as well") {
    const With silent("STRETTO_WARN", "0");
    const std::string job = fresh_job();
    const auto codes = on_bare_processes(2, [&](int rank) {
        const With limit("STRETTO_TIMEOUT", rank == 0 ? "1" : "30");
        stretto_comm comm = nullptr;
        check(stretto_init_explicit(rank, 2, job.c_str(), &comm));
        OnDevice device;
        void *const stream = stream_with(kBlocking);
        OrderedVector other(device, 1, stream);
        auto *const data = reinterpret_cast<std::int32_t *>(device.allocate(4000, true));
        const auto begin = [&](stretto_request *request) {
            const stretto_part part{STRETTO_IN_PLACE, data, 1000}; // a batch is copied back
            check(stretto_stream_begin(stream));
            check(stretto_iallreduce_batch(comm, &part, 1, STRETTO_INT32, STRETTO_SUM, request));
            check(stretto_stream_end());
        };
        begin(nullptr);
        check_cuda(cuStreamSynchronize(stream));
        check(stretto_barrier(comm));
        stretto_request request = nullptr;
        if (rank == 1)
            std::this_thread::sleep_for(milliseconds(600));
        begin(&request);
        if (rank == 0) {
            std::this_thread::sleep_for(milliseconds(200)); // its contribution is on the way
            (void)other.first();
        } else {
            (void)cuStreamSynchronize(stream);
        }
        const stretto_status status = stretto_wait(&request);
        if (rank == 1) // it may have all that it needs before
            return status == STRETTO_OK || explains(stretto_last_error(), 0) ? kRight : kWrong;
        return status == STRETTO_ERR_TIMEOUT && explains(stretto_last_error(), 0) ? kRight : kWrong;
    });
    CHECK(codes == std::vector<int>(2, kRight));
}

TEST_CASE("half of the time before, a line says what stands still, once") {
    const With limit("STRETTO_TIMEOUT", "2");
    const Folder folder;
    on_ranks(2, [&](stretto_comm comm) {
        const std::string path = folder.path() + "/" + std::to_string(stretto_rank(comm));
        std::FILE *const lines = std::freopen(path.c_str(), "w", stderr);
        const std::string error = error_of_a_standstill(comm, 0, copies);
        std::fflush(lines);
        const std::string text = stretto::contents(path);
        const bool says = contains(text, "rank 0 has waited 1") &&
                          contains(text, "stands still until 2 s are over") &&
                          text.find("cudaFree") == text.rfind("cudaFree");
        return (explains(error, 0) || names_cause(error, 0)) &&
                       (stretto_rank(comm) == 0 ? says : text == "")
                   ? kRight
                   : kWrong;
    });
}

TEST_CASE("a program that only keeps its process from the device for a while gets its results") {
    const With limit("STRETTO_TIMEOUT", "10");
    on_ranks(kRanks, [&](stretto_comm comm) {
        OnDevice device;
        OrderedVector vector(device, kCount, new_stream()), other(device, 1, new_stream());
        if (!vector.get_ready(comm))
            return kWrong;
        test::Stream busy(stream_with(kBlocking)); // for which cuMemcpy waits
        std::thread opens([&] {
            std::this_thread::sleep_for(milliseconds(300));
            busy.open();
        });
        check(vector.begin(comm));
        (void)other.first();
        opens.join();
        vector.synchronize();
        return vector.right(comm) ? kRight : kWrong;
    });
}
