// SPDX-License-Identifier: BSD-3-Clause
// One rank's part in a random program, played for real and checked call by call.
#pragma once

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "programs/program.hpp"

namespace test {

// A result that is not what it must be.
struct Wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A call that failed.
struct Failed : std::runtime_error {
    Failed(stretto_status why, const std::string &message)
        : std::runtime_error(message), status(why) {}
    stretto_status status;
};

inline void expect_ok(stretto_status status) {
    if (status != STRETTO_OK)
        throw Failed(status, stretto_last_error());
}

class Actor {
public:
    // Whoever fails tells `leave`, which ends the process: in the middle of a call, with requests
    // in flight, as a real program would.
    using Leave = std::function<void(const std::exception &)>;

    // `comms` by number, as far as they exist.
    Actor(const Program &program, int rank, std::vector<stretto_comm> comms, std::uint64_t seed,
          const Leave &leave)
        : program_(program), rank_(rank), comms_(std::move(comms)), random_(seed), leave_(leave) {}

    // All calls are over.  Where ranks disagree in a call in which nobody waits (of no elements, or
    // two that both take themselves for the root of a broadcast), the next call tells.
    void close() {
        for (; comms_.size() > 1; comms_.pop_back()) {
            expect_ok(stretto_barrier(comms_.back()));
            expect_ok(stretto_finalize(&comms_.back()));
        }
    }

    // What fails is told from here: until the process has ended, the buffers of requests in flight
    // must stay, for on communicators that have not failed they are still written to.
    void play(const std::vector<Step> &steps, const std::optional<Fault> &fault = {}) {
        try {
            play_all(steps, fault);
        } catch (const std::exception &error) {
            leave_(error);
        }
    }

private:
    struct Pending {
        stretto_request request;
        std::function<std::string()> verdict; // empty, or what was wrong
    };

    void play_all(const std::vector<Step> &steps, const std::optional<Fault> &fault) {
        for (std::size_t i = 0; i < steps.size(); ++i) {
            Step step = steps[i];
            if (fault && fault->step == i && fault->rank == rank_)
                go_wrong(step, *fault);
            play(step);
            while (!pending_.empty() && draw(random_, 100) < 20)
                finish_one();
        }
        while (!pending_.empty())
            finish_one();
    }

    void play(const Step &step) {
        switch (step.kind) {
        case Kind::collective: return collective(step);
        case Kind::messages: return messages(step);
        case Kind::split: return split(step);
        case Kind::threads: return threads(step);
        }
    }

    static void go_wrong(Step &step, const Fault &fault) {
        using What = Fault::What;
        Call &call = step.call;
        switch (fault.what) {
        case What::count:
            ++call.count;
            if (!call.counts.empty())
                ++call.counts[0];
            return;
        case What::dtype:
            call.dtype = other([&](const Pair &p) { return p.op == call.op; }, call).dtype;
            return;
        case What::op:
            call.op = other([&](const Pair &p) { return p.dtype == call.dtype; }, call).op;
            return;
        case What::root: ++call.root; return;
        case What::collective:
            call.collective = call.collective == Collective::allreduce ? Collective::allgather
                                                                       : Collective::allreduce;
            call.counts.clear();
            return;
        case What::data: ++call.salt; return; // which no protocol notices
        case What::death: raise(SIGKILL);
        }
    }

    // Another type and operation that go together.
    template<class Condition>
    static Pair other(const Condition &condition, const Call &call) {
        for (const Pair &pair : pairs())
            if (condition(pair) && (pair.dtype != call.dtype || pair.op != call.op))
                return pair;
        throw Wrong("no other type or operation");
    }

    const Group &group(std::size_t comm) const {
        for (const Group &each : program_.comms[comm])
            if (std::find(each.begin(), each.end(), rank_) != each.end())
                return each;
        throw Wrong("rank " + std::to_string(rank_) + " is in no group");
    }

    static int place(const Group &group, int rank) {
        return static_cast<int>(std::find(group.begin(), group.end(), rank) - group.begin());
    }

    static void expect_right(const std::string &verdict, const std::string &what) {
        if (!verdict.empty())
            throw Wrong(what + ": " + verdict);
    }

    void finish_one() {
        std::swap(pending_[random_() % pending_.size()], pending_.back());
        Pending last = std::move(pending_.back());
        pending_.pop_back();
        expect_ok(stretto_wait(&last.request));
        expect_right(last.verdict(), "after waiting");
    }

    void collective(const Step &step) {
        Call call = step.call;
        const int size = stretto_size(comms_[step.comm]);
        call.root %= size;
        if (!call.counts.empty())
            call.counts.resize(static_cast<std::size_t>(size));
        std::shared_ptr<Played> played = prepare(comms_[step.comm], call);
        if (!step.nonblocking) {
            expect_ok(played->run());
            return expect_right(played->verdict(), label(call));
        }
        stretto_request request = nullptr;
        expect_ok(played->start(&request));
        pending_.push_back({request, [played, call] {
                                const std::string verdict = played->verdict();
                                return verdict.empty() ? verdict : label(call) + ": " + verdict;
                            }});
    }

    static std::uint8_t byte(const Message &message, std::size_t i) {
        return static_cast<std::uint8_t>(message.tag * 31 + static_cast<int>(i % 251));
    }

    void messages(const Step &step) {
        std::vector<std::pair<const Message *, bool>> mine; // and whether it is sent
        for (const Message &message : step.messages) {
            if (message.from == rank_)
                mine.emplace_back(&message, true);
            if (message.to == rank_)
                mine.emplace_back(&message, false);
        }
        std::shuffle(mine.begin(), mine.end(), random_);
        const stretto_comm comm = comms_[step.comm];
        const Group &members = group(step.comm);
        for (const auto &[what, sends] : mine) {
            const Message message = *what;
            auto buffer = std::make_shared<std::vector<std::uint8_t>>(message.bytes, 0xee);
            stretto_request request = nullptr;
            if (sends) {
                for (std::size_t i = 0; i < message.bytes; ++i)
                    (*buffer)[i] = byte(message, i);
                expect_ok(stretto_isend(comm, buffer->data(), message.bytes, STRETTO_UINT8,
                                        place(members, message.to), message.tag, &request));
            } else {
                const int source =
                    message.wildcard ? STRETTO_ANY_SOURCE : place(members, message.from);
                expect_ok(stretto_irecv(comm, buffer->data(), message.bytes, STRETTO_UINT8, source,
                                        message.tag, nullptr, &request));
            }
            pending_.push_back({request, [message, buffer] {
                                    for (std::size_t i = 0; i < message.bytes; ++i)
                                        if ((*buffer)[i] != byte(message, i))
                                            return "message " + std::to_string(message.tag) +
                                                   " is wrong from byte " + std::to_string(i);
                                    return std::string();
                                }});
        }
    }

    void split(const Step &step) {
        const auto me = static_cast<std::size_t>(rank_);
        stretto_comm made = nullptr;
        expect_ok(stretto_comm_split(comms_[step.comm], step.colors[me], step.keys[me], &made));
        comms_.push_back(made);
        const Group &members = group(comms_.size() - 1);
        if (stretto_size(made) != static_cast<int>(members.size()) ||
            stretto_rank(made) != place(members, rank_))
            throw Wrong("a split made rank " + std::to_string(stretto_rank(made)) + " of " +
                        std::to_string(stretto_size(made)));
    }

    // Each thread plays its program on a duplicate, which stands for the communicator of its steps.
    void threads(const Step &step) {
        std::vector<stretto_comm> own(step.programs.size());
        for (stretto_comm &comm : own)
            expect_ok(stretto_comm_dup(comms_[step.comm], &comm));
        std::vector<std::thread> running;
        for (std::size_t t = 0; t < own.size(); ++t)
            running.emplace_back([this, &step, &own, t, seed = random_()] {
                const std::vector<stretto_comm> comms(step.comm + 1, own[t]);
                Actor(program_, rank_, comms, seed, leave_).play(step.programs[t]);
            });
        for (std::thread &thread : running)
            thread.join();
        for (stretto_comm &comm : own)
            expect_ok(stretto_finalize(&comm));
    }

    const Program &program_;
    const int rank_;
    std::vector<stretto_comm> comms_;
    Random random_;
    const Leave &leave_;
    std::vector<Pending> pending_;
};

} // namespace test
