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

#include "control/agent.hpp"
#include "control/wires.hpp"

namespace test {

inline constexpr std::uint64_t kMillisecond = 1'000'000;
// Nobody is taken for dead, however busy the machine is.
inline constexpr stretto::control::Heartbeats::Times kPatient{20 * kMillisecond,
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
    Job(int size, stretto::control::Heartbeats::Times times, unsigned seed = 1,
        std::function<void(stretto::control::AgentOptions &, stretto::control::Hooks &)> adjust =
            {})
        : ranks(size), wires(size, seed), answers(static_cast<std::size_t>(size)) {
        for (int rank = 0; rank < size; ++rank) {
            stretto::control::AgentOptions options;
            options.rank = rank;
            options.founding = {0, stretto::control::RankSet::all(size), 0};
            options.heartbeats = times;
            stretto::control::Hooks hooks;
            hooks.place = [](int each) { return "host" + std::to_string(each); };
            if (adjust)
                adjust(options, hooks);
            agents.push_back(std::make_unique<stretto::control::Agent>(std::move(options),
                                                                       wires.of(rank), hooks));
        }
    }
    ~Job() {
        for (int rank = 0; rank < ranks; ++rank)
            wires.thaw(rank);
    }
    stretto::control::Agent &operator[](int rank) {
        return *agents[static_cast<std::size_t>(rank)];
    }
    stretto::control::action::Shrunk &answer(int rank) {
        return answers[static_cast<std::size_t>(rank)];
    }

    void await_revoked(const stretto::control::RankSet &some) {
        for (const int rank : some)
            await([&] { return (*this)[rank].revoked(); });
    }
    // These call shrink, each in a thread of its own, after `calls(rank)` calls.
    void shrink(
        const stretto::control::RankSet &some, const std::function<std::uint64_t(int)> &calls,
        const std::function<void()> &meanwhile = [] {}) {
        std::vector<std::thread> threads;
        for (const int rank : some)
            threads.emplace_back([&, rank] { answer(rank) = (*this)[rank].shrink(calls(rank)); });
        meanwhile();
        for (std::thread &thread : threads)
            thread.join();
    }

    int ranks;
    Wires wires;
    std::vector<std::unique_ptr<stretto::control::Agent>> agents;
    std::vector<stretto::control::action::Shrunk> answers;
};

} // namespace test
