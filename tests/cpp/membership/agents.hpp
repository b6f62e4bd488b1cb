// SPDX-License-Identifier: BSD-3-Clause
// The agents of a job, on a network of threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "membership/agent.hpp"
#include "membership/wires.hpp"

namespace test {

inline constexpr std::uint64_t kMillisecond = 1'000'000;
// Nobody is taken for dead, however busy the machine is.
inline constexpr stretto::membership::Heartbeats::Times kPatient{20 * kMillisecond,
                                                                 60'000 * kMillisecond};

inline void rest(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

template<class Condition>
void await(const Condition &condition) {
    while (!condition())
        rest(1);
}

struct Job {
    Job(int size, stretto::membership::Heartbeats::Times times, unsigned seed = 1,
        std::function<void(stretto::membership::AgentOptions &, stretto::membership::Hooks &)>
            adjust = {})
        : ranks(size), wires(size, seed), answers(static_cast<std::size_t>(size)) {
        for (int rank = 0; rank < size; ++rank) {
            stretto::membership::AgentOptions options;
            options.rank = rank;
            options.founding = {0, stretto::membership::RankSet::all(size), 0};
            options.heartbeats = times;
            stretto::membership::Hooks hooks;
            hooks.place = [](int each) { return "host" + std::to_string(each); };
            if (adjust)
                adjust(options, hooks);
            agents.push_back(std::make_unique<stretto::membership::Agent>(std::move(options),
                                                                          wires.of(rank), hooks));
        }
    }
    ~Job() {
        for (int rank = 0; rank < ranks; ++rank)
            wires.thaw(rank);
    }
    stretto::membership::Agent &operator[](int rank) {
        return *agents[static_cast<std::size_t>(rank)];
    }
    stretto::membership::action::Shrunk &answer(int rank) {
        return answers[static_cast<std::size_t>(rank)];
    }

    void await_revoked(const stretto::membership::RankSet &some) {
        for (const int rank : some)
            await([&] { return (*this)[rank].revoked(); });
    }
    // These call shrink, each in a thread of its own, after `calls(rank)` calls.
    void shrink(
        const stretto::membership::RankSet &some, const std::function<std::uint64_t(int)> &calls,
        const std::function<void()> &meanwhile = [] {}) {
        std::vector<std::thread> threads;
        for (const int rank : some)
            threads.emplace_back(
                [&, rank] { answer(rank) = (*this)[rank].shrink(calls(rank), patience); });
        meanwhile();
        for (std::thread &thread : threads)
            thread.join();
    }

    int ranks;
    std::uint64_t patience = 60'000 * kMillisecond; // of shrink
    Wires wires;
    std::vector<std::unique_ptr<stretto::membership::Agent>> agents;
    std::vector<stretto::membership::action::Shrunk> answers;
};

} // namespace test
