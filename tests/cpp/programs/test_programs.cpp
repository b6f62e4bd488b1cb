// SPDX-License-Identifier: BSD-3-Clause
// Random programs on real processes: right answers without a fault, and with one planted, the right
// error everywhere, soon, and never a wrong number.
#include "doctest.h"

#include <cstdlib>
#include <mutex>
#include <poll.h>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "programs/actor.hpp"
#include "support/tier.hpp"

namespace {

using namespace test;

constexpr int kPatience = 60'000; // ms; a program takes some

enum class End : char { ok = 'o', wrong = 'w', failed = 'f', died = 'd', hung = 'h' };

struct Outcome {
    End end = End::died;
    int status = 0; // of a call that failed
    std::string message;
};

// In a process of its own; `answer` is where to tell how it ended.
void act(const Program &program, int rank, const std::string &job, std::uint64_t seed, int answer) {
    std::mutex once;
    const auto tell = [&](const Outcome &outcome) {
        once.lock(); // threads may fail together
        const std::string text =
            static_cast<char>(outcome.end) + std::to_string(outcome.status) + " " + outcome.message;
        const bool told =
            write(answer, text.data(), text.size()) == static_cast<ssize_t>(text.size());
        _exit(told ? 0 : 1);
    };
    const Actor::Leave leave = [&](const std::exception &error) {
        if (const auto *failed = dynamic_cast<const Failed *>(&error))
            tell({End::failed, failed->status, failed->what()});
        tell({End::wrong, 0, error.what()});
    };
    try {
        stretto_comm world = nullptr;
        expect_ok(stretto_init_explicit(rank, program.ranks, job.c_str(), &world));
        Actor actor(program, rank, {world}, seed * 64 + static_cast<std::uint64_t>(rank), leave);
        actor.play(program.steps, program.fault);
        actor.close();
        expect_ok(stretto_barrier(world));
        expect_ok(stretto_finalize(&world));
        tell({End::ok, 0, ""});
    } catch (const std::exception &error) {
        leave(error);
    }
}

class Rank {
public:
    Rank(const Program &program, int rank, const std::string &job, std::uint64_t seed) {
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        pid_ = fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            close(ends[0]);
            act(program, rank, job, seed, ends[1]);
        }
        close(ends[1]);
        answer_ = ends[0];
    }

    Outcome join(int patience) {
        std::string text;
        char part[4096];
        pollfd waiting{answer_, POLLIN, 0};
        while (poll(&waiting, 1, patience) == 1) {
            const ssize_t n = read(answer_, part, sizeof(part));
            if (n <= 0)
                return leave(text);
            text.append(part, static_cast<std::size_t>(n));
        }
        kill(pid_, SIGKILL);
        (void)leave(text);
        return {End::hung, 0, "hangs"};
    }

private:
    Outcome leave(const std::string &text) const {
        close(answer_);
        int status = 0;
        waitpid(pid_, &status, 0);
        if (text.empty())
            return {End::died, 0, "killed by signal " + std::to_string(WTERMSIG(status))};
        return {static_cast<End>(text[0]), std::atoi(text.c_str() + 1),
                text.substr(text.find(' ') + 1)};
    }

    pid_t pid_ = -1;
    int answer_ = -1;
};

std::vector<Outcome> play(const Program &program, std::uint64_t seed) {
    const std::string job = "programs-" + std::to_string(getpid()) + "-" + std::to_string(seed);
    std::vector<Rank> ranks;
    for (int rank = 0; rank < program.ranks; ++rank)
        ranks.emplace_back(program, rank, job, seed);
    std::vector<Outcome> outcomes;
    bool hung = false;
    for (Rank &rank : ranks) {
        outcomes.push_back(rank.join(hung ? 1000 : kPatience));
        hung = hung || outcomes.back().end == End::hung;
    }
    return outcomes;
}

// Nobody gets through: the program ends with a barrier of the world.  Whoever meets the culprit is
// told what is wrong; who meets only those who have been told, that they left.
void judge(const Program &program, const std::vector<Outcome> &outcomes) {
    const Fault &fault = *program.fault;
    const bool death = fault.what == Fault::What::death;
    const int expected = death ? STRETTO_ERR_PEER : STRETTO_ERR_MISMATCH;
    bool named = false;
    for (int rank = 0; rank < program.ranks; ++rank) {
        const Outcome &outcome = outcomes[static_cast<std::size_t>(rank)];
        CAPTURE(rank);
        CAPTURE(outcome.message);
        if (death && rank == fault.rank) {
            CHECK(outcome.end == End::died);
            continue;
        }
        CHECK(outcome.end == End::failed);
        CHECK((outcome.status == expected || outcome.status == STRETTO_ERR_PEER));
        named = named || outcome.status == expected;
    }
    CHECK(named);
}

const std::uint64_t kSeeds = full_tier() ? 1000 : sampled() ? 20 : 60;

} // namespace

TEST_CASE("a wrong contribution is seen by every rank") {
    Program program;
    program.ranks = 3;
    program.comms = {{{0, 1, 2}}};
    Step step;
    step.call.count = 100;
    step.call.dtype = STRETTO_INT64;
    program.steps = {step};
    program.fault = Fault{Fault::What::data, 0, 1};
    // Who sees it ends.  Between hosts that ends the job, also for a rank that has yet to look.
    const bool hosts = std::getenv("STRETTO_FAKE_HOSTS") != nullptr;
    int wrong = 0;
    for (const Outcome &outcome : play(program, 0)) {
        CAPTURE(outcome.message);
        wrong += outcome.end == End::wrong ? 1 : 0;
        CHECK((outcome.end == End::wrong || (hosts && outcome.status == STRETTO_ERR_PEER)));
    }
    CHECK(wrong >= 1);
}

TEST_CASE("random programs give the right answers") {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        CAPTURE(seed);
        const Program program = Author(seed).write();
        for (const Outcome &outcome : play(program, seed)) {
            CAPTURE(outcome.message);
            CHECK(outcome.end == End::ok);
        }
    }
}

TEST_CASE("a planted fault ends a random program everywhere") {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        Author author(seed);
        Program program = author.write();
        author.plant(program);
        if (!program.fault)
            continue; // one rank, or nobody meets anybody
        CAPTURE(seed);
        CAPTURE(std::string(name(program.fault->what)));
        CAPTURE(program.fault->rank);
        CAPTURE(label(program.steps[program.fault->step].call));
        CAPTURE(program.fault->step);
        judge(program, play(program, seed));
    }
}
