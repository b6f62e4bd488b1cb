// SPDX-License-Identifier: BSD-3-Clause
// What does the engine cost?  The same data path, once played by the engine from a plan and once by
// a loop written by hand, in turns, between two pinned processes.
//
//     engine_bench [rounds [smallest largest]]      bytes; 4 and 64 MiB by default
//
// Per size: the median over rounds of the slower rank, for both; their ratio; the difference per
// step of the plan; and the probe (ns to overwrite a line that the other core has just read). Short
// calls are timed in bursts: a clock that ticks every 10 ns and a meeting before each call would
// hide what is looked for.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/clock.hpp"
#include "base/cpu_pause.hpp"
#include "engine/engine.hpp"
#include "hand.hpp"
#include "select/select.hpp"

using namespace stretto;

namespace {

constexpr int kRanks = 2;
constexpr int kMost = 4000;                // timed bursts of one kind and size, at most
constexpr std::size_t kLongest = 16 << 10; // bytes of calls that are timed in bursts
constexpr int kBurst = 32;

// The data that the two processes exchange outside of the tested segments.
struct Meeting {
    alignas(64) std::atomic<std::uint64_t> arrived[kRanks];
    double seconds[kRanks][2][kMost];
    alignas(64) char probe[64 << 10];
};

void meet(Meeting &meeting, int rank, std::uint64_t &round) {
    meeting.arrived[rank].store(++round, std::memory_order_release);
    while (meeting.arrived[1 - rank].load(std::memory_order_acquire) < round)
        stretto::cpu_pause();
}

double probe(Meeting &meeting, int rank, std::uint64_t &round) {
    double best = 1e9;
    for (int k = 0; k < 5; ++k) {
        if (rank == 1)
            for (std::size_t i = 0; i < sizeof(meeting.probe); i += 64)
                (void)*static_cast<volatile char *>(meeting.probe + i);
        meet(meeting, rank, round);
        const std::uint64_t start = now_ticks();
        if (rank == 0)
            for (std::size_t i = 0; i < sizeof(meeting.probe); i += 64)
                *static_cast<volatile char *>(meeting.probe + i) = 1;
        best = std::min(best, static_cast<double>(now_ticks() - start) * ns_per_tick() /
                                  (sizeof(meeting.probe) / 64));
        meet(meeting, rank, round);
    }
    return best;
}

double median_of_slower(const Meeting &meeting, int kind, int calls) {
    std::vector<double> slower;
    for (int i = 0; i < calls; ++i)
        slower.push_back(std::max(meeting.seconds[0][kind][i], meeting.seconds[1][kind][i]));
    std::nth_element(slower.begin(), slower.begin() + calls / 2, slower.end());
    return slower[static_cast<std::size_t>(calls) / 2];
}

std::shared_ptr<transport::Segment> new_segment() {
    transport::SegmentShape shape;
    shape.ranks = kRanks;
    shape.cores = kRanks;
    shape.ring_bytes = select::ring_bytes(kRanks);
    shape.heap_bytes = 1 << 20;
    return transport::Segment::create(shape);
}

struct Contest {
    std::shared_ptr<transport::Segment> of_engine = new_segment(), of_hand = new_segment();
};

void compare(int rank, Meeting &meeting, const Contest &contest, int rounds, std::size_t smallest,
             std::size_t largest) {
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(rank, &core);
    sched_setaffinity(0, sizeof(core), &core);
    transport::Heap heap(contest.of_engine, rank);
    engine::EngineOptions options;
    options.spin_ns = 1'000'000'000;
    engine::Engine engine(contest.of_engine, rank, heap, options,
                          [](const engine::CallDescriptor &) { return std::string("call"); });
    Hand hand(*contest.of_hand, rank);
    std::vector<std::unique_ptr<const engine::Plan>> plans; // the engine keeps referring to them
    contest.of_engine->hold_life(rank);
    std::uint64_t round = 0;
    meet(meeting, rank, round); // both live before one looks for the other
    if (rank == 0)
        std::printf("%10s %9s %6s %12s %12s %8s %9s %7s\n", "bytes", "plan", "steps", "hand us",
                    "engine us", "ratio", "ns/step", "probe");
    for (std::size_t bytes = smallest; bytes <= largest; bytes *= 4) {
        select::Situation situation;
        situation.collective = schedule::Collective::allreduce;
        situation.ranks = situation.cores = kRanks;
        situation.bytes = bytes;
        const std::string algorithm = select::choose(situation).algorithm;
        engine::PlanOptions plan_options;
        plan_options.count = bytes / 4;
        plan_options.slice = select::slice_bytes(situation);
        plan_options.ring_bytes = select::ring_bytes(kRanks);
        plan_options.cores = kRanks;
        plans.push_back(engine::compile(
            algorithms::make(algorithms::parse(situation.collective, algorithm), kRanks), rank,
            plan_options));
        const engine::Plan *plan = plans.back().get();

        auto *input = static_cast<float *>(std::malloc(bytes));
        auto *output = static_cast<float *>(std::malloc(bytes));
        for (std::size_t i = 0; i < bytes / 4; ++i)
            input[i] = static_cast<float>(i % 100 + static_cast<std::size_t>(rank)), output[i] = 0;
        engine::Call call;
        call.plan = plan;
        call.reduce = reduce::pass(Dtype::f32, ReduceOp::sum);
        call.input = input;
        call.output = output;
        call.fingerprint = bytes;
        engine::Tally tally;

        const int burst = bytes <= kLongest ? kBurst : 1;
        const int calls = static_cast<int>(std::clamp<std::size_t>(
            static_cast<std::size_t>(rounds) * (64u << 10) / bytes, 30, kMost));
        const double before = probe(meeting, rank, round);
        for (int i = -5; i < calls; ++i)
            for (int kind = 0; kind < 2; ++kind) {
                meet(meeting, rank, round);
                const std::uint64_t start = now_ticks();
                for (int k = 0; k < burst; ++k)
                    if (kind == 1)
                        engine.play(call, tally);
                    else if (algorithm == "one_shot")
                        hand.one_shot(input, output, bytes, plan_options.slice);
                    else
                        hand.direct(input, output, bytes, plan_options.slice, plan->streams_output);
                const std::uint64_t ticks = (now_ticks() - start) / static_cast<unsigned>(burst);
                if (i >= 0)
                    meeting.seconds[rank][kind][i] =
                        static_cast<double>(ticks) * ns_per_tick() * 1e-9;
                for (std::size_t k = 0; i == 0 && k < bytes / 4; ++k)
                    if (output[k] != static_cast<float>(2 * (k % 100) + 1)) {
                        std::printf("wrong result, kind %d, index %zu\n", kind, k);
                        std::exit(1);
                    }
            }
        meet(meeting, rank, round);
        if (rank == 0) {
            const double by_hand = median_of_slower(meeting, 0, calls) * 1e6;
            const double by_engine = median_of_slower(meeting, 1, calls) * 1e6;
            std::printf(
                "%10zu %9s %6zu %12.3f %12.3f %8.3f %9.2f %7.1f\n", bytes, algorithm.c_str(),
                plan->steps.size(), by_hand, by_engine, by_engine / by_hand,
                (by_engine - by_hand) * 1e3 / static_cast<double>(plan->steps.size()), before);
        }
        meet(meeting, rank, round);
        std::free(input);
        std::free(output);
    }
}

} // namespace

int main(int argc, char **argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 4000;
    const std::size_t smallest = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 4;
    const std::size_t largest = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 64u << 20;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    void *memory =
        mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    Meeting &meeting = *new (memory) Meeting;
    const Contest contest;
    const pid_t child = fork();
    compare(child == 0 ? 1 : 0, meeting, contest, rounds, smallest, largest);
    if (child == 0)
        _exit(0);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
}
